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
set(BELAY_ROOMS_BELOW_collective base tensor runtime ops)
set(BELAY_ROOMS_BELOW_api base tensor runtime ops graph collective)
set(BELAY_ROOMS_BELOW_ge base tensor runtime ops graph collective api)

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
  belay_precompiled_headers(belay_${room})
  belay_in_batches(belay_${room})

  # ThreadSanitizer looks at our own threads (`make test-tsan`): tests of what has none are not built for it.
  if(BELAY_SANITIZE STREQUAL "thread" AND NOT room MATCHES "^(base|runtime|collective|api)$")
    set(ROOM_TESTS "")
  endif()
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
    set(TEST_TIMEOUT 600)  # for a hang; the machine may be busy
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${BELAY_TEST_LEVEL})
  belay_precompiled_headers(${name})
  belay_in_batches(${name})
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

# Before a program whose tests take minutes: one that stands still tells where, a while before ctest ends it.
set(BELAY_WITH_STACKS ${CMAKE_SOURCE_DIR}/scripts/with-stacks 480)

# The whole program once more, under other settings (each test is named, so that a hang is, too):
#   no_help     a waiting host does not help
#   one_worker
#   explored    tasks run in the order of a seed
#   two_views   device memory lies elsewhere for kernels and copies: an address that was not converted on
#               the way to them touches the wrong bytes
# They take long, and begin before the others (COST), so that no core waits for the last of them.
# belay_test_variants(name [arguments of the program] VARIANTS no_help ...)
set(BELAY_VARIANT_no_help BELAY_HELP=0)
set(BELAY_VARIANT_one_worker BELAY_WORKERS=1)
set(BELAY_VARIANT_explored BELAY_EXPLORE=11)
set(BELAY_VARIANT_two_views BELAY_ALIAS_OFFSET=1048576)
function(belay_test_variants name)
  cmake_parse_arguments(TEST "" "" "VARIANTS" ${ARGN})
  foreach(variant ${TEST_VARIANTS})
    add_test(NAME ${name}:${variant} COMMAND ${BELAY_WITH_STACKS} $<TARGET_FILE:${name}>
             ${TEST_UNPARSED_ARGUMENTS})
    set_tests_properties(${name}:${variant} PROPERTIES TIMEOUT 600 LABELS variant COST 50
      ENVIRONMENT "${BELAY_VARIANT_${variant}};ASCEND_PROCESS_LOG_PATH=${CMAKE_BINARY_DIR}/log")
  endforeach()
endfunction()
