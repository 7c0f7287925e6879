// The states of an event and the only table that changes them. The state is decided at the call, in the
// order of the host's calls; whether a recorded event is complete is asked of the stream it was recorded
// on.
#pragma once

#include <cstdint>

namespace belay::rt {

enum class EventState : uint8_t {
  kDestroyed,
  kUnrecorded,  // never recorded, or reset since
  kRecorded,    // bound to a position of a stream
  kCaptured,    // bound to a point of a capture
  kRefused,
};
inline constexpr int kEventStates = 4;

enum class EventCommand : uint8_t { kCreate, kRecord, kRecordInCapture, kReset, kDestroy };
inline constexpr int kEventCommands = 5;

namespace event_table {
using enum EventState;
// Rows: states in order. Columns: Create Record RecordInCapture Reset Destroy.
inline constexpr EventState kTable[kEventStates][kEventCommands] = {
    /* destroyed  */ {kUnrecorded, kRefused, kRefused, kRefused, kRefused},
    /* unrecorded */ {kRefused, kRecorded, kCaptured, kUnrecorded, kDestroyed},
    /* recorded   */ {kRefused, kRecorded, kCaptured, kUnrecorded, kDestroyed},
    /* captured   */ {kRefused, kRecorded, kCaptured, kUnrecorded, kDestroyed},
};
}  // namespace event_table

constexpr EventState Next(EventState state, EventCommand command) {
  return event_table::kTable[static_cast<int>(state)][static_cast<int>(command)];
}

}  // namespace belay::rt
