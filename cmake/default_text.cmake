# The default training text: Tare's own sources and docs, joined in sorted order, in share/tare/default_text.txt of
# the build and of an installation. A program finds it in ../share/tare beside its own folder.
set(TARE_TEXT_FOLDERS core kernels autograd nn optim data distributed train tools bench tests examples docs)
set(text_globs "${PROJECT_SOURCE_DIR}/README.md")
foreach(folder IN LISTS TARE_TEXT_FOLDERS)
  foreach(suffix h cpp cu cuh md)
    list(APPEND text_globs "${PROJECT_SOURCE_DIR}/${folder}/*.${suffix}")
  endforeach()
endforeach()
file(GLOB_RECURSE text_files CONFIGURE_DEPENDS LIST_DIRECTORIES false ${text_globs})
list(SORT text_files)

# Written only when the list changes, so that an added or removed file makes the text anew.
set(text_list "${PROJECT_BINARY_DIR}/default_text_files.txt")
list(JOIN text_files "\n" text_lines)
file(CONFIGURE OUTPUT "${text_list}" CONTENT "${text_lines}\n" @ONLY)

set(TARE_DEFAULT_TEXT "${PROJECT_BINARY_DIR}/share/tare/default_text.txt")
add_custom_command(
  OUTPUT "${TARE_DEFAULT_TEXT}"
  COMMAND ${CMAKE_COMMAND} -DLIST=${text_list} -DOUTPUT=${TARE_DEFAULT_TEXT} -P
          "${PROJECT_SOURCE_DIR}/cmake/join_text.cmake"
  DEPENDS ${text_files} "${text_list}" "${PROJECT_SOURCE_DIR}/cmake/join_text.cmake"
  COMMENT "Joining the default training text"
  VERBATIM)
add_custom_target(tare_default_text ALL DEPENDS "${TARE_DEFAULT_TEXT}")
add_dependencies(tare_cli tare_default_text)

# The last place to look, for a program that was moved away from its installation.
target_compile_definitions(tare_data PRIVATE TARE_INSTALLED_DATA_DIR="${CMAKE_INSTALL_FULL_DATADIR}/tare")
