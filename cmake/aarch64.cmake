# Cross-compiling for 64-bit Arm with Debian's g++-aarch64-linux-gnu. Only headers are needed beyond
# the compiler's own: those of the header-only dependencies are the same on every architecture, so they
# are linked into a folder of their own (all of /usr/include would bring in the host's libc).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(BELAY_AARCH64_CC NAMES aarch64-linux-gnu-gcc aarch64-linux-gnu-gcc-12 REQUIRED)
find_program(BELAY_AARCH64_CXX NAMES aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-12 REQUIRED)
set(CMAKE_C_COMPILER ${BELAY_AARCH64_CC})
set(CMAKE_CXX_COMPILER ${BELAY_AARCH64_CXX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)

set(BELAY_CROSS_INCLUDE ${CMAKE_BINARY_DIR}/cross-include)
file(MAKE_DIRECTORY ${BELAY_CROSS_INCLUDE})
foreach(header fmt nlohmann CLI hwy)
  if(EXISTS /usr/include/${header})
    file(CREATE_LINK /usr/include/${header} ${BELAY_CROSS_INCLUDE}/${header} SYMBOLIC)
  endif()
endforeach()
include_directories(SYSTEM ${BELAY_CROSS_INCLUDE})
