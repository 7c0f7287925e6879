# How everything is compiled: language, warnings, visibility, linker, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# -g1 keeps line numbers in stacks at a third of the size and build time of full debug information.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

# Every library finds its siblings beside itself, in the build tree as in the toolkit; the program's
# own RUNPATH or LD_LIBRARY_PATH is what finds the first of them.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib64)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib64)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib64")

add_compile_options(-Wall -Wextra)
# Thread-local variables without a call: every function of the interface reads one. What they need is far
# below what the loader keeps free for libraries that are opened later.
add_compile_options(-ftls-model=initial-exec)
add_compile_options(-fno-math-errno)  # nobody asks errno about a square root
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler looks for memory to give back when it has taken 1 GB, not 128 MB: that was a tenth of its time, and
  # none of our batches takes more.
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000")
endif()
if(BELAY_WERROR)
  add_compile_options(-Werror)
endif()
add_link_options(-Wl,--enable-new-dtags)

find_program(BELAY_MOLD mold)
if(BELAY_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()
find_program(BELAY_CCACHE ccache)
if(BELAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these two words it does not cache what uses a precompiled header; our sources do not tell the time of
  # their compilation, nor does a macro that one defines before its first include change a header. What a source
  # includes it learns from the compiler, which Ninja has tell that, and not by preprocessing each source once more.
  set(CMAKE_C_COMPILER_LAUNCHER ${BELAY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
    ${BELAY_CCACHE})
endif()

if(BELAY_SANITIZE)
  add_compile_options(-fsanitize=${BELAY_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BELAY_SANITIZE})
  if(BELAY_SANITIZE MATCHES undefined)
    # Programs may pass any number where the C interface says enum; without -fstrict-enums that is no
    # undefined behaviour for this compiler, and the handlers check. Null pointers and what lies outside of objects
    # AddressSanitizer finds, too, and looking for them twice takes a fifth of the time to compile.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=enum,null,object-size)
  endif()
endif()

# Of loops that are there to be vectorised. A sanitizer looks at each access instead, and vectors take long to
# compile with it; without one, what is built to be debugged is optimised nowhere.
set(BELAY_LOOP_LEVEL -O3)
if(BELAY_SANITIZE MATCHES "fuzzer")
  set(BELAY_LOOP_LEVEL -O0)
elseif(BELAY_SANITIZE)
  set(BELAY_LOOP_LEVEL -Og)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(BELAY_LOOP_LEVEL -O0)
endif()
# Threads and parsers are looked at in builds of their own, which need no kernels for each instruction set.
if(BELAY_SANITIZE MATCHES "thread|fuzzer")
  add_compile_definitions(BELAY_BASELINE_VECTORS)
endif()
# A product is rounded before it is added, so that every processor gives the same numbers.
set(BELAY_LOOP_OPTIONS "${BELAY_LOOP_LEVEL};-ffp-contract=off;-fno-trapping-math")

# Of test programs: what they test is optimised and looked at for undefined behaviour, they are not. Compiling them
# was a third of the time of a build, and twice that with each of their operations checked.
set(BELAY_TEST_LEVEL -O0)
if(BELAY_SANITIZE MATCHES undefined)
  list(APPEND BELAY_TEST_LEVEL -fno-sanitize=undefined)
endif()

# A library says what it needs. Clang leaves a sanitizer's runtime to the program, so not there.
set(BELAY_NO_UNDEFINED -Wl,-z,defs)
if(BELAY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(BELAY_NO_UNDEFINED "")
endif()

macro(belay_add_subdirectory_if_present dir)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt)
    add_subdirectory(${dir})
  endif()
endmacro()
