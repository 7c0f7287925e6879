// Writes down when things happen: a timeline in Perfetto's format, with a track for each thread that submits
// or waits, and for each stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/relaxed.h"
#include "layers/trace/profile.h"
#include "layers/trace/timeline.h"
#include "runtime/layer.h"
#include "runtime/task.h"

namespace belay::trace {

class Trace final : public rt::Observer {
 public:
  // Made when first asked for, and anew in a child of fork. It stays.
  static Trace* OfProcess(const rt::CoreFacts& core);
  static bool exists();
  explicit Trace(const rt::CoreFacts& core);

  bool watches_runs() const override { return true; }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Queued(const rt::Stream& stream, uint64_t position) override;
  void Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
             const rt::TaskFailure* failure) override;
  void NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                   const rt::Task& task) override;
  void NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node, const rt::Task& task,
                 const rt::TaskFailure* failure) override;
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node, const rt::Task& task) override;
  void EndedDevice(int device) override;
  void CallBegan(uint32_t call, int64_t begun_ns) override;
  void CallEnded(uint32_t call, const char* result) override;
  void Marked(const rt::Mark& mark) override;
  void HostWaits(const rt::Stream& stream, uint64_t position, int64_t deadline_ns) override;
  void HostGoesOn(const rt::Stream& stream, uint64_t position) override;
  void Allocated(const rt::Block& block) override { NoteMemory(block, true); }
  void Freed(const rt::Block& block, rt::FreedBy) override { NoteMemory(block, false); }

 private:
  // What a call submitted at a position.
  struct Submission {
    Operands operands;
    pid_t thread = 0;
    uint64_t time = 0;
  };

  struct Line {
    Relaxed<uint32_t> id = ~0u;  // of the stream that has the slot now
    uint64_t submission = 0;     // what the ids of its arrows are made from
    // By who runs the stream, while others submit to it.
    alignas(64) uint64_t started = 0;  // the position that track.begun is of
    Track track;
    alignas(64) std::map<uint32_t, Track> lanes;
    std::unordered_map<uint64_t, int> waits;               // for a position: how many there were
    std::unordered_map<uint64_t, uint64_t> arrows;         // to a wait at a position
    std::unordered_map<uint64_t, Submission> submissions;  // for profiles
    std::mutex lock;                                       // of what threads share
  };

  // Bytes that are allocated on a device (-1: pinned memory of the host).
  struct Memory {
    Track track;
    uint64_t bytes = 0;
  };

  // Nobody reads what would be noted.
  bool idle() const { return !timeline_.writes() && !Profiles::any(); }
  uint64_t DeviceTrack(Writer& writer, int device);  // under lock_
  void NoteMemory(const rt::Block& block, bool comes);
  Line& LineOf(Writer& writer, const rt::Stream& stream);
  Track& LaneOf(Writer& writer, const rt::Stream& stream, uint32_t lane);
  void NoteWaits(Writer& writer, const rt::Stream& stream, uint64_t position, const rt::Task& task);
  uint64_t ArrowOf(const Line& source, uint64_t position, int which) const;
  void AddToProfile(const rt::Stream& stream, const Track& track, const rt::Task& task, uint64_t model,
                    uint64_t place, Submission submission);
  Track& RangeLane(Writer& writer, const rt::Mark& mark);  // under lock_
  void TellFailure(Writer& writer, Track* track, const rt::TaskFailure& failure);

  const rt::CoreFacts core_;
  Timeline& timeline_;
  const uint64_t process_;
  std::mutex lock_;
  std::unordered_map<const rt::Stream*, std::unique_ptr<Line>> lines_;
  std::map<int, uint64_t> devices_;
  std::map<int, Memory> memory_;
  std::map<uint32_t, size_t> range_lanes_;                      // of the program's spans with numbers
  std::vector<Track> ranges_;                                   // the lanes
  std::map<std::pair<uint32_t, uint32_t>, Operands> operands_;  // of the nodes of models
};

}  // namespace belay::trace
