# belay check says who waits for what when nothing gets on, and never of a program that is merely slow.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
check() { "$toolkit/bin/belay" check "$@" >out.txt 2>err.txt; }
source "$BELAY_SOURCE/tests/tools/expect.sh"
silent() { ! grep -q "$1" err.txt || { echo "a word too many:"; cat err.txt; failed=1; }; }

cat >hang.cc <<'END2'
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include "acl/acl.h"
static aclrtStream a, b;
static aclrtEvent first, second;
static aclrtNotify notify;
static bool wrong, slow;

static bool IsNoted() {
  std::ifstream file("err.txt");
  for (std::string line; std::getline(file, line);)
    if (line.find("note: nothing") != line.npos) return true;
  return false;
}
static void Cycle() {
  aclrtStreamWaitEvent(a, first);
  if (wrong) aclrtStreamWaitEvent(b, second);  // line 20
  aclrtRecordEvent(first, b);
  aclrtRecordEvent(second, a);
  if (!wrong) aclrtStreamWaitEvent(b, second);
}
static void NoRecord() {
  std::thread other([] {
    while (slow && !IsNoted()) usleep(10'000);
    aclrtSetDevice(0);
    if (!wrong) aclrtRecordEvent(first, b);
  });
  aclrtStreamWaitEvent(a, first);  // line 31
  if (slow) aclrtSynchronizeStream(a);
  other.join();
}
static void Notify() {
  if (!wrong) aclrtRecordNotify(notify, a);
  aclrtWaitAndResetNotify(notify, a, 0);
  if (wrong) aclrtRecordNotify(notify, a);  // line 38
}
static void Callback() {
  aclrtLaunchHostFunc(a, [](void*) { wrong ? (void)pause() : (void)usleep(slow ? 600'000 : 0); }, nullptr);
}

int main(int, char** arguments) {
  const char* what = arguments[1];
  wrong = !strcmp(arguments[2], "wrong"), slow = !strcmp(arguments[2], "slow");
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&a), aclrtCreateStream(&b);
  aclrtCreateEvent(&first), aclrtCreateEvent(&second);
  aclrtCreateNotify(&notify, 0);
  if (!strcmp(what, "cycle")) Cycle();
  if (!strcmp(what, "record")) NoRecord();
  if (!strcmp(what, "notify")) Notify();
  if (!strcmp(what, "callback")) Callback();
  aclrtSynchronizeDevice();  // line 56
  return aclFinalize();
}
END2
"$CXX" -g hang.cc -o hang -pthread -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
quick=(--error-exitcode 7 --hang-after 0.1)

check "${quick[@]}" -- ./hang cycle wrong
expect 7 'HANG  stream 1 waits for stream 2, which waits for stream 1' 'waits   event wait, stream 1, by aclrtStreamWaitEvent' \
  'for     event record, stream 2, by aclrtRecordEvent' 'hang.cc:20 Cycle' 'hang.cc:21 Cycle' 'hang.cc:56 main' \
  'mend: let one of these streams record before it waits' 'belay check: the program cannot get on, and is ended' \
  'belay check: 1 hang in '
check --sarif out.sarif --json out.json "${quick[@]}" -- ./hang cycle wrong
expect 7 'HANG'
grep -q '"ruleId": "hang"' out.sarif && grep -q '"kind": "hang"' out.json || failed=1
for what in cycle record notify callback; do
  check "${quick[@]}" -- ./hang $what right
  expect 0 'belay check: 0 reports in '
  silent HANG
done

# What another thread could still do is a hang once none is left that may act; the system says what threads do.
if [[ -r /proc/self/syscall ]]; then
  check "${quick[@]}" -- ./hang record wrong
  expect 7 'HANG  stream 1 waits for event [0-9]*, which nobody has recorded' 'hang.cc:31 NoRecord' \
    'by aclrtSynchronizeDevice' 'hang.cc:56 main' 'mend: record the event'
  check "${quick[@]}" -- ./hang notify wrong
  expect 7 'HANG  stream 1 waits for a notify or a value from stream 1 itself' 'hang.cc:37 Notify' 'hang.cc:38 Notify'
fi
# A thread that sleeps for a while may record what is waited for: a note, and no mistake. So may a callback return.
check "${quick[@]}" -- ./hang record slow
expect 0 'note: nothing has moved for .* stream 1 waits for event [0-9]*, which nobody has recorded; it may yet come from hang (' \
  'belay check: 0 reports in '
check "${quick[@]}" -- ./hang callback slow
expect 0 'belay check: 0 reports in '
silent 'HANG\|note: nothing'

# SIGQUIT asks at any time, and the program goes on.
cat >ask.sh <<'END2'
./hang callback wrong &
child=$!
asked() { grep -q 'waits for a callback' err.txt && grep -q 'waits for stream 1' err.txt; }
for ((i = 0; i < 3000; ++i)); do
  grep -q 'SigCgt:.*[4567cdef]$' /proc/$child/status && kill -QUIT $child  # once it answers
  asked && break
  sleep 0.02
done
kill -KILL $child
wait
exit 0
END2
check --hang-after 0 -- bash ask.sh
expect 0 'belay check: SIGQUIT: ' 'stream 1 waits for a callback to return' 'waits for stream 1' 'hang.cc:56 main'
silent HANG
exit $failed
