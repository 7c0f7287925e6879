# find_package(CANN): after set_env.sh, by CMAKE_PREFIX_PATH and by CANN_DIR; components that are there
# and one that is not. The program built this way runs.
set -euo pipefail
toolkit=$(cd "$1" && pwd -P)
cp "$BELAY_SOURCE/examples/hello/main.c" "$BELAY_SOURCE/examples/check.h" .
sed -i 's#\.\./check.h#check.h#' main.c
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(user C CXX)
find_package(CANN REQUIRED COMPONENTS ascendcl OPTIONAL_COMPONENTS no_such_library)
if(CANN_no_such_library_FOUND OR NOT CANN_ascendcl_FOUND)
  message(FATAL_ERROR "components")
endif()
find_package(CANN QUIET COMPONENTS no_such_library)
if(CANN_FOUND)
  message(FATAL_ERROR "a missing component was found")
endif()
add_executable(one main.c)
target_link_libraries(one PRIVATE CANN::ascendcl)
add_executable(three main.c)
target_link_libraries(three PRIVATE CANN::CANN)
add_executable(each main.c)
target_link_libraries(each PRIVATE CANN::opapi CANN::nnopbase CANN::ascendcl)
CMAKE
try() {  # build-folder cmake-arguments...
  cmake -S . -B "$1" "${@:2}" >log.txt 2>&1 && cmake --build "$1" >>log.txt 2>&1 || {
    cat log.txt
    exit 1
  }
  for program in one three each; do
    [[ $("$1/$program") == Hello* ]] || { echo "$1/$program: $?"; exit 1; }
  done
}
try by_prefix -DCMAKE_PREFIX_PATH="$toolkit"
try by_dir -DCANN_DIR="$toolkit/lib64/cmake/CANN"
. "$toolkit/set_env.sh"
try by_environment
