// The states of a stream and the only table that changes them.
//
//   Closed --Open--> Idle --Submit--> Ready --Take--> Running --Drain--> Idle
//                                       ^  <--Yield--  |
//                                       |              Park
//                                       +---Fulfil---- Parked
//
// A stream is a FIFO of tasks with at most one running: whoever applied Take (a worker, or a host
// thread that waits and helps) runs it until Drain, Park or Yield. Changes happen under Stream::run_lock_.
#pragma once

#include <array>
#include <cstdint>

namespace belay::rt {

enum class StreamState : uint8_t { kClosed, kIdle, kReady, kRunning, kParked, kRefused };
inline constexpr int kStreamStates = 5;

enum class StreamCommand : uint8_t { kOpen, kSubmit, kTake, kDrain, kPark, kFulfil, kYield, kClose };
inline constexpr int kStreamCommands = 8;

namespace stream_table {
using enum StreamState;
// Rows: states in order. Columns: Open Submit Take Drain Park Fulfil Yield Close.
inline constexpr StreamState kTable[kStreamStates][kStreamCommands] = {
    /* closed  */ {kIdle, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused},
    /* idle    */ {kRefused, kReady, kRefused, kRefused, kRefused, kRefused, kRefused, kClosed},
    /* ready   */ {kRefused, kReady, kRunning, kRefused, kRefused, kRefused, kRefused, kClosed},
    /* running */ {kRefused, kRunning, kRefused, kIdle, kParked, kRefused, kReady, kRefused},
    /* parked  */ {kRefused, kParked, kRefused, kRefused, kRefused, kReady, kRefused, kClosed},
};
}  // namespace stream_table

// The state after a command, or kRefused when the command is not legal in that state.
constexpr StreamState Next(StreamState state, StreamCommand command) {
  return stream_table::kTable[static_cast<int>(state)][static_cast<int>(command)];
}

}  // namespace belay::rt
