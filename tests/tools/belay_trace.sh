# belay trace writes a timeline that others can read, however the program ends.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
here=$BELAY_SOURCE/tests/tools
trace() { "$toolkit/bin/belay" trace "$@" >out.txt 2>err.txt; }
expect() {  # exit code
  local got=$?
  [[ $got -eq $1 ]] || { echo "exit code $got, not $1"; cat out.txt err.txt; failed=1; }
}
holds() {  # file, lines that the reader has to print...
  python3 "$here/read_trace.py" "$1" >read.txt || failed=1
  for line in "${@:2}"; do
    grep -qx -- "$line" read.txt || { echo "missing: $line"; cat read.txt; failed=1; }
  done
}
cat >program.cc <<'CC'
#include <acl/acl.h>
#include <aclnnop/aclnn_abs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <thread>
#define DO(call) if ((call) != 0) abort()
int main(int argc, char** argv) {
  bool endless = argc > 1 && !strcmp(argv[1], "endless");
  DO(aclInit(nullptr));
  DO(aclrtSetDevice(0));
  aclrtStream a, b;
  DO(aclrtCreateStream(&a));
  DO(aclrtCreateStream(&b));
  void *x, *y;
  const size_t kBytes = 1 << 20;
  DO(aclrtMalloc(&x, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  DO(aclrtMalloc(&y, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  void* host;
  DO(aclrtMallocHost(&host, 65536));
  DO(aclrtFreeHost(host));
  aclrtEvent event;
  DO(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  DO(aclrtMemsetAsync(x, kBytes, 1, kBytes, a));
  DO(aclrtRecordEvent(event, a));
  DO(aclrtStreamWaitEvent(b, event));
  DO(aclrtMemcpyAsync(y, kBytes, x, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, b));
  DO(aclrtSynchronizeStream(b));
  aclmdlRI model;
  DO(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 3; ++i) DO(aclrtMemsetAsync(x, 64, i, 64, a));
  DO(aclmdlRICaptureEnd(a, &model));
  for (int i = 0; i < 10; ++i) DO(aclmdlRIExecuteAsync(model, a));
  DO(aclrtSynchronizeStream(a));
  const int64_t shape[] = {2, 3};
  aclTensor* tensor = aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, x);
  uint64_t bytes;
  aclOpExecutor* executor;
  DO(aclnnAbsGetWorkspaceSize(tensor, tensor, &bytes, &executor));
  DO(aclnnAbs(nullptr, 0, executor, a));
  DO(aclDestroyTensor(tensor));
  std::thread([] {
    pthread_setname_np(pthread_self(), "thread");
    int device;
    if (aclrtGetDevice(&device) == 0) abort();
  }).join();
  if (argc > 1 && !strcmp(argv[1], "forks")) {
    const pid_t child = fork();
    if (child == 0) {
      uint32_t count;
      if (aclrtSetDevice(0) != 0) DO(aclInit(nullptr));
      DO(aclrtGetDeviceCount(&count));
      exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) abort();
  }
  if (endless) {
    DO(aclrtMemsetAsync(y, 64, 1, 64, b));
    DO(aclrtSynchronizeStream(b));
    DO(system("echo >begun"));
    for (;;) DO(aclrtMemsetAsync(x, 64, 1, 64, a));
  }
  DO(aclmdlRIDestroy(model));
  DO(aclrtResetDevice(0));
  DO(aclFinalize());
}
CC
"$CXX" program.cc -o program -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl -lopapi -lnnopbase -pthread || exit 1
trace -o a.pftrace --calls a.calls -- ./program
expect 0
grep -q 'belay trace: writes .*/a.pftrace; open it at https://ui.perfetto.dev' err.txt || { cat err.txt; failed=1; }
holds a.pftrace '1 stream 1: memset' '1 stream 1: event record' '1 stream 2: event wait' '1 stream 2: memcpy' \
  '10 stream 1: model launch' '30 stream 1:   memset' '1 stream 2:   goes on' '1 program: aclrtMemcpyAsync' \
  '10 program: aclmdlRIExecuteAsync' '1 arrow: event record -> goes on' '1 arrow: aclrtMemcpyAsync -> memcpy' \
  '10 arrow: aclmdlRIExecuteAsync -> model launch' '1 counter: device 0, memory: 2097152, then 0' \
  '1 counter: pinned memory: 65536, then 0' '1 program: aclInit' '2 program: aclrtMalloc' '1 program: aclrtFreeHost' \
  '2 program: aclrtSynchronizeStream' '1 thread:   gives 107002 ACL_ERROR_RT_CONTEXT_NULL' '1 program: aclFinalize' \
  '1 program: aclCreateTensor' '1 program: aclnnAbsGetWorkspaceSize' '1 arrow: aclnnAbs -> aclnnAbs' \
  '1 thread: aclrtGetDevice'
grep open read.txt && { echo 'slices without an end'; failed=1; }

says() {  # lines of the log, without addresses and times
  for line in "$@"; do
    grep -qxE " *[0-9.]+ +[0-9.]+ us [0-9]+ $line" a.calls || { echo "no such call: $line"; cat a.calls; failed=1; }
  done
}
A='0x[0-9a-f]+'
says "aclrtMalloc\(devPtr=$A -> $A, size=1048576, policy=ACL_MEM_MALLOC_HUGE_FIRST\) = 0" \
  "aclrtMemcpyAsync\(dst=$A, destMax=1048576, src=$A, count=1048576, kind=ACL_MEMCPY_DEVICE_TO_DEVICE, stream=$A\) = 0" \
  "aclrtGetDevice\(deviceId=$A\) = 107002 ACL_ERROR_RT_CONTEXT_NULL" \
  "aclCreateTensor\(viewDims=$A, .*dataType=ACL_FLOAT, .*\) = $A ACL_FLOAT \[2, 3\]" \
  "aclnnAbsGetWorkspaceSize\(self=$A ACL_FLOAT \[2, 3\], out=$A ACL_FLOAT \[2, 3\], workspaceSize=$A -> 0, executor=$A -> $A\) = 0" \
  "aclDestroyTensor\(tensor=$A\) = 0" 'aclFinalize\(\) = 0'
[[ $(wc -l <a.calls) -eq 38 ]] || { echo "not every call has one line"; cat a.calls; failed=1; }
grep -q 'belay trace: writes .*/a.calls, a line for each call' err.txt || { cat err.txt; failed=1; }

# The tables of msprof: one of the program's three nodes of a launch, its operator, and its calls.
trace --msprof prof -- ./program
expect 0
tables=$(echo prof/PROF_*/mindstudio_profiler_output)
python3 - "$tables" <<'PY' || failed=1
import csv
import glob
import sys


def table(name):
    with open(glob.glob(f'{sys.argv[1]}/{name}_*.csv')[0]) as file:
        return list(csv.DictReader(file))


operator, = table('op_summary')
wanted = {'Device_id': '0', 'Model ID': '4294967295', 'Stream ID': '1', 'Op Name': 'aclnnAbs', 'OP Type': 'Abs',
          'Task Type': 'AI_CORE', 'Input Shapes': '2,3', 'Input Data Types': 'FLOAT', 'Input Formats': 'ND',
          'Output Shapes': '2,3', 'Output Data Types': 'FLOAT', 'Output Formats': 'ND'}
assert {key: operator[key] for key in wanted} == wanted, operator
tasks = table('task_time')
kinds = [task['kernel_type'] for task in tasks]
assert kinds.count('MODEL_LAUNCH') == 10 and kinds.count('MEMSET') == 31 and kinds.count('AI_CORE') == 1, kinds
task, = [task for task in tasks if task['kernel_type'] == 'AI_CORE']
assert task['task_start(us)'] == operator['Task Start Time(us)'] and task['task_id'] == operator['Task ID'], task
assert table('op_statistic')[0]['Count'] == '1' and table('op_statistic')[0]['Ratio(%)'] == '100.000'
steps = table('step_trace')
assert [step['Iteration ID'] for step in steps] == [str(i) for i in range(1, 11)], steps
calls = {row['API Name']: row for row in table('api_statistic')}
assert calls['aclmdlRIExecuteAsync']['Count'] == '10' and calls['aclFinalize']['Level'] == 'AscendCL', calls
PY
# And its timeline, also after msprof has put the files back.
rm -r "$tables"
"$toolkit/bin/msprof" --export=on --output="${tables%/*}" >out.txt 2>err.txt
expect 0
"$toolkit/bin/msprof" --export=on --output=/dev/null >out.txt 2>err.txt
expect 1
python3 - "$tables" <<'PY' || failed=1
import glob
import json
import sys

with open(glob.glob(f'{sys.argv[1]}/msprof_*.json')[0]) as file:
    events = json.load(file)
tasks = [e for e in events if e['ph'] == 'X' and 'Task Type' in e['args']]
places = {(e['pid'], e['tid'], e['ts']): e for e in tasks}
calls = {e['id']: e for e in events if e['ph'] == 's'}
heads = [e for e in events if e['ph'] == 'f']
assert tasks
assert heads and all((e['pid'], e['tid'], e['ts']) in places and e['id'] in calls for e in heads), heads
assert any(e['name'] == 'AscendCL@aclFinalize' for e in events)
PY
# What cannot be written is told of, and the program runs.
trace --msprof /dev/null/prof -- ./program
expect 0 'cannot write to /dev/null/prof: .*; the program runs without it'

# One file for all processes that the program starts.
trace -o b.pftrace --calls b.calls -- bash -c './program & ./program; wait'
expect 0
holds b.pftrace '20 stream 1: model launch' '60 stream 1:   memset' '2 arrow: event record -> goes on' '2 program: aclInit'
[[ $(grep -c aclFinalize b.calls) -eq 2 ]] || { cat b.calls; failed=1; }

# A child that goes on by itself is another process.
trace -o f.pftrace --calls f.calls -- ./program forks
expect 0
holds f.pftrace '2 program: aclInit' '1 program: aclrtGetDeviceCount' '1 program: aclrtResetDevice' '1 program: aclFinalize'
[[ $(grep -c 'aclFinalize\|aclrtGetDeviceCount' f.calls) -eq 2 ]] || { cat f.calls; failed=1; }

# Killed, it leaves what was written until then.
mkfifo begun
"$toolkit/bin/belay" trace -o c.pftrace --calls c.calls -- ./program endless >out.txt 2>err.txt &
read -r _ <begun
kill -KILL $!
wait $! 2>killed.txt
grep -q aclrtMemsetAsync c.calls || { echo 'a killed program leaves no calls'; failed=1; }
holds c.pftrace '10 stream 1: model launch' '30 stream 1:   memset' '1 arrow: event record -> goes on'

# A file that cannot grow: the program goes on, and is told of once.
(ulimit -f 64; trace -o d.pftrace -- bash -c './program && ./program')
expect 0
holds d.pftrace '1 program: aclrtRecordEvent'
grep -q 'belay trace: cannot write to .*/d.pftrace: File too large; the program goes on' err.txt || { cat err.txt; failed=1; }
trace -o /dev/full -- ./program
expect 0
grep -q 'belay trace: cannot write to /dev/full: ' err.txt || { cat err.txt; failed=1; }
(ulimit -f 0; exec "$toolkit/bin/belay" trace -o e.pftrace -- ./program 2>limited.txt) | cat >out.txt
(exit "${PIPESTATUS[0]}")
expect 0
trace -o /nonexistent/e.pftrace --calls g.calls -- ./program
expect 0 'cannot write to /nonexistent/e.pftrace: No such file or directory; the program runs without it'
grep -q aclFinalize g.calls || { echo 'no calls without a timeline'; failed=1; }
trace -o g.pftrace --calls /nonexistent/e.calls -- ./program
expect 0 'cannot write to /nonexistent/e.calls: No such file or directory; the program runs without it'
holds g.pftrace '1 program: aclrtRecordEvent'
trace --calls /dev/full -- ./program
expect 0
grep -q 'belay trace: cannot write to /dev/full: ' err.txt || { cat err.txt; failed=1; }
trace -- ./nothing
expect 127
# Without the command.
(unset BELAY_TRACE_FILE; BELAY_LAYERS=trace "$toolkit/bin/belay" run -- ./program) >out.txt 2>err.txt
expect 0
holds belay-*.pftrace '10 stream 1: model launch'
exit $failed
