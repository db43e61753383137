# Language level, warnings, sanitizers and the flags that vectorising needs.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The base directory lets several checkouts share one cache.
if(TARE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TARE_CCACHE_PROGRAM ccache)
  mark_as_advanced(TARE_CCACHE_PROGRAM)
  if(TARE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                    ${TARE_CCACHE_PROGRAM})
  endif()
endif()

# Carried by every target inside the tree, never by users of the library.
add_library(tare_flags INTERFACE)
target_compile_options(
  tare_flags
  INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall>
            $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra>
            $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<BOOL:${TARE_WERROR}>>:-Werror>
            $<$<COMPILE_LANGUAGE:C,CXX>:-fopenmp-simd>
            "$<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_BINARY_DIR}/include/=>"
            "$<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=tare/>")
target_include_directories(tare_flags INTERFACE "${PROJECT_BINARY_DIR}/include" "${PROJECT_BINARY_DIR}/generated")

# Without -fno-math-errno a loop with sqrtf is not vectorised at all. -ffast-math stays off: NaN and Inf matter.
add_library(tare_math_flags INTERFACE)
target_compile_options(tare_math_flags
                       INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-fno-math-errno;-fno-trapping-math>)

# libFuzzer steers by the branches of what is instrumented: the library as well as its programs.
if(TARE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TARE_FUZZ=ON needs clang, the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # The instrumentation stands in the way of loops that are asked to be vectorised.
  add_compile_options(-fsanitize=fuzzer-no-link -Wno-pass-failed)
endif()

set(TARE_USE_UBSAN OFF)
if(TARE_SANITIZE)
  add_compile_options(-fsanitize=${TARE_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TARE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # wrong about std::variant once the sanitizers' code is in
  endif()
  if(TARE_SANITIZE MATCHES "undefined")
    set(TARE_USE_UBSAN ON)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# TSan does not understand libgomp's barriers, and clang's libomp is a second runtime beside oneDNN's libgomp.
set(TARE_USE_OPENMP ${TARE_OPENMP})
if(TARE_SANITIZE MATCHES "thread" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(TARE_USE_OPENMP OFF)
endif()

# "tare/core/tensor.h" is found both in the tree and once installed.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/include/tare" SYMBOLIC)
