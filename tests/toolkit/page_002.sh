# The documentation page on running a graph on a stream: its includes are found as its build files name
# folders, and its steps work in its order.
set -euo pipefail
toolkit=$1
. "$toolkit/set_env.sh"
include=$ASCEND_TOOLKIT_HOME/include
"$CXX" -std=c++11 -Wall "$BELAY_SOURCE/tests/toolkit/page_002.cc" -o p -I"$include" -I"$include/ge" -I"$include/acl" \
  -I"$include/graph" -I"$ASCEND_OPP_PATH/built-in/op_proto/inc" -L"$ASCEND_TOOLKIT_HOME/lib64" -lge_runner -lgraph -lascendcl
./p
