#include "layers/race/gates.h"

#include <unistd.h>

#include <utility>

#include "base/clock.h"

namespace belay::race {

namespace {

void ForgetReturned(std::vector<Gate>* gates) {
  std::erase_if(*gates, [](const Gate& gate) { return gate.stream->Reached(gate.position); });
}

uint64_t Progress(const std::vector<Gate>& gates) {
  uint64_t sum = 0;
  for (const Gate& gate : gates) sum += gate.stream->completed();
  return sum;
}

}  // namespace

std::vector<Gate> Gates::Before(const Clock& clock) const {
  std::vector<Gate> found;
  for (const Gate& gate : pending_) {
    if (clock.Knows(gate.at)) found.push_back(gate);
  }
  ForgetReturned(&found);
  return found;
}

std::vector<Gate> StandStillFor(std::vector<Gate> gates) {
  constexpr int64_t kPatienceNs = 1'000'000'000;
  uint64_t progress = Progress(gates);
  for (int64_t since = NowNs(); NowNs() - since < kPatienceNs; usleep(200)) {
    ForgetReturned(&gates);
    if (gates.empty()) break;
    if (const uint64_t now = Progress(gates); now != progress) {
      progress = now;
      since = NowNs();
    }
  }
  return gates;
}

}  // namespace belay::race
