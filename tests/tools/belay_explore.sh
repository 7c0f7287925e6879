# belay explore finds an order that makes a difference, gives it again by its seed, and finds none where a wait is.
set -uo pipefail
toolkit=$(cd "$1" && pwd -P) failed=0
explore() { "$toolkit/bin/belay" explore "$@" >out.txt 2>err.txt; }
source "$BELAY_SOURCE/tests/tools/expect.sh"
"$CXX" -g "$BELAY_SOURCE/examples/missing_wait/main.cc" -o missing_wait -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
explore -- ./missing_wait
expect 1 'seed [0-9]* differs: copy 1 to the host brings other bytes' 'compared: 1 copy to the host'
explore --error-exitcode 9 -- ./missing_wait
expect 9
explore -- ./missing_wait verify
expect 1 'seed [0-9]* differs: its exit code is 1 (0 in the plain order)' 'copy 1 to the host, by aclrtMemcpy' \
  'main.cc:[0-9]* Run' 'again: belay explore --seed [0-9]* -- ./missing_wait verify' 'compared: 1 copy to the host'
[[ $(cat out.txt) == done ]] || { echo "the plain order's output is not shown"; failed=1; }
grep -q 'did not do the same again' err.txt && failed=1
seed=$(sed -n 's/.*--seed \([0-9]*\) .*/\1/p' err.txt)
for i in 1 2 3; do
  explore --seed "$seed" -- ./missing_wait verify
  expect 1
  grep -q '1048576 bytes are wrong' out.txt || { cat out.txt; failed=1; }
done
explore --runs 30 -- ./missing_wait mended
expect 0 'no difference in 30 runs in [0-9]* orders\?'
# What fresh memory holds differs, too.
cat >fresh.cc <<'END'
#include <acl/acl.h>
int main() {
  int value = 0;
  void *block = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(&value, sizeof value, block, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST);
  aclFinalize();
}
END
"$CXX" fresh.cc -o fresh -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
explore --runs 8 -- ./fresh
expect 1 'copy 1 to the host brings other bytes'

# A child has nothing to do with the work that its parent has left undone.
cat >fork.cc <<'END'
#include <acl/acl.h>
#include <sys/wait.h>
#include <unistd.h>
void *block = nullptr;
void Work() {
  aclrtStream stream = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int i = 0; i < 5; ++i) aclrtMemsetAsync(block, 4096, i, 4096, stream);
}
int main() {
  Work();
  const pid_t child = fork();
  if (child == 0) {
    Work();
    _exit(aclFinalize());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 && aclFinalize() == 0 ? 0 : 3;
}
END
"$CXX" fork.cc -o fork -I"$toolkit/include" -L"$toolkit/lib64" -lascendcl || exit 1
explore --runs 40 -- ./fork
expect 0 'no difference in 40 runs'

# It needs no file: neither room on a disk nor a folder for temporary ones. What is printed is compared, however much it is,
# and what was started and goes on keeps nobody waiting.
(ulimit -f 0; TMPDIR=/nonexistent exec "$toolkit/bin/belay" explore -- ./missing_wait verify) 2>&1 >/dev/null | cat >err.txt
(exit "${PIPESTATUS[0]}")
expect 1 'seed [0-9]* differs: its exit code is 1' 'main.cc:[0-9]* Run'
explore --runs 2 -- bash -c './missing_wait mended; sleep 60 & seq 100000; seq 100000 >&2'
expect 0 'no difference in 2 runs' '^100000$' 'the exit code, the output$'
[[ $(wc -l <out.txt) -eq 100001 && $SECONDS -lt 50 ]] || { wc -l out.txt; failed=1; }
explore --runs 4 -- bash -c './missing_wait mended; echo $RANDOM'
expect 0 'the output differs from run to run in the plain order already'

# What the program does otherwise is its own.
explore -- bash -c 'exit 5'
expect 5 'fails in the plain order already (exit code 5)'
explore -- bash -c 'exit 0'
expect 0 'nothing was explored'
explore --seed 1 -- ./nothing
expect 127 'cannot start ./nothing'
BELAY_EXPLORE=one "$toolkit/bin/belay" run -- ./missing_wait >out.txt 2>err.txt && failed=1
exit $failed
