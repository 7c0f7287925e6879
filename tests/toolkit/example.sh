# Builds one example as a user does, with nothing but set_env.sh and a compiler, runs it and compares
# what it prints with its expected.txt. Arguments: toolkit scratch source-file libraries...
set -euo pipefail
toolkit=$1 source=$3
shift 3
. "$toolkit/set_env.sh"
compiler=$CXX
[[ $source == *.c ]] && compiler=$CC
"$compiler" -Wall -Wextra -Werror "$source" -o program -I"$ASCEND_TOOLKIT_HOME/include" \
  -I"$ASCEND_OPP_PATH/built-in/op_proto/inc" \
  -L"$ASCEND_TOOLKIT_HOME/lib64" "${@/#/-l}"
./program >got.txt || { echo "exit code $?"; cat got.txt; exit 1; }
python3 "$BELAY_SOURCE/tests/toolkit/compare_output.py" "$(dirname "$source")/expected.txt" got.txt
