# The C++ interface of graphs in timelines, in the log of calls, in msprof's table and in reports: its calls, and
# where tasks come from that they submit.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
expect() {  # exit code
  local got=$?
  [[ $got -eq $1 ]] || { echo "exit code $got, not $1"; cat out.txt err.txt; failed=1; }
}
has() {  # file, lines...
  for line in "${@:2}"; do
    grep -qxE -- "$line" "$1" || { echo "missing in $1: $line"; cat "$1"; failed=1; }
  done
}
cat >program.cc <<'CC'
#include <acl/acl.h>
#include <all_ops.h>
#include <ge/ge_api.h>
#include <future>
#include <stdlib.h>
#define DO(call) if ((call) != 0) abort()
int main(int argc, char** argv) {
  DO(ge::GEInitialize(std::map<ge::AscendString, ge::AscendString>{}));
  {
    ge::Session session(std::map<ge::AscendString, ge::AscendString>{});
    const ge::TensorDesc desc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_FLOAT);
    ge::op::Data x("x");
    x.set_attr_index(0);
    x.update_input_desc_x(desc);
    x.update_output_desc_y(desc);
    ge::Graph graph("relu");
    graph.SetInputs({x}).SetOutputs({ge::op::Relu("relu").set_input_x(x)});
    DO(session.AddGraph(1, graph));
    const float values[] = {-1, 2, -3, 4};
    const std::vector<ge::Tensor> inputs{{desc, reinterpret_cast<const uint8_t*>(values), sizeof values}};
    std::vector<ge::Tensor> outputs;
    DO(session.RunGraph(1, inputs, outputs));
    if (session.RunGraph(2, inputs, outputs) == 0) abort();
    std::promise<void> done;
    DO(session.RunGraphAsync(1, inputs, [&](ge::Status status, std::vector<ge::Tensor>&) {
      DO(status);
      done.set_value();
    }));
    done.get_future().wait();
    DO(aclrtSetDevice(0));
    aclrtStream a, b;
    DO(aclrtCreateStream(&a));
    DO(aclrtCreateStream(&b));
    void *from, *to;
    DO(aclrtMalloc(&from, sizeof values, ACL_MEM_MALLOC_HUGE_FIRST));
    DO(aclrtMalloc(&to, sizeof values, ACL_MEM_MALLOC_HUGE_FIRST));
    DO(aclrtMemcpy(from, sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));
    const auto on_device = [&](void* data) {
      ge::TensorDesc placed = desc;
      placed.SetPlacement(ge::kPlacementDevice);
      ge::Tensor tensor(placed);
      DO(tensor.SetData(static_cast<uint8_t*>(data), sizeof values, [](uint8_t*) {}));
      return tensor;
    };
    outputs = {on_device(to)};
    DO(session.RunGraphWithStreamAsync(1, a, {on_device(from)}, outputs));
    if (argc > 1) DO(aclrtSynchronizeStream(a));
    DO(aclrtMemsetAsync(to, sizeof values, 0, sizeof values, b));
    DO(aclrtSynchronizeStream(a));
    DO(aclrtSynchronizeStream(b));
  }
  DO(ge::GEFinalize());
}
CC
"$CXX" program.cc -o program -I"$toolkit/include" -I"$toolkit/include/ge" -I"$toolkit/include/graph" \
  -I"$toolkit/opp/built-in/op_proto/inc" -L"$toolkit/lib64" -lge_runner -lgraph -lascendcl -pthread || exit 1
"$toolkit/bin/belay" trace -o a.pftrace --calls a.calls --msprof prof -- ./program mended >out.txt 2>err.txt
expect 0
python3 "$BELAY_SOURCE/tests/tools/read_trace.py" a.pftrace >read.txt || failed=1
has read.txt '1 program: GEInitialize' '1 program: Session' '1 program: Session::AddGraph' '2 program: Session::RunGraph' \
  '1 program:   gives GRAPH_FAILED' '1 program: Session::RunGraphAsync' '1 belay-ge: Session::RunGraphAsync' \
  '1 arrow: Session::RunGraphWithStreamAsync -> .*' '1 program: ~Session' '1 program: GEFinalize' '1 program: aclrtSetDevice'
grep open read.txt && { echo 'slices without an end'; failed=1; }
cut -c 31- a.calls | sed -E 's/^ *[0-9]+ //' >calls.txt
has calls.txt 'GEInitialize\(\.\.\.\) = SUCCESS' 'Session::AddGraph\(\.\.\.\) = SUCCESS' \
  'Session::RunGraph\(\.\.\.\) = SUCCESS' 'Session::RunGraph\(\.\.\.\) = GRAPH_FAILED' 'aclrtSetDevice\(deviceId=0\) = 0'
grep -qE '^host,Model,Session::RunGraph,[0-9.]+,2,' prof/PROF_*/mindstudio_profiler_output/api_statistic_*.csv ||
  { echo 'no row of RunGraph'; failed=1; }
# Without libbelay_calls.so, too.
BELAY_TRACE_FILE=b.pftrace BELAY_LAYERS=trace "$toolkit/bin/belay" run -- ./program mended >out.txt 2>err.txt
expect 0
python3 "$BELAY_SOURCE/tests/tools/read_trace.py" b.pftrace >read.txt || failed=1
has read.txt '2 program: Session::RunGraph' '1 arrow: Session::RunGraphWithStreamAsync -> .*'

"$toolkit/bin/belay" check --error-exitcode 7 -- ./program mended >out.txt 2>err.txt
expect 0
"$toolkit/bin/belay" check --error-exitcode 7 -- ./program >out.txt 2>err.txt
expect 7
grep -q 'Session::RunGraphWithStreamAsync' err.txt || { echo 'the report does not name the call'; cat err.txt; failed=1; }
exit $failed
