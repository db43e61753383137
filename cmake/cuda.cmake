# Looks for the CUDA toolkit (12 or later). TARE_HAS_CUDA: the .cu twins are compiled by nvcc and linked.
# TARE_CUDA_INCLUDE_DIR: its headers, with which tests/simt runs the kernels on the CPU; they may be there without nvcc.
set(TARE_HAS_CUDA OFF)
set(TARE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPU architectures to compile for, as CMAKE_CUDA_ARCHITECTURES")

find_program(TARE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(TARE_CUDA_INCLUDE_DIR "")
if(NOT TARE_CUDA STREQUAL "OFF")
  cmake_path(GET TARE_NVCC PARENT_PATH _nvcc_bin)
  find_path(TARE_CUDA_RUNTIME_H cuda_runtime.h HINTS "${_nvcc_bin}/../include" ENV CUDA_PATH PATHS /usr/local/cuda
            PATH_SUFFIXES include)
  mark_as_advanced(TARE_CUDA_RUNTIME_H)
  if(TARE_CUDA_RUNTIME_H)
    file(STRINGS "${TARE_CUDA_RUNTIME_H}/cuda_runtime_api.h" _cudart_version REGEX "#define CUDART_VERSION +[0-9]+")
    string(REGEX MATCH "[0-9]+$" _cudart_version "${_cudart_version}")
    if(_cudart_version GREATER_EQUAL 12000)
      cmake_path(NORMAL_PATH TARE_CUDA_RUNTIME_H OUTPUT_VARIABLE TARE_CUDA_INCLUDE_DIR)
      if(TARE_SANITIZE)
        message(STATUS "CUDA: a build with sanitizers leaves the GPU's kernels out")
      elseif(TARE_NVCC)
        set(TARE_HAS_CUDA ON)
      endif()
    else()
      message(STATUS "CUDA: the toolkit in ${TARE_CUDA_RUNTIME_H} is older than 12, not used")
    endif()
  endif()
  if(TARE_CUDA STREQUAL "ON" AND NOT TARE_HAS_CUDA)
    if(TARE_SANITIZE)
      message(FATAL_ERROR "TARE_CUDA=ON, but a build with sanitizers has no CUDA kernels")
    endif()
    message(FATAL_ERROR "TARE_CUDA=ON, but no nvcc and CUDA toolkit of version 12 or later were found")
  endif()
endif()
mark_as_advanced(TARE_NVCC)

if(TARE_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER "${TARE_NVCC}")
  set(CMAKE_CUDA_ARCHITECTURES ${TARE_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
  # A register that spills to memory is an error as well.
  target_compile_options(
    tare_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
                         $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=--warn-on-spills>
                         $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TARE_WERROR}>>:-Werror=all-warnings>
                         $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TARE_WERROR}>>:-Xcompiler=-Werror>)
  # CMake 3.25 knows no C++20 for nvcc 13, and would silently compile as C++17.
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
  endif()
  string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr")
  find_package(CUDAToolkit REQUIRED)
endif()
message(STATUS "CUDA: kernels ${TARE_HAS_CUDA}, headers ${TARE_CUDA_INCLUDE_DIR}")
