# How every target of the project is compiled: one place for flags, one function a kind of target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(trilith_flags INTERFACE)
target_include_directories(trilith_flags INTERFACE "${PROJECT_SOURCE_DIR}/src")
# -ffp-contract=off: an fma exists only where it is written, so results do not depend on the compiler.
target_compile_options(trilith_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(TRILITH_SANITIZE)
  target_compile_options(trilith_flags INTERFACE
    "-fsanitize=${TRILITH_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(trilith_flags INTERFACE "-fsanitize=${TRILITH_SANITIZE}")
endif()

if(TRILITH_FUZZERS)
  # Coverage counters everywhere, so that the fuzz targets see into the libraries they drive.
  target_compile_options(trilith_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(trilith_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# trilith_room(NAME SOURCES … DEPS …): the static library of one room of src/, named trilith_NAME.
function(trilith_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(trilith_${name} STATIC ${ARG_SOURCES})
  add_library(trilith::${name} ALIAS trilith_${name})
  target_link_libraries(trilith_${name} PUBLIC trilith_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(NOT name STREQUAL "base")
    target_precompile_headers(trilith_${name} REUSE_FROM trilith_base)
  else()
    target_precompile_headers(trilith_base PRIVATE "${PROJECT_SOURCE_DIR}/src/base/precompiled.h")
  endif()
endfunction()

# trilith_test(NAME LABEL … SOURCES … DEPS … [THREADS] [TIMEOUT s]): one GoogleTest program, run as one
# ctest entry. THREADS marks a test whose subject uses threads: it also runs under TSan (the target
# threaded_tests, the label threads).
add_custom_target(threaded_tests)
function(trilith_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    TRILITH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TRILITH_PROGRAM="${CMAKE_BINARY_DIR}/trilith")
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND test_${name})
  set(labels ${ARG_LABEL})
  if(ARG_THREADS)
    list(APPEND labels threads)
    add_dependencies(threaded_tests test_${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
