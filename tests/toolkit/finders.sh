# A project that finds the toolkit as a known client does is configured, built and run. Argument: its folder
# in tests/toolkit/finders.
set -euo pipefail
toolkit=$1 client=$3
. "$toolkit/set_env.sh"
{ cmake -S "$BELAY_SOURCE/tests/toolkit/finders/$client" -B build && cmake --build build; } >log.txt 2>&1 || {
  cat log.txt
  exit 1
}
build/program || { echo "$client: exit code $?"; exit 1; }
