# Installs the library, its headers and the command, and a package config that finds its dependencies.
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tare")

install(TARGETS tare EXPORT tareTargets)
install(TARGETS tare_cli)
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(tare_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
endif()

get_property(headers GLOBAL PROPERTY TARE_HEADERS)
foreach(header IN LISTS headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tare/${folder}")
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/generated/tare/core/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tare/core")
install(FILES "${TARE_DEFAULT_TEXT}" DESTINATION "${CMAKE_INSTALL_DATADIR}/tare")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/tare")

install(EXPORT tareTargets NAMESPACE tare:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tareConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/package/tareConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tareConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/tareConfig.cmake" "${PROJECT_BINARY_DIR}/package/tareConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake" DESTINATION "${package_dir}")

# How a program outside CMake's targets is compiled and linked against this build: the docs' snippets are.
set(snippet_libraries "$<TARGET_FILE:tare>" -Wl,-rpath,$<TARGET_FILE_DIR:tare> -pthread -ldl -lz)
if(TARE_HAS_ONEDNN)
  list(APPEND snippet_libraries "${OneDNN_LIBRARY}")
endif()
if(TARE_HAS_CUDA)
  list(APPEND snippet_libraries "${CUDA_cudart_static_LIBRARY}" -lrt)
endif()
if(TARE_USE_OPENMP)
  list(APPEND snippet_libraries ${OpenMP_CXX_FLAGS})
endif()
file(
  GENERATE
  OUTPUT "${PROJECT_BINARY_DIR}/snippet_flags.txt"
  CONTENT
    "${CMAKE_CXX_COMPILER};-std=c++20;-Wall;-Wextra;-Werror;-I${PROJECT_BINARY_DIR}/include;-I${PROJECT_BINARY_DIR}/generated\n${snippet_libraries}"
)
