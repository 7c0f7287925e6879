// An idle process uses no processor time. The only test that lets time pass: that is what it measures.
#include <sys/resource.h>
#include <time.h>

#include "scenario.h"

namespace {

int64_t ProcessNs() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

SCENARIO(two_seconds) {
  guest::Start();
  guest::UseDevice();
  timespec settle{0, 50'000'000}, two_seconds{2, 0};  // the workers search for a millisecond
  nanosleep(&settle, nullptr);
  int64_t before = ProcessNs();
  nanosleep(&two_seconds, nullptr);
  int64_t used = ProcessNs() - before;
  std::printf("%.3f ms\n", static_cast<double>(used) / 1e6);
  EXPECT(used < 2'000'000);
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
