// Capture: turning what is submitted to streams between Begin and End into a graph.
//
// A capture has one main stream; another stream joins when it waits for an event that was recorded in
// the capture. Tasks, records and waits become nodes; a node depends on the one before it on its stream,
// and a wait also on the record. At the end every node must lead back to the main stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/event.h"
#include "runtime/stream.h"

namespace belay::rt {

class ModelRI;
class TaskGroup;

enum class CaptureMode : uint8_t { kGlobal, kThreadLocal, kRelaxed };

// The states of a capture and the only table that changes them.
enum class CaptureState : uint8_t { kNone, kActive, kInvalidated, kRefused };
enum class CaptureCommand : uint8_t { kBegin, kAdd, kJoin, kSpoil, kEnd };
inline constexpr int kCaptureStates = 3;
inline constexpr int kCaptureCommands = 5;

namespace capture_table {
using enum CaptureState;
// Rows: states in order. Columns: Begin Add Join Spoil End.
inline constexpr CaptureState kTable[kCaptureStates][kCaptureCommands] = {
    /* none        */ {kActive, kRefused, kRefused, kNone, kRefused},
    /* active      */ {kRefused, kActive, kActive, kInvalidated, kNone},
    /* invalidated */ {kRefused, kRefused, kRefused, kInvalidated, kNone},
};
}  // namespace capture_table

constexpr CaptureState Next(CaptureState state, CaptureCommand command) {
  return capture_table::kTable[static_cast<int>(state)][static_cast<int>(command)];
}

// One task, record or wait of a capture.
struct CaptureNode {
  enum class Kind : uint8_t { kTask, kRecord, kWait };
  Kind kind;
  Task task;                    // kTask
  uint32_t stream_id;           // as GetId reports it
  uint32_t call;                // the API function that submitted it
  uint32_t event_id = 0;        // kRecord, kWait
  std::vector<uint32_t> after;  // earlier nodes that this one needs
  TaskGroup* group = nullptr;   // that the task is part of

  const char* name() const;
};

// What a capture does not allow, and what to do instead.
struct Mistake {
  const char* what;
  const char* mend;
};

class Capture {
 public:
  CaptureState state() const { return state_.load(std::memory_order_acquire); }

  // Starts on `main`. Throws when it is a default stream or is being captured already.
  static void Begin(Stream& main, CaptureMode mode);
  // Ends the capture whose main stream this is; the model holds its graph. Throws when the capture was
  // invalidated or is not closed; the streams are free in any case, unless the call itself was wrong
  // (not the main stream, not the thread that began).
  static ModelRI& End(Stream& main);

  // From Stream::Submit: takes the task. False when the stream is not part of this capture any more.
  bool Add(Stream& stream, Task&& task);
  // From Event::Record: the node that a wait on the event will depend on. False as for Add.
  bool Record(Stream& stream, Event& event, CapturePoint* point);
  // From JoinCapture: `stream` waits for the point; it joins if it is not captured yet.
  void Wait(Stream& stream, const CapturePoint& point);
  // The operators that the stream is given in between form a group. Throw when the stream is not being
  // captured, has a group open, or has none.
  static void BeginGroup(Stream& stream);
  static TaskGroup& EndGroup(Stream& stream);
  // A call that the capture does not allow: the capture can only fail from now on.
  void Spoil(uint64_t id, const Mistake& mistake);
  void SpoilFor(Stream& stream, const Mistake& mistake);
  void Leave(Stream& stream);

  // What the capture that the stream is part of is up to.
  struct Info {
    CaptureState state = CaptureState::kNone;
    ModelRI* model = nullptr;
  };
  static Info InfoOf(Stream& stream);

 private:
  static ModelRI& NewModel(Stream& main);
  void Start(Stream& main, CaptureMode mode, ModelRI& model) noexcept;
  friend class CaptureRegistry;
  CaptureState Apply(CaptureCommand command);
  void SpoilLocked(uint32_t stream_id, const Mistake& mistake) noexcept;
  static constexpr uint32_t kNoNode = ~0u;
  struct Member {
    Stream* stream;
    uint32_t last;               // its latest node, kNoNode when it has none
    TaskGroup* group = nullptr;  // that is open on it
  };
  Member* MemberOf(Stream& stream);
  static Capture& OfMember(Stream& stream, std::unique_lock<std::mutex>* guard);
  static void RefuseInGroup(const Member& member, const char* what);
  static void CheckGroups(const std::vector<Member>& members);
  uint32_t AddNode(uint32_t* last, CaptureNode&& node);
  static void Drop(const std::vector<CaptureNode>& nodes, const std::vector<TaskGroup*>& groups);
  void RefuseIfSpoiled();
  void ReleaseStreams();
  void CheckMayJoin(Stream& stream);
  void CheckEnd(Stream& main);
  static void CheckClosed(const std::vector<CaptureNode>& nodes, const std::vector<Member>& members,
                          Stream& main);

  std::mutex lock_;
  std::atomic<CaptureState> state_{CaptureState::kNone};
  CaptureMode mode_ = CaptureMode::kGlobal;
  uint64_t id_ = 0;
  uint64_t thread_ = 0;
  bool thread_gone_ = false;
  Stream* main_ = nullptr;
  ModelRI* model_ = nullptr;
  std::vector<Member> members_;
  std::vector<CaptureNode> nodes_;
  std::vector<TaskGroup*> groups_;
  std::string spoiled_by_;  // empty: there was no memory to say it
  const char* mend_ = "";
  Capture* next_free_ = nullptr;
};

// Whether this thread may make a call that is unsafe during captures (aclrtMemcpy, aclrtMemset, an
// asynchronous copy with pageable memory, ...). Throws 107030 and spoils the capture if not.
void CheckCaptureAllows(const char* call);
// Query or synchronise of a stream, or of a whole device, in any mode. Throw 107027.
void CheckNotCaptured(Stream& stream, const char* call);
void CheckNoCaptureOn(int device, const char* call);

// A wait on a point of a capture. False when that capture is over.
bool JoinCapture(Stream& stream, const CapturePoint& point);
void SpoilCapture(uint64_t capture_id, const Mistake& mistake);
void SpoilCaptureOf(Stream& stream, const Mistake& mistake);  // if it is part of one
// The stream dies: its capture, if any, is invalidated.
void LeaveCapture(Stream& stream);

// aclmdlRICaptureThreadExchangeMode.
CaptureMode ExchangeThreadMode(CaptureMode mode);

// Names API functions in messages; the api room installs it.
using CallNamer = const char* (*)(uint32_t call);
void SetCallNamer(CallNamer namer);
const char* CallName(uint32_t call);

}  // namespace belay::rt
