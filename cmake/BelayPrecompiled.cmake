# Headers of others that nearly every source includes are read once instead of once for each source, where more
# than a third of the time of a build went. Our own are not among them: a change in one of those would compile
# everything again. A source still includes what it uses: a change of this list breaks nothing.
#
#   belay_precompiled_headers(target)   of a room, a library or a program, or a test of it
set(BELAY_PRECOMPILED <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <deque> <functional> <limits>
    <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <utility>
    <vector> <fmt/format.h>)
set(BELAY_PRECOMPILED_TESTS ${BELAY_PRECOMPILED} <gmock/gmock.h> <gtest/gtest.h>)
set(BELAY_PRECOMPILE OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(BELAY_PRECOMPILE ON)
endif()

# The compiler accepts them where its options are those they were compiled with; a program's are others than a
# library's.
function(belay_precompile kind option)
  add_library(belay_precompiled_${kind} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/empty.cc)
  target_precompile_headers(belay_precompiled_${kind} PRIVATE ${ARGN})
  set_target_properties(belay_precompiled_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(belay_precompiled_${kind} PRIVATE ${option})
endfunction()
if(BELAY_PRECOMPILE)
  belay_precompile(libraries -fPIC ${BELAY_PRECOMPILED})
  belay_precompile(programs -fPIE ${BELAY_PRECOMPILED})
endif()
if(BELAY_PRECOMPILE AND BELAY_TESTS)
  belay_precompile(tests "-fPIE;${BELAY_TEST_LEVEL}" ${BELAY_PRECOMPILED_TESTS})
  target_link_libraries(belay_precompiled_tests PRIVATE GTest::gmock)
endif()

# A source that Highway compiles once for each instruction set goes without them: behind a precompiled header
# g++ 12 has no vectors for `#pragma GCC target`, and leaves its loops as they are without a word.
function(belay_spare_vectors target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^/.*\\.cc$")
  foreach(source IN LISTS sources)
    if(EXISTS ${source})
      file(STRINGS ${source} found REGEX "^#include \"hwy/foreach_target.h\"" LIMIT_COUNT 1)
      if(found)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endif()
  endforeach()
endfunction()

function(belay_precompiled_headers target)
  get_target_property(type ${target} TYPE)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(kind libraries)
  if(type STREQUAL "EXECUTABLE")
    set(kind programs)
  endif()
  if("GTest::gmock" IN_LIST libraries)
    set(kind tests)
  endif()
  if(BELAY_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM belay_precompiled_${kind})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ 12 warns of strings that are put together (its bug 105329); of a header that was precompiled it
      # forgets that it is the system's, whose warnings are not shown.
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict
        -Wno-stringop-overflow -Wno-stringop-overread -Wno-dangling-else)
    else()
      # clang refuses a header for any option that differs, also for those that say how code is made.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-validate-pch")
    endif()
    belay_spare_vectors(${target})
  endif()
endfunction()

# A source that reads its command line with CLI11. All of that is in headers, runs once, and takes six seconds to
# optimise.
function(belay_reads_command_line source)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# The sources of a folder are compiled in batches, several as one: most of what the compiler does for one of ours is to
# read headers and to make what they have templates for, and that is the same for its neighbours. Left out are those
# with options of their own (CMake sees to that) and those that Highway compiles once for each instruction set. A name
# in an anonymous namespace is seen by the neighbours so, and must not be theirs, too (`scripts/check-batches`).
set(BELAY_BATCH 16 CACHE STRING "Sources that are compiled as one; 1 tells who forgot an include")
function(belay_in_batches target)
  if(BELAY_BATCH LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    set(found "")
    if(EXISTS ${path})
      file(STRINGS ${path} found REGEX "^#include \"hwy/foreach_target.h\"" LIMIT_COUNT 1)
    endif()
    if(found)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(path MATCHES "_test\\.cc$")
      string(APPEND folder _tests)
    endif()
    if(NOT DEFINED taken_${folder})
      set(taken_${folder} 0)
    endif()
    math(EXPR batch "${taken_${folder}} / ${BELAY_BATCH}")
    math(EXPR taken_${folder} "${taken_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
