// What the engines of programs have in common: one timekeeper (timekeeper.h) for limits and values.
#pragma once

#include "runtime/engine.h"
#include "runtime/timekeeper.h"

namespace belay::rt {

class TimedEngine : public Engine {
 public:
  void NeedWatch() override { timekeeper_.Need(); }
  void WatchDeadline(Stream& stream, uint64_t park_serial, int64_t deadline_ns) override {
    timekeeper_.WatchDeadline(stream, park_serial, deadline_ns);
  }
  void WatchPoll(Stream& stream, uint64_t park_serial, const Poll& poll) override {
    timekeeper_.WatchPoll(stream, park_serial, poll);
  }
  void LookAtPoll(Stream& stream) override { timekeeper_.Look(stream); }
  bool ForgetPoll(Stream& stream) override { return timekeeper_.ForgetPoll(stream); }

 protected:
  void LookAtPolls(const void* address) override { timekeeper_.LookAt(address); }
  Timekeeper timekeeper_{polls_};
};

}  // namespace belay::rt
