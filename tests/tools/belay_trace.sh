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
#include <stdlib.h>
#include <string.h>
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
"$CXX" program.cc -o program -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
trace -o a.pftrace -- ./program
expect 0
grep -q 'belay trace: writes .*/a.pftrace; open it at https://ui.perfetto.dev' err.txt || { cat err.txt; failed=1; }
holds a.pftrace '1 stream 1: memset' '1 stream 1: event record' '1 stream 2: event wait' '1 stream 2: memcpy' \
  '10 stream 1: model launch' '30 stream 1:   memset' '1 stream 2:   goes on' '1 program: aclrtMemcpyAsync' \
  '10 program: aclmdlRIExecuteAsync' '1 arrow: event record -> goes on' '1 arrow: aclrtMemcpyAsync -> memcpy' \
  '10 arrow: aclmdlRIExecuteAsync -> model launch' '1 counter: device 0, memory: 2097152, then 0' \
  '1 counter: pinned memory: 65536, then 0'
grep open read.txt && { echo 'slices without an end'; failed=1; }

# One file for all processes that the program starts.
trace -o b.pftrace -- bash -c './program & ./program; wait'
expect 0
holds b.pftrace '20 stream 1: model launch' '60 stream 1:   memset' '2 arrow: event record -> goes on'

# Killed, it leaves what was written until then.
mkfifo begun
"$toolkit/bin/belay" trace -o c.pftrace -- ./program endless >out.txt 2>err.txt &
read -r _ <begun
kill -KILL $!
wait $! 2>killed.txt
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
trace -o /nonexistent/e.pftrace -- ./program
expect 126
trace -- ./nothing
expect 127
# Without the command.
(unset BELAY_TRACE_FILE; BELAY_LAYERS=trace "$toolkit/bin/belay" run -- ./program) >out.txt 2>err.txt
expect 0
holds belay-*.pftrace '10 stream 1: model launch'
exit $failed
