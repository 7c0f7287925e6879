// The observer behind `belay explore`: what each copy brought to the host, by the number of its call. A copy
// of a stream is looked at when the host first knows that it is over, one that the host makes at once by what
// it will read.
//
// And who fills fresh memory, of which no page says what it holds, with what the seed chooses.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "layers/explore/log.h"
#include "runtime/layer.h"
#include "runtime/observer.h"

namespace belay::explore {

struct Bytes {
  const void* begin;
  size_t bytes;
};
uint64_t Digest(const std::vector<Bytes>& pieces);

class Digests final : public rt::Observer {
 public:
  // `tell`: the number of a copy of which to say where it is asked for; 0: none.
  Digests(const rt::CoreFacts& core, Log& log, uint64_t seed, uint64_t tell)
      : core_(core), log_(log), seed_(seed), tell_(tell) {}

  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void HostLearned(const rt::Stream& stream, uint64_t position) override;
  void HostDoes(const rt::Task& task) override;
  void Allocated(const rt::Block& block) override;
  void HostWasSilent() override { ++log_.silences; }
  bool watches_runs() const override { return true; }
  void Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                   const rt::Task& task) override;

 private:
  struct Copy {
    uint64_t number;
    std::vector<Bytes> to;
  };
  uint64_t NumberOf(const rt::Task& task);
  void Next(uint64_t what);
  void Keep(uint64_t number, uint64_t digest);

  const rt::CoreFacts core_;
  Log& log_;
  const uint64_t seed_;
  const uint64_t tell_;
  std::mutex lock_;
  std::unordered_map<const rt::Stream*, std::map<uint64_t, Copy>> pending_;  // by position
};

}  // namespace belay::explore
