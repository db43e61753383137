# The libraries Tare stands on. oneDNN and OpenMP are optional; CLI11 and Google Benchmark serve the command.
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(benchmark REQUIRED)
find_package(ZLIB REQUIRED)

set(TARE_HAS_ONEDNN OFF)
if(NOT TARE_ONEDNN STREQUAL "OFF")
  find_package(OneDNN QUIET)
  if(OneDNN_FOUND)
    set(TARE_HAS_ONEDNN ON)
  elseif(TARE_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "TARE_ONEDNN=ON, but oneDNN was not found (Debian: libdnnl-dev)")
  endif()
endif()

if(TARE_USE_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  set(TARE_USE_OPENMP ${OpenMP_CXX_FOUND})
endif()

if(TARE_TESTS)
  find_package(GTest REQUIRED)
endif()

message(STATUS "Tare ${PROJECT_VERSION}: oneDNN ${TARE_HAS_ONEDNN} ${OneDNN_VERSION}, OpenMP ${TARE_USE_OPENMP}, "
               "sanitizers '${TARE_SANITIZE}'")
