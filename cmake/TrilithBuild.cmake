# How every target of the project is compiled: one place for flags, one function a kind of target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
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

# trilith_test(NAME LABEL … SOURCES … DEPS …): one GoogleTest program, run as one ctest entry.
function(trilith_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    TRILITH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TRILITH_PROGRAM="$<TARGET_FILE_DIR:test_${name}>/trilith")
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
