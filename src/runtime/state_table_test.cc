// Ring 1: every state of a stream, an event and a capture with every command: the real object is driven to
// the state, the command is applied, and the state that is seen must be what the documentation calls legal,
// written down here a second time as a list of edges. Then each transition in turn is removed from the real
// table (in a forked child), and the ring must fail.
#include "base/sanitizer.h"

#ifdef BELAY_ASAN
#include <sanitizer/lsan_interface.h>
#endif

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "runtime/capture.h"
#include "runtime/event_state.h"
#include "runtime/ring_support.h"
#include "runtime/stream_state.h"

namespace belay::rt::rings {
namespace {

template <class State, class Command>
struct Edge {
  State from;
  Command command;
  State to;
};

using S = StreamState;
using SC = StreamCommand;
constexpr Edge<S, SC> kStreamEdges[] = {
    {S::kClosed, SC::kOpen, S::kIdle},       {S::kIdle, SC::kSubmit, S::kReady},
    {S::kIdle, SC::kClose, S::kClosed},      {S::kReady, SC::kSubmit, S::kReady},
    {S::kReady, SC::kTake, S::kRunning},     {S::kReady, SC::kClose, S::kClosed},
    {S::kRunning, SC::kSubmit, S::kRunning}, {S::kRunning, SC::kDrain, S::kIdle},
    {S::kRunning, SC::kPark, S::kParked},    {S::kRunning, SC::kYield, S::kReady},
    {S::kParked, SC::kSubmit, S::kParked},   {S::kParked, SC::kFulfil, S::kReady},
    {S::kParked, SC::kClose, S::kClosed},
};

using E = EventState;
using EC = EventCommand;
constexpr Edge<E, EC> kEventEdges[] = {
    {E::kDestroyed, EC::kCreate, E::kUnrecorded},         {E::kUnrecorded, EC::kRecord, E::kRecorded},
    {E::kUnrecorded, EC::kRecordInCapture, E::kCaptured}, {E::kUnrecorded, EC::kReset, E::kUnrecorded},
    {E::kUnrecorded, EC::kDestroy, E::kDestroyed},        {E::kRecorded, EC::kRecord, E::kRecorded},
    {E::kRecorded, EC::kRecordInCapture, E::kCaptured},   {E::kRecorded, EC::kReset, E::kUnrecorded},
    {E::kRecorded, EC::kDestroy, E::kDestroyed},          {E::kCaptured, EC::kRecord, E::kRecorded},
    {E::kCaptured, EC::kRecordInCapture, E::kCaptured},   {E::kCaptured, EC::kReset, E::kUnrecorded},
    {E::kCaptured, EC::kDestroy, E::kDestroyed},
};

using C = CaptureState;
using CC = CaptureCommand;
constexpr Edge<C, CC> kCaptureEdges[] = {
    {C::kNone, CC::kBegin, C::kActive},
    {C::kNone, CC::kSpoil, C::kNone},
    {C::kActive, CC::kAdd, C::kActive},
    {C::kActive, CC::kJoin, C::kActive},
    {C::kActive, CC::kSpoil, C::kInvalidated},
    {C::kActive, CC::kEnd, C::kNone},
    {C::kInvalidated, CC::kSpoil, C::kInvalidated},
    {C::kInvalidated, CC::kEnd, C::kNone},
};

// The state after a command, as the edges have it: without one the command changes nothing.
template <class State, class Command, size_t kEdges>
State Wanted(const Edge<State, Command> (&edges)[kEdges], State from, Command command) {
  for (const auto& edge : edges) {
    if (edge.from == from && edge.command == command) return edge.to;
  }
  return from;
}

// Whether a table and a list of edges say the same.
template <class State, int kStates, class Command, int kCommands, size_t kEdges>
bool Agree(const State (&table)[kStates][kCommands], const Edge<State, Command> (&edges)[kEdges]) {
  const auto* entries = &table;
  asm volatile("" : "+r"(entries));  // it may have been changed: read it
  size_t legal = 0;
  for (const auto& edge : edges) {
    if ((*entries)[static_cast<int>(edge.from)][static_cast<int>(edge.command)] != edge.to) return false;
  }
  for (const auto& row : *entries) {
    for (State to : row) legal += to != State::kRefused;
  }
  return legal == kEdges;
}

// A constant of this program becomes another one.
template <class T>
void Overwrite(const T& constant, T value) {
  auto page = reinterpret_cast<uintptr_t>(&constant) / 4096 * 4096;
  if (mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE) != 0) std::abort();
  const_cast<volatile T&>(constant) = value;
}

// Whether the check fails, crashes or never ends.
template <class Check>
bool FailsInChild(Check&& check) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    rlimit cpu{20, 20}, core{0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    try {
      _exit(check() ? 0 : 1);
    } catch (...) {
      _exit(2);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status != 0;
}

// The whole ring: `holds(from, command)` drives an object and compares. The cells are visited from `first`
// on, so that a child that is to find a removed transition looks there before anything else goes wrong.
template <class State, int kStates, class Command, int kCommands, class Cell>
int FailingCell(const State (&)[kStates][kCommands], Command, int first, Cell&& holds) {
  constexpr int kCells = kStates * kCommands;
  for (int i = 0; i < kCells; ++i) {
    int cell = (first + i) % kCells;
    if (!holds(static_cast<State>(cell / kCommands), static_cast<Command>(cell % kCommands))) return cell;
  }
  return -1;
}

template <class State, int kStates, class Command, int kCommands, size_t kEdges, class Cell>
void CheckRing(const char* what, const State (&table)[kStates][kCommands],
               const Edge<State, Command> (&edges)[kEdges], Cell&& holds) {
  EXPECT_TRUE(Agree(table, edges));
  int failing = FailingCell(table, Command{}, 0, holds);
  ASSERT_EQ(failing, -1) << what << ": state " << failing / kCommands << ", command " << failing % kCommands;
  for (const auto& edge : edges) {
    int s = static_cast<int>(edge.from), c = static_cast<int>(edge.command);
    EXPECT_TRUE(FailsInChild([&] {
      Overwrite(table[s][c], State::kRefused);
      // Where the state stays the same, only the table itself shows whether the command is legal.
      if (edge.from == edge.to) return Agree(table, edges);
      return FailingCell(table, Command{}, s * kCommands + c, holds) < 0;
    })) << what
        << ": state " << s << ", command " << c << " was removed and nothing failed";
  }
  EXPECT_FALSE(
      FailsInChild([&] { return Agree(table, edges) && FailingCell(table, Command{}, 0, holds) < 0; }));
  std::printf("[   ring 1 ] %s: %d cases, each of %zu transitions removed once\n", what, kStates * kCommands,
              kEdges);
  testing::Test::RecordProperty("cases", kStates * kCommands);
}

// Streams that no table knows are closed in any state, with what they hold: not what leak checkers look for.
#ifdef BELAY_ASAN
using NoLeaksWanted = __lsan::ScopedDisabler;
#else
struct NoLeaksWanted {};
#endif

class StateTable : public StepTest {
 protected:
  [[maybe_unused]] NoLeaksWanted no_leaks_wanted_;

  // --- streams
  void DriveStream(Stream& stream, S state) {
    if (state == S::kClosed) return;
    stream.Open(*context_, {}, 0);
    if (state == S::kIdle) return;
    stream.Submit(MakeTask(EmptyTask{}));
    if (state == S::kReady) return;
    EXPECT_TRUE(stream.TryTake());
    if (state == S::kRunning) return;
    EXPECT_NE(stream.Park({ParkReason::kCallback}), 0u);
  }
  void ApplyToStream(Stream& stream, SC command) {
    switch (command) {
      case SC::kOpen:
        return stream.Open(*context_, {}, 0);
      case SC::kSubmit:
        CodeOf([&] { stream.Submit(MakeTask(EmptyTask{})); });
        return;
      case SC::kTake:
        stream.TryTake();
        return;
      case SC::kDrain:
        stream.Run(UINT64_MAX);
        return;
      case SC::kPark:
        stream.Park({ParkReason::kCallback});
        return;
      case SC::kFulfil:
        return stream.Fulfil();
      case SC::kYield:
        stream.Run(0);
        return;
      case SC::kClose:
        return stream.Close();
    }
  }
  static void FinishStream(Stream& stream) {
    if (stream.TryTake() || stream.state() == S::kRunning) stream.Run(UINT64_MAX);
    if (stream.state() != S::kClosed) stream.Close();
  }

  // --- events
  static void ApplyToEvent(Event& event, EC command, Stream& live, Stream& captured) {
    switch (command) {
      case EC::kCreate:
        return event.Open(TheDevice(), EventKind::kPlain, 1, 0);
      case EC::kRecord:
        return event.Record(live);
      case EC::kRecordInCapture:
        return event.Record(captured);
      case EC::kReset:
        return event.Reset(live);
      case EC::kDestroy:
        return event.Close();
    }
  }

  // --- captures: `main` is the stream that is asked
  struct CaptureCase {
    Stream* main;
    Stream* other;
    Event* inside;  // recorded in the capture, while there is one
  };
  CaptureCase DriveCapture(C state) {
    CaptureCase c{&NewStream(), &NewStream(), &NewEvent()};
    Capture::Begin(*c.main, CaptureMode::kRelaxed);
    c.inside->Record(*c.main);
    if (state == C::kInvalidated) SpoilCaptureOf(*c.main, {"this test", ""});
    if (state == C::kNone) ModelRI::Destroy(Capture::End(*c.main));
    return c;
  }
  void ApplyToCapture(CaptureCase& c, CC command) {
    CodeOf([&] {
      switch (command) {
        case CC::kBegin:
          return Capture::Begin(*c.main, CaptureMode::kRelaxed);
        case CC::kAdd:
          c.main->Submit(MakeTask(EmptyTask{}));
          return;
        case CC::kJoin:
          return c.inside->MakeWait(*c.other, 0);
        case CC::kSpoil:
          return SpoilCaptureOf(*c.main, {"this test", ""});
        case CC::kEnd:
          return ModelRI::Destroy(Capture::End(*c.main));
      }
    });
  }
};

TEST_F(StateTable, Stream) {
  CheckRing("stream", stream_table::kTable, kStreamEdges, [&](S from, SC command) {
    auto stream = std::make_unique<Stream>();
    DriveStream(*stream, from);
    if (stream->state() != from) return false;
    ApplyToStream(*stream, command);
    if (stream->state() != Wanted(kStreamEdges, from, command)) return false;
    engine_.RunAll();
    FinishStream(*stream);
    engine_.Forget(*stream);
    return true;
  });
}

TEST_F(StateTable, Event) {
  Stream& live = NewStream();
  CheckRing("event", event_table::kTable, kEventEdges, [&](E from, EC command) {
    Stream& captured = NewStream();
    Capture::Begin(captured, CaptureMode::kRelaxed);
    auto event = std::make_unique<Event>();
    if (from != E::kDestroyed) ApplyToEvent(*event, EC::kCreate, live, captured);
    if (from == E::kRecorded) ApplyToEvent(*event, EC::kRecord, live, captured);
    if (from == E::kCaptured) ApplyToEvent(*event, EC::kRecordInCapture, live, captured);
    if (event->state() != from) return false;
    ApplyToEvent(*event, command, live, captured);
    if (event->state() != Wanted(kEventEdges, from, command)) return false;
    engine_.RunAll();  // queued records still know the event
    ModelRI::Destroy(Capture::End(captured));
    return true;
  });
}

TEST_F(StateTable, Capture) {
  CheckRing("capture", capture_table::kTable, kCaptureEdges, [&](C from, CC command) {
    CaptureCase one = DriveCapture(from);
    if (Capture::InfoOf(*one.main).state != from) return false;
    C wanted = Wanted(kCaptureEdges, from, command);
    // The stream that is asked leaves a capture that ends; the capture itself is used again.
    const rt::Capture* capture = one.main->capture();
    ApplyToCapture(one, command);
    if (Capture::InfoOf(*one.main).state != wanted) return false;
    if (capture != nullptr && capture->state() != wanted) return false;
    engine_.RunAll();
    for (Stream* stream : {one.other, one.main}) Context::DestroyStream(*stream, true);
    DestroyEvent(*one.inside);
    return true;
  });
}

}  // namespace
}  // namespace belay::rt::rings
