// A Task: one unit of work for a stream. 64 bytes, moved by copying its bytes, so a stream's queue is
// an array of tasks and submitting allocates nothing.
//
// A task body is a small struct (at most kTaskPayload bytes, safe to move by copying its bytes):
//
//   struct CopyTask {
//     static constexpr const char* kName = "memcpy";
//     void* dst; const void* src; size_t bytes;
//     void Run() const;                          // throws Error to fail; runs again on each replay
//     void Ranges(RangeVisitor& visit) const;    // what it reads and writes, or waits for
//   };
//   stream.Submit(MakeTask(CopyTask{...}, bytes));
//
// One that touches no memory of the program and waits for nothing says so instead of having Ranges:
//
//     static constexpr bool kTouchesNothing = true;
//
// A body that may have to wait has `bool Proceed(Stream&) const` instead of Run: true when done, false
// when it has parked the stream (it is asked again when the stream is made ready).
//
// It may also have `bool Passed() const`, true when there is nothing left to wait for: then Proceed need not
// be called.
//
// A captured task stays in its graph and Run is called once per replay; its destructor runs when the
// graph is destroyed. A live task runs once and is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "tensor/dtype.h"

namespace belay::rt {

inline constexpr size_t kTaskPayload = 48;

class Stream;

// Told what a task touches, in the program's addresses, and what it waits for.
class RangeVisitor {
 public:
  virtual ~RangeVisitor() = default;
  // What is told from here on is an argument's of an operator: its name, and what its elements are. Null: no
  // argument's, as a workspace.
  virtual void Argument(const char* /*name*/, tensor::DType /*type*/) {}
  virtual void Reads(const void* begin, size_t bytes) = 0;
  virtual void Writes(void* begin, size_t bytes) = 0;
  // Some of these bytes; which ones only the data tells, or it would take too long to say.
  virtual void ReadsWithin(const void* begin, size_t bytes) { Reads(begin, bytes); }
  virtual void WritesWithin(void* begin, size_t bytes) { Writes(begin, bytes); }
  // Some of these bytes, one of them at least.
  virtual void ReadsSome(const void* begin, size_t bytes) { ReadsWithin(begin, bytes); }
  virtual void WritesSome(void* begin, size_t bytes) { WritesWithin(begin, bytes); }
  // It asks for them ahead of time, by a hint: what they hold does not matter, and nothing has to come
  // before.
  virtual void Hints(const void* begin, size_t bytes) { Reads(begin, bytes); }
  // The operators that a task group stands for: a launch takes them, an update replaces them.
  virtual void TakesGroup(uint64_t /*handle*/) {}
  virtual void ReplacesGroup(uint64_t /*handle*/) {}
  // The model that it runs: the handle of a captured one, the number of a loaded one, of which no two
  // executions may be under way.
  virtual void RunsModel(uint64_t /*model*/) {}
  // The communicator whose operation it is, by its handle.
  virtual void UsesCommunicator(uint64_t /*communicator*/) {}
  // It runs when that stream has got there.
  virtual void WaitsFor(const Stream& /*source*/, uint64_t /*position*/) {}
  // What is told from here to the next part is over as soon as the word holds this number, or more: it comes
  // before a record within the launch. Null: the rest.
  virtual void PartUntil(const uint64_t* /*word*/, uint64_t /*least*/) {}
  // It waits for a word to hold this number, or more.
  virtual void WaitsForNumber(const uint64_t* /*word*/, uint64_t /*least*/) { WaitsForUnknown(); }
  // It waits for what has no position yet: a value in memory, a record to come.
  virtual void WaitsForUnknown() {}
  // It waits for a word that one task sets for each wait (a notify), of this process.
  virtual void WaitsForFlag(const void* word) {
    Reads(word, 8);
    WaitsForUnknown();
  }
  virtual void SetsFlag(const void* word) { Signals(word); }
  // It writes a word that others may wait for.
  virtual void Signals(const void* /*word*/) {}
  // It touches what nobody knows before it runs.
  virtual void TouchesUnknown() {}
  // So does a function of the program that it has called, and does not wait for.
  virtual void CallsAndGoesOn() { TouchesUnknown(); }
};

// The API function that the calling thread is in (its place in the table of functions; 0: none).
inline constinit thread_local uint32_t t_current_call = 0;

// What the engine must know of a kind of task beyond how to run it.
enum class TaskClass : uint8_t {
  kCompute,   // runs to its end on the worker that has it
  kRecord,    // event record: fulfils waits on this position of the stream
  kWait,      // event wait: may park the stream
  kReset,     // event reset
  kHostCall,  // user code: runs on the callback pool, parks the stream meanwhile
  kLaunch,    // replay of a TaskGraph
  kPoll,      // waits for a value in memory
  kProgress,  // gets on piece by piece (progress.h)
};

// What a program is told that a task of a model is, and which tasks it may replace there.
enum class TaskKind : uint8_t { kOther, kOperator, kEventRecord, kValueWrite, kValueWait, kMark };

struct TaskType {
  const char* name;
  TaskClass task_class;
  void (*run)(const void* payload);                          // null: see proceed
  bool (*proceed)(const void* payload, Stream& stream);      // null: see run
  bool (*passed)(const void* payload);                       // null: not known before it proceeds
  void (*destroy)(void* payload) noexcept;                   // null: trivial
  void (*ranges)(const void* payload, RangeVisitor& visit);  // null: it touches nothing
  void (*describe)(const void* payload, std::string& out);   // null: the name says it all
  const char* (*function)(const void* payload);  // the same where it is a text that stays, else null
  TaskKind kind;
};

// Roughly how long a task takes; decides whether a sleeping worker is woken for it.
using TaskCost = uint32_t;  // nanoseconds, saturating
inline constexpr TaskCost kUnknownCost = 1000;

struct alignas(64) Task {
  const TaskType* type = nullptr;
  TaskCost cost = 0;
  uint32_t call = 0;  // the id of the API function that submitted it (spec order); 0: none
  alignas(8) std::byte payload[kTaskPayload];

  template <class Body>
  const Body& body() const {
    return *std::launder(reinterpret_cast<const Body*>(payload));
  }
  template <class Body>
  Body& body() {
    return *std::launder(reinterpret_cast<Body*>(payload));
  }
  void Destroy() noexcept {
    if (type->destroy != nullptr) type->destroy(payload);
  }
};
static_assert(sizeof(Task) == 64);

namespace detail {
template <class Body>
concept HasRanges = requires(const Body& b, RangeVisitor& v) {
  b.Ranges(v);
};
template <class Body>
concept TouchesNothing = Body::kTouchesNothing;
template <class Body>
concept HasDescribe = requires(const Body& b, std::string& s) {
  b.Describe(s);
};
template <class Body>
concept HasFunction = requires(const Body& b) {
  b.Function();
};
template <class Body>
concept HasClass = requires {
  Body::kClass;
};

template <class Body>
constexpr TaskClass ClassOf() {
  if constexpr (HasClass<Body>) {
    return Body::kClass;
  } else {
    return TaskClass::kCompute;
  }
}
template <class Body>
concept HasKind = requires {
  Body::kKind;
};
template <class Body>
constexpr TaskKind KindOfBody() {
  if constexpr (HasKind<Body>) {
    return Body::kKind;
  } else {
    return TaskKind::kOther;
  }
}
template <class Body>
concept HasProceed = requires(const Body& b, Stream& s) {
  b.Proceed(s);
};
template <class Body>
concept HasPassed = requires(const Body& b) {
  b.Passed();
};

template <class Body>
void RunBody(const void* p) {
  if constexpr (!HasProceed<Body>) static_cast<const Body*>(p)->Run();
}
template <class Body>
bool ProceedBody(const void* p, Stream& stream) {
  if constexpr (HasProceed<Body>) return static_cast<const Body*>(p)->Proceed(stream);
  return true;
}
template <class Body>
bool PassedBody(const void* p) {
  if constexpr (HasPassed<Body>) return static_cast<const Body*>(p)->Passed();
  return false;
}
template <class Body>
void DestroyBody(void* p) noexcept {
  static_cast<Body*>(p)->~Body();
}
template <class Body>
void RangesOfBody(const void* p, RangeVisitor& v) {
  if constexpr (HasRanges<Body>) static_cast<const Body*>(p)->Ranges(v);
}
template <class Body>
void DescribeBody(const void* p, std::string& s) {
  if constexpr (HasDescribe<Body>) static_cast<const Body*>(p)->Describe(s);
  if constexpr (HasFunction<Body>) s = static_cast<const Body*>(p)->Function();
}
template <class Body>
const char* FunctionOfBody(const void* p) {
  if constexpr (HasFunction<Body>) return static_cast<const Body*>(p)->Function();
  return nullptr;
}

template <class Body>
inline constexpr TaskType kTypeOf{
    Body::kName,
    ClassOf<Body>(),
    HasProceed<Body> ? nullptr : &RunBody<Body>,
    HasProceed<Body> ? &ProceedBody<Body> : nullptr,
    HasPassed<Body> ? &PassedBody<Body> : nullptr,
    std::is_trivially_destructible_v<Body> ? nullptr : &DestroyBody<Body>,
    HasRanges<Body> ? &RangesOfBody<Body> : nullptr,
    HasDescribe<Body> || HasFunction<Body> ? &DescribeBody<Body> : nullptr,
    HasFunction<Body> ? &FunctionOfBody<Body> : nullptr,
    KindOfBody<Body>(),
};
}  // namespace detail

template <class Body>
Task MakeTask(Body body, TaskCost cost = kUnknownCost) {
  static_assert(sizeof(Body) <= kTaskPayload, "keep large state behind a pointer that the body owns");
  static_assert(alignof(Body) <= 8);
  static_assert(detail::HasRanges<Body> != detail::TouchesNothing<Body>,
                "say what it touches, or that it touches nothing");
  Task task;
  task.type = &detail::kTypeOf<Body>;
  task.cost = cost;
  task.call = t_current_call;
  new (task.payload) Body(std::move(body));
  return task;
}

}  // namespace belay::rt
