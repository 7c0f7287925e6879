// Ring 1: every state of a stream, an event and a capture with every command. The cases are generated
// from the transition tables: the real object is driven to the state, the command is applied, and the
// state that is seen must be the table's. Beside it stands what the documentation calls legal, written
// down a second time as a list of edges, so that an entry that is removed or changed is found.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

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
    {E::kDestroyed, EC::kCreate, E::kUnrecorded},
    {E::kUnrecorded, EC::kRecord, E::kRecorded},
    {E::kUnrecorded, EC::kRecordInCapture, E::kCaptured},
    {E::kUnrecorded, EC::kReset, E::kUnrecorded},
    {E::kUnrecorded, EC::kDestroy, E::kDestroyed},
    {E::kRecorded, EC::kRecord, E::kRecorded},
    {E::kRecorded, EC::kRecordInCapture, E::kCaptured},
    {E::kRecorded, EC::kReset, E::kUnrecorded},
    {E::kRecorded, EC::kDestroy, E::kDestroyed},
    {E::kCaptured, EC::kRecord, E::kRecorded},
    {E::kCaptured, EC::kRecordInCapture, E::kCaptured},
    {E::kCaptured, EC::kReset, E::kUnrecorded},
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

// Whether a table and a list of edges say the same.
template <class State, int kStates, class Command, int kCommands, size_t kEdges>
bool Agree(const State (&table)[kStates][kCommands], const Edge<State, Command> (&edges)[kEdges]) {
  for (int s = 0; s < kStates; ++s) {
    for (int c = 0; c < kCommands; ++c) {
      State wanted = State::kRefused;
      for (const auto& edge : edges) {
        if (static_cast<int>(edge.from) == s && static_cast<int>(edge.command) == c) wanted = edge.to;
      }
      if (table[s][c] != wanted) return false;
    }
  }
  return true;
}

// Every table that differs in one entry must be told from the right one. Returns how many there are.
template <class State, int kStates, class Command, int kCommands, size_t kEdges>
int CheckMutants(const State (&table)[kStates][kCommands], const Edge<State, Command> (&edges)[kEdges]) {
  EXPECT_TRUE(Agree(table, edges));
  int mutants = 0;
  for (int s = 0; s < kStates; ++s) {
    for (int c = 0; c < kCommands; ++c) {
      for (int other = 0; other <= kStates; ++other) {  // kStates stands for kRefused
        if (static_cast<State>(other) == table[s][c]) continue;
        State mutant[kStates][kCommands];
        std::memcpy(mutant, table, sizeof mutant);
        mutant[s][c] = static_cast<State>(other);
        EXPECT_FALSE(Agree(mutant, edges)) << "state " << s << ", command " << c << " -> " << other;
        ++mutants;
      }
    }
  }
  return mutants;
}

void Tell(const char* what, int cases, int mutants) {
  std::printf("[   ring 1 ] %s: %d cases, %d changed tables told apart\n", what, cases, mutants);
  testing::Test::RecordProperty("cases", cases);
}

// Streams that no table knows are closed in any state, with what they hold: not what leak checkers look for.
#if defined(__SANITIZE_ADDRESS__)
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
    if (state == C::kInvalidated) SpoilCaptureOf(*c.main, "this test");
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
          return SpoilCaptureOf(*c.main, "this test");
        case CC::kEnd:
          return ModelRI::Destroy(Capture::End(*c.main));
      }
    });
  }
};

TEST_F(StateTable, Stream) {
  int cases = 0;
  for (int s = 0; s < kStreamStates; ++s) {
    for (int c = 0; c < kStreamCommands; ++c, ++cases) {
      auto from = static_cast<S>(s);
      auto command = static_cast<SC>(c);
      auto stream = std::make_unique<Stream>();
      DriveStream(*stream, from);
      ASSERT_EQ(stream->state(), from);
      ApplyToStream(*stream, command);
      S wanted = Next(from, command) == S::kRefused ? from : Next(from, command);
      EXPECT_EQ(stream->state(), wanted) << kStreamStateNames[s] << ", command " << c;
      engine_.RunAll();
      FinishStream(*stream);
      engine_.Forget(*stream);
    }
  }
  Tell("stream", cases, CheckMutants(stream_table::kTable, kStreamEdges));
}

TEST_F(StateTable, Event) {
  int cases = 0;
  Stream& live = NewStream();
  for (int s = 0; s < kEventStates; ++s) {
    for (int c = 0; c < kEventCommands; ++c, ++cases) {
      Stream& captured = NewStream();
      Capture::Begin(captured, CaptureMode::kRelaxed);
      auto apply = [&](Event& event, EC command) {
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
      };
      auto event = std::make_unique<Event>();
      auto from = static_cast<E>(s);
      if (from != E::kDestroyed) apply(*event, EC::kCreate);
      if (from == E::kRecorded) apply(*event, EC::kRecord);
      if (from == E::kCaptured) apply(*event, EC::kRecordInCapture);
      ASSERT_EQ(event->state(), from);
      auto command = static_cast<EC>(c);
      apply(*event, command);
      E wanted = Next(from, command) == E::kRefused ? from : Next(from, command);
      EXPECT_EQ(event->state(), wanted) << "state " << s << ", command " << c;
      engine_.RunAll();  // queued records still know the event
      ModelRI::Destroy(Capture::End(captured));
    }
  }
  Tell("event", cases, CheckMutants(event_table::kTable, kEventEdges));
}

TEST_F(StateTable, Capture) {
  int cases = 0;
  for (int s = 0; s < kCaptureStates; ++s) {
    for (int c = 0; c < kCaptureCommands; ++c, ++cases) {
      auto from = static_cast<C>(s);
      auto command = static_cast<CC>(c);
      CaptureCase one = DriveCapture(from);
      ASSERT_EQ(Capture::InfoOf(*one.main).state, from);
      ApplyToCapture(one, command);
      C wanted = Next(from, command) == C::kRefused ? from : Next(from, command);
      EXPECT_EQ(Capture::InfoOf(*one.main).state, wanted) << "state " << s << ", command " << c;
      engine_.RunAll();
      for (Stream* stream : {one.other, one.main}) Context::DestroyStream(*stream, true);
      DestroyEvent(*one.inside);
    }
  }
  Tell("capture", cases, CheckMutants(capture_table::kTable, kCaptureEdges));
}

}  // namespace
}  // namespace belay::rt::rings
