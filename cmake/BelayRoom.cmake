# A room is a folder of src/: an object library belay_<room>, and a test program <room>_test.
#
#   belay_room(base [SOURCES a.cc b.cc] [TESTS a_test.cc] [LIBRARIES lib] [TEST_LIBRARIES lib])
#
# Without SOURCES and TESTS the room takes every .cc file below it; *_test.cc are the tests. Files that
# end in _bench.cc are left out. The rooms that a room may use are said here and nowhere else.
set(BELAY_ROOMS_BELOW_base "")
set(BELAY_ROOMS_BELOW_tensor base)
set(BELAY_ROOMS_BELOW_runtime base tensor)
set(BELAY_ROOMS_BELOW_ops base tensor)
set(BELAY_ROOMS_BELOW_graph base tensor runtime ops)
set(BELAY_ROOMS_BELOW_api base tensor runtime ops graph)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/empty.cc CONTENT "// A room without source files yet.\n")

function(belay_room room)
  cmake_parse_arguments(ROOM "" "" "SOURCES;TESTS;LIBRARIES;TEST_LIBRARIES" ${ARGN})
  if(NOT ROOM_SOURCES AND NOT ROOM_TESTS)
    file(GLOB_RECURSE ROOM_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
    set(ROOM_TESTS ${ROOM_SOURCES})
    list(FILTER ROOM_SOURCES EXCLUDE REGEX "_(test|bench)\\.cc$")
    list(FILTER ROOM_TESTS INCLUDE REGEX "_test\\.cc$")
  endif()
  if(NOT ROOM_SOURCES)
    set(ROOM_SOURCES ${CMAKE_BINARY_DIR}/empty.cc)
  endif()

  add_library(belay_${room} OBJECT ${ROOM_SOURCES})
  target_include_directories(belay_${room} PUBLIC
    ${CMAKE_SOURCE_DIR}/src ${BELAY_GEN} ${CMAKE_SOURCE_DIR}/include)
  foreach(below ${BELAY_ROOMS_BELOW_${room}})
    target_link_libraries(belay_${room} PUBLIC belay_${below})
  endforeach()
  target_link_libraries(belay_${room} PUBLIC ${ROOM_LIBRARIES})

  if(BELAY_TESTS AND ROOM_TESTS)
    belay_test(${room}_test SOURCES ${ROOM_TESTS}
               LIBRARIES belay_${room} ${ROOM_TEST_LIBRARIES} ROOMS ${room} ${BELAY_ROOMS_BELOW_${room}})
  endif()
endfunction()

# A GoogleTest program; each of its tests is one ctest entry.
#   ROOMS   the rooms whose objects are linked in (CMake does not pass objects on by itself)
#   LABELS  ctest labels
function(belay_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LIBRARIES;ROOMS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} GTest::gmock GTest::gtest_main)
  foreach(room ${TEST_ROOMS})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:belay_${room}>)
  endforeach()
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)  # an empty value would make the next word one
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}: DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}"
               ENVIRONMENT "ASCEND_PROCESS_LOG_PATH=${CMAKE_BINARY_DIR}/log")
endfunction()

# The whole program once more with a waiting host that does not help, and with one worker. More arguments
# go to the program.
function(belay_test_variants name)
  foreach(variant no_help:BELAY_HELP=0 one_worker:BELAY_WORKERS=1)
    string(REPLACE ":" ";" parts ${variant})
    list(GET parts 0 suffix)
    list(GET parts 1 setting)
    add_test(NAME ${name}:${suffix} COMMAND ${name} --gtest_brief=1 ${ARGN})
    set_tests_properties(${name}:${suffix} PROPERTIES TIMEOUT 300 LABELS variant
      ENVIRONMENT "${setting};ASCEND_PROCESS_LOG_PATH=${CMAKE_BINARY_DIR}/log")
  endforeach()
endfunction()
