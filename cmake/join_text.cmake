# cmake -DLIST=file with one path per line -DOUTPUT=file -P join_text.cmake: joins the files, byte for byte.
file(STRINGS "${LIST}" files)
get_filename_component(folder "${OUTPUT}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${files} OUTPUT_FILE "${OUTPUT}.part" COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
