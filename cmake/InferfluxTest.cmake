# inferflux_test(NAME SOURCES ... LIBS ... [LABELS ...])
#
# One GoogleTest program, registered as one ctest entry. Label "threads" marks what also runs under TSan.
# Seconds a test program may take: sanitizers and emulators slow them down by up to twenty times.
if(INFERFLUX_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(INFERFLUX_TEST_TIMEOUT 1500)
else()
  set(INFERFLUX_TEST_TIMEOUT 300)
endif()

add_custom_target(unit_tests)     # builds every unit test
add_custom_target(threads_tests)  # builds those with the label "threads"

function(inferflux_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} inferflux_test_support GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests/unit)
  target_compile_definitions(${name} PRIVATE INFERFLUX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # a quarter less to wait for; floors stay as they are
  inferflux_precompile(${name} tests/unit/support/precompiled.h)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(unit_tests ${name})
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(threads_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${arg_LABELS}" TIMEOUT ${INFERFLUX_TEST_TIMEOUT})
endfunction()
