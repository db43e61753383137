# Installs the build into a folder of its own, then configures, builds and runs examples/link_as_library against it.
# cmake -DSOURCE=... -DBUILD=... -DCOMPILER=... -DBUILD_TYPE=... -DFLAGS=... -P link_as_library.cmake
set(prefix "${BUILD}/install-test/prefix")
set(user "${BUILD}/install-test/user")
file(REMOVE_RECURSE "${BUILD}/install-test")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "ended with ${status}: ${ARGV}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
run(${CMAKE_COMMAND} -S "${SOURCE}/examples/link_as_library" -B "${user}" -G Ninja "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build "${user}")
run("${user}/link_as_library" "${prefix}/share/tare/default_text.txt")
run("${prefix}/bin/tare" --version)
if(NOT EXISTS "${prefix}/share/tare/default_text.txt")
  message(FATAL_ERROR "no share/tare/default_text.txt in the installation")
endif()
