# belay check says where a wait is missing, and is silent where none is.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
check() { "$toolkit/bin/belay" check "$@" >out.txt 2>err.txt; }
source "$BELAY_SOURCE/tests/tools/expect.sh"
mkdir -p "work/the copy"
cp "$BELAY_SOURCE/examples/check.h" work && cp "$BELAY_SOURCE/examples/missing_wait/main.cc" "work/the copy" || exit 1
"$CXX" -g "work/the copy/main.cc" -o missing_wait -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
check -- ./missing_wait
expect 0 'RACE  stream 2 reads what stream 1 writes, 1048576 bytes' 'memset, stream 1, by aclrtMemsetAsync' \
  'memcpy, stream 2, by aclrtMemcpyAsync' 'mend: record an event on stream 1' 'belay check: 1 race in '
[[ $(cat out.txt) == done ]] || { echo "the program's output changed"; failed=1; }
grep -q 'how it is mended: belay explain race$' err.txt || { echo 'no word of belay explain'; failed=1; }
"$toolkit/bin/belay" explain race leak >out.txt 2>err.txt
expect 0
[[ $(grep -c '^RACE$\|^LEAK$\|^\*\*Meaning\|^\*\*Mend' out.txt) -eq 6 ]] || { cat out.txt; failed=1; }
"$toolkit/bin/belay" explain nonsense >out.txt 2>err.txt
expect 1 'there is no kind nonsense'
"$toolkit/bin/belay" explain >out.txt && grep -q '^hang  *Work waits' out.txt || failed=1
check --error-exitcode 7 --devices 1 -- ./missing_wait
expect 7 'RACE'
check --error-exitcode 7 -- ./missing_wait mended
expect 0 'belay check: 0 reports in '
grep -q RACE err.txt && { cat err.txt; failed=1; }

# The same in files, for tools and for code scanning; as a repository whose root is above.
mkdir -p .git sub
check --json sub/out.json --sarif sub/out.sarif -- ./missing_wait
expect 0 'belay check: 1 race in '
"${PYTHON:-python3}" "$BELAY_SOURCE/tests/tools/check_reports.py" sub/out.json sub/out.sarif "work/the copy/main.cc" || failed=1
# The same for people, with its source; what the program is given is no part of the page's form.
check --html sub/out.html -- ./missing_wait '<&>'
"${PYTHON:-python3}" "$BELAY_SOURCE/tests/tools/check_page.py" sub/out.html "work/the copy/main.cc" || failed=1
if browser=$(command -v chromium); then
  "${PYTHON:-python3}" "$BELAY_SOURCE/tests/tools/browse_page.py" "$browser" sub/out.html || failed=1
fi
# The timeline of a long program holds what lies around each report, and a captured graph of its own.
cat >long.cc <<'END'
#include <initializer_list>

#include "acl/acl.h"
int main() {
  char *x = nullptr, *y = nullptr, *z = nullptr;
  aclrtStream a, b, c;
  aclrtEvent event;
  aclInit(nullptr);
  aclrtSetDevice(0);
  for (char** block : {&x, &y, &z}) aclrtMalloc((void**)block, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  for (aclrtStream* stream : {&a, &b, &c}) aclrtCreateStream(stream);
  aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC);
  aclrtMemsetAsync(x, 64, 0, 64, a);
  for (int i = 0; i < 3000; ++i) aclrtMemsetAsync(z, 64, 0, 64, c);
  aclrtMemsetAsync(x, 64, 1, 64, b);
  for (int i = 0; i < 4000; ++i) aclrtMemsetAsync(z, 64, 0, 64, c);
  aclrtMemsetAsync(y, 64, 0, 64, a);
  aclrtRecordEvent(event, c);
  aclrtStreamWaitEvent(b, event);
  aclrtMemsetAsync(y, 64, 1, 64, b);
  aclrtSynchronizeStream(a);
  aclrtSynchronizeStream(b);
  aclrtMemsetAsync(y, 64, 2, 64, b);
  aclrtFree(y);
  aclrtSynchronizeDevice();
  aclmdlRI graph;
  aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
  aclrtRecordEvent(event, a);
  aclrtStreamWaitEvent(b, event);
  aclrtMemsetAsync(x, 64, 0, 64, a);
  aclrtMemsetAsync(x, 64, 0, 64, b);
  aclrtRecordEvent(event, b);
  aclrtStreamWaitEvent(a, event);
  aclrtMemsetAsync(z, 64, 0, 64, a);
  aclmdlRICaptureEnd(a, &graph);
  aclFinalize();
}
END
"$CXX" -g long.cc -o long -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
check --html long.html -- ./long
expect 0 'belay check: 3 races, 1 free-while-used in '
"${PYTHON:-python3}" "$BELAY_SOURCE/tests/tools/check_timeline.py" long.html || failed=1
(cd sub && "$toolkit/bin/belay" check --sarif deep.sarif -- ../missing_wait 2>/dev/null) >out.txt
cmp sub/out.sarif sub/deep.sarif || failed=1
# A program that is killed leaves what was found.
check --json killed.json -- bash -c './missing_wait; kill -KILL $$'
expect 137 'ended by signal 9'
grep -q '"kind": "race"' killed.json || { cat killed.json; failed=1; }
# What is suppressed is counted, and no reason for another exit code.
printf '# known\nrace main.cc:*\n' >known.txt
check --suppress known.txt --error-exitcode 7 -- ./missing_wait
expect 0 'belay check: 0 reports, 1 suppressed, in '
grep -q RACE err.txt && { cat err.txt; failed=1; }
printf 'race other.cc:*\nuse-after-free *\n' >known.txt
check --suppress known.txt --error-exitcode 7 -- ./missing_wait
expect 7 'belay check: 1 race in '
check --json /dev/full -- ./missing_wait
expect 0 'belay check: cannot write /dev/full: No space left on device'

# Memory that was freed: the use, the free and the allocation, by file and line.
cat >misuse.cc <<'END'
#include "acl/acl.h"
int main() {
  void *a = nullptr, *b = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtMalloc(&a, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&b, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtFree(a);
  aclrtMemcpy(b, 64, a, 64, ACL_MEMCPY_DEVICE_TO_DEVICE);
  aclrtFree(b);
  aclFinalize();
}
END
"$CXX" -g misuse.cc -o misuse -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
check --error-exitcode 7 -- ./misuse
expect 7 'USE AFTER FREE  aclrtMemcpy: src is ' 'misuse.cc:9 main' 'misuse.cc:8 main' 'misuse.cc:6 main' \
  'belay check: 1 use-after-free in '

# What is left when main ends the device is told where it was allocated, if that is wanted; at exit nothing is a leak.
cat >leak.cc <<'END'
#include <cstdlib>
#include "acl/acl.h"
int main(int argc, char**) {
  void* block = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  for (int i = 0; i < 3; ++i)
    aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMallocHost(&block, 64);
  aclrtFreeHost(block);
  if (argc > 1) std::atexit([] { aclFinalize(); });
  return argc > 1 ? 0 : aclFinalize();
}
END
"$CXX" -g leak.cc -o leak -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
check --leaks --error-exitcode 7 -- ./leak
expect 7 'LEAK  192 bytes in 3 blocks were not freed when device 0 ended' 'leak.cc:8 main' 'leak.cc:12 main'
check --leaks --error-exitcode 7 -- ./leak at_exit
expect 0 'belay check: 0 reports in '
check --error-exitcode 7 -- ./leak
expect 0 'belay check: 0 reports in '

# What the program does otherwise is its own.
check --error-exitcode 7 -- bash -c 'exit 5'
expect 5 'nothing was looked at'
check -- bash -c 'kill -TERM $$'
expect 143 'ended by signal 15'
check -- ./nothing
expect 127 'cannot start ./nothing'
# It goes on to what it starts.
check -- bash -c './missing_wait; exit 0'
expect 0 'belay check: 1 race in '
# A signal for the command is one for the program.
check -- bash -c 'trap "exit 9" USR1; kill -USR1 $PPID; sleep 60 & wait'
expect 9
# No limit keeps it from what it is for: little stack, of which readers of debug information take much; no room in
# files; no folder for temporary ones.
(ulimit -s 128; TMPDIR=/nonexistent check -- ./missing_wait)
expect 0 'RACE' 'main.cc:[0-9]* main' 'belay check: 1 race in '
(ulimit -f 0; exec "$toolkit/bin/belay" check --error-exitcode 7 --json limited.json -- ./missing_wait) 2>&1 | cat >err.txt
(exit "${PIPESTATUS[0]}")
expect 7 '^done$' 'RACE' 'main.cc:[0-9]* main' 'cannot write limited.json' 'belay check: 1 race in '
(ulimit -f 0; exec "$toolkit/bin/belay" check --error-exitcode 7 -- ./missing_wait 2>limited.txt) | cat >err.txt
(exit "${PIPESTATUS[0]}")
expect 7 '^done$'
cat >uploads.cc <<'END'
#include <acl/acl.h>
int main(int count, char**) {
  void *pinned = nullptr, *block = nullptr;
  aclrtStream stream = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  aclrtMallocHost(&pinned, 4096);
  aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int i = 0; i < 20000; ++i) {
    aclrtMemcpyAsync(block, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    if (i == 200 && count > 1) static_cast<volatile char*>(pinned)[9] = 1;
    aclrtSynchronizeStream(stream);
  }
  aclFinalize();
}
END
"$CXX" -g uploads.cc -o uploads -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
# Where the system keeps a process from its closed pages that is told once, whatever the program starts, and at the end.
cat >refuse.cc <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int, char** argv) {  // writes far within a file, as one of /proc/self/mem is
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pwrite64, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[3]) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 77;
  execvp(argv[1], argv + 1);
  return 78;
}
END
"$CXX" refuse.cc -o refuse || exit 1
if ./refuse true; then
  check --host-accesses --error-exitcode 7 -- ./refuse bash -c './uploads; ./uploads'
  expect 0 'not seen: ' 'decide; loads and stores of the host were not looked at$'
  [[ $(grep -c 'not seen: ' err.txt) -eq 1 ]] || { cat err.txt; failed=1; }
  check -- bash -c './missing_wait; ./refuse ./uploads'
  expect 0 'belay check: 1 race in ' 'loads and stores of the host were not looked at in 1 of 2 processes$'
  grep -q 'not seen: ' err.txt && failed=1
else
  echo 'not tried: the system refuses a filter of system calls'
fi
# Programs with a sanitizer start, and see to their own accesses.
for sanitizer in address thread; do
  "$CXX" -g -fsanitize=$sanitizer uploads.cc -o sanitized -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || continue
  TSAN_OPTIONS=exitcode=0 check --error-exitcode 7 -- ./sanitized early
  expect 7 'a store before aclrtSynchronizeStream, the host' 'loads and stores of the host were not looked at$'
done
# A program that does little but copy: after the first copies of a place only some are watched, and it is said.
if ! "$toolkit/bin/belay" check --host-accesses -- ./uploads 2>&1 | grep -q 'not seen: '; then
  check --error-exitcode 7 -- ./uploads
  expect 0 'during [0-9]* copies loads and stores of the host were not looked at, for want of time$'
  check --error-exitcode 7 -- ./uploads early
  expect 7 '  writes  store, the host' 'uploads.cc:12 main'
  check --error-exitcode 7 --host-accesses -- ./uploads
  expect 0 ' decide$'
  check --error-exitcode 7 --no-host-accesses -- ./uploads early
  expect 7 'a store before aclrtSynchronizeStream, the host' ' decide$'
fi
# A layer that finds no memory is told, at whatever point, and the program goes on; what it would have found is not known,
# which counts as found. One that crashes ends the program, and the last line says that it was there.
cat >fail_in.cc <<'END'
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>
void* operator new(std::size_t bytes) {
  static const char *layer = std::getenv("FAIL_IN"), *how = std::getenv("FAIL_HOW");
  static int left = layer ? std::atoi(std::getenv("FAIL_AFTER")) : 0;
  Dl_info caller{};
  if (layer && dladdr(__builtin_return_address(0), &caller) && std::strstr(caller.dli_fname, layer) && left-- <= 0) {
    if (std::strcmp(how, "crash") == 0) *(volatile int*)nullptr = 1;
    throw std::bad_alloc();
  }
  return std::malloc(bytes);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
END
"$CXX" -O1 -fPIC -shared fail_in.cc -o fail_in.so || exit 1
export FAIL_IN FAIL_HOW=throw FAIL_AFTER
for FAIL_IN in layer_race layer_memory layer_hang; do
  for FAIL_AFTER in 0 1 3 10 30; do
    check --error-exitcode 7 -- env LD_PRELOAD=./fail_in.so ./missing_wait mended
    code=$?
    [[ $(cat out.txt) == done ]] || { echo "the program's output changed"; failed=1; }
    [[ $FAIL_AFTER -gt 1 && $code -eq 0 ]] && continue  # it asks for less
    (exit $code)
    expect 7 "belay: the layer '${FAIL_IN#layer_}' has failed (std::bad_alloc); the program goes on" \
      'a part of this check has failed, and what came after that was not looked at$'
  done
  FAIL_HOW=crash FAIL_AFTER=0 check -- env LD_PRELOAD=./fail_in.so ./missing_wait
  expect 139 "Segmentation fault) while a part of this check was at work (${FAIL_IN#layer_}): that may be"
done
check -- bash -c 'kill -SEGV $$'
expect 139 'ended by signal 11 (Segmentation fault)$'
unset FAIL_IN FAIL_HOW FAIL_AFTER
# A layer that is not there is told, and the program goes on.
BELAY_LAYERS=nonsense "$toolkit/bin/belay" run -- ./missing_wait >out.txt 2>err.txt
expect 0 "the layer 'nonsense' of BELAY_LAYERS cannot be loaded"
[[ $(cat out.txt) == done ]] || failed=1

# A Python program is told of by its own lines: of calls in functions, lambdas, generators, threads and code made later.
cat >steps.py <<'PYTHON'
import ctypes
import threading

acl = ctypes.CDLL("libascendcl.so")
block, first, second = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()


def fill(value, stream):
    assert acl.aclrtMemsetAsync(block, 64, value, 64, stream) == 0


def steps():
    yield (lambda:
           fill(1, first))()
    for _ in range(2): yield fill(2, second)


def apart():
    assert acl.aclrtSetDevice(0) == 0
    fill(3, first)


assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
assert acl.aclrtMalloc(ctypes.byref(block), 64, 0) == 0
assert acl.aclrtCreateStream(ctypes.byref(first)) == 0 and acl.aclrtCreateStream(ctypes.byref(second)) == 0
list(steps())
assert acl.aclrtSynchronizeDevice() == 0
thread = threading.Thread(target=apart)
thread.start()
thread.join()
exec(compile("def füllen():\n\n  fill(4, second)\n", "made.py", "exec"), globals())
füllen()
assert acl.aclrtSynchronizeDevice() == 0 and acl.aclFinalize() == 0
PYTHON
check -- python3 steps.py
expect 0 'belay check: 2 races in ' 'steps.py:9 fill' 'steps.py:14 <lambda>' 'steps.py:13 steps' 'steps.py:15 steps' \
  'steps.py:26 <module>' 'steps.py:20 apart' 'made.py:3 füllen' 'steps.py:32 <module>'
(ulimit -f 0; exec "$toolkit/bin/belay" check -- python3 steps.py) 2>&1 | cat >err.txt
(exit "${PIPESTATUS[0]}")
expect 0 'belay check: 2 races in ' 'steps.py:9 fill' 'made.py:3 füllen'
exit $failed
