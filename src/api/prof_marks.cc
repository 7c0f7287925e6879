// A program's own marks: stamps, spans, steps. Observers are told of them.
#include "api/prof_marks.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/registry.h"
#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "runtime/context.h"
#include "runtime/observer.h"
#include "runtime/stream.h"

namespace belay::api {
namespace {

constexpr size_t kLongestMark = 127;

struct Stamp {
  std::string message;
};

struct Step {
  uint64_t number;
  bool marked[2] = {false, false};  // its start, its end
};

struct Marks {
  Registry<Stamp, RegistryKind::kStamp> stamps;
  Registry<Step, RegistryKind::kStepInfo> steps;
  std::mutex lock;  // of the rest, and of what stamps and steps hold
  std::map<uint32_t, Span> ranges;
  uint32_t last_range = 0;
  uint64_t last_step = 0;
};

Marks& TheMarks() { return PerProcess<Marks>::Get(); }

std::vector<Span>& SpansOfThread() {
  static thread_local std::vector<Span> spans;
  return spans;
}

std::shared_ptr<Stamp> NeedStamp(const void* stamp) {
  auto found = TheMarks().stamps.Find(BitsOf(stamp));
  if (found == nullptr)
    RefuseHandle("a stamp of aclprofCreateStamp", "stamp", BitsOf(stamp), codes::kRtInvalidHandle);
  return found;
}

std::shared_ptr<Step> NeedStep(const aclprofStepInfo* step) {
  auto found = TheMarks().steps.Find(BitsOf(step));
  if (found == nullptr)
    RefuseHandle("a step of aclprofCreateStepInfo", "stepInfo", BitsOf(step), codes::kRtInvalidHandle);
  return found;
}

std::string StampMessage(const void* stamp) {
  const std::shared_ptr<Stamp> found = NeedStamp(stamp);
  std::lock_guard guard(TheMarks().lock);
  return found->message;
}

}  // namespace

void TellMark(rt::MarkKind kind, uint32_t range, const Span& span) {
  const rt::Mark mark{kind, range, span.message, span.begun_ns, NowNs(), span.domain};
  rt::Observers::Tell([&](rt::Observer& o) { o.Marked(mark); });
}

// Nothing goes to the stream where nobody would see it.
void MarkStream(rt::Stream& stream, std::string message) {
  if (!rt::Observers::any()) return;
  stream.Submit(rt::MakeTask(MarkTask{std::make_unique<const std::string>(std::move(message))}, 0));
}

uint32_t BeginRange(Span span) {
  Marks& marks = TheMarks();
  std::lock_guard guard(marks.lock);
  const uint32_t range = ++marks.last_range;
  TellMark(rt::MarkKind::kRangeStart, range, span);
  marks.ranges.emplace(range, std::move(span));
  return range;
}

bool EndRange(uint32_t range) {
  Marks& marks = TheMarks();
  HandleBits stream = 0;
  std::string message;
  {
    std::lock_guard guard(marks.lock);
    const auto found = marks.ranges.find(range);
    if (found == marks.ranges.end()) return false;
    Span span = std::move(found->second);
    marks.ranges.erase(found);
    TellMark(rt::MarkKind::kRangeStop, range, span);
    stream = span.stream;
    message = std::move(span.message);
  }
  rt::Stream* began_on = stream == 0 ? nullptr : rt::Streams().Find(stream);
  if (began_on != nullptr) MarkStream(*began_on, message + " ends");
  return true;
}

void* aclprofCreateStamp() { return AsHandle<void*>(TheMarks().stamps.Add({})); }

void aclprofDestroyStamp(void* stamp) {
  NeedStamp(stamp);
  TheMarks().stamps.Remove(BitsOf(stamp));
}

void aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  const std::shared_ptr<Stamp> found = NeedStamp(stamp);
  std::string message(msg, strnlen(msg, msgLen));
  std::lock_guard guard(TheMarks().lock);
  found->message = std::move(message);
}

void aclprofMark(void* stamp) { TellMark(rt::MarkKind::kMoment, 0, {StampMessage(stamp), NowNs()}); }

void aclprofMarkEx(const char* msg, size_t msgLen, rt::Stream& stream) {
  if (msgLen == 0 || msgLen > kLongestMark) {
    Fail(codes::kInvalidParam, "prof-length", "msgLen = {}; a mark has 1 to {} bytes", msgLen, kLongestMark);
  }
  std::string message(msg, strnlen(msg, msgLen));
  TellMark(rt::MarkKind::kMoment, 0, {message, NowNs()});
  MarkStream(stream, std::move(message));
}

void aclprofPush(void* stamp) {
  std::vector<Span>& spans = SpansOfThread();
  spans.push_back({StampMessage(stamp), NowNs()});
  TellMark(rt::MarkKind::kPush, 0, spans.back());
}

void aclprofPop() {
  std::vector<Span>& spans = SpansOfThread();
  if (spans.empty()) {
    Fail(codes::kInvalidParam, "prof-no-span",
         "this thread is in no span; each aclprofPop ends one aclprofPush of the same thread");
  }
  const Span span = std::move(spans.back());
  spans.pop_back();
  TellMark(rt::MarkKind::kPop, 0, span);
}

void aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  *rangeId = BeginRange({StampMessage(stamp), NowNs()});
}

void aclprofRangeStop(uint32_t rangeId) {
  if (!EndRange(rangeId)) {
    Fail(codes::kInvalidParam, "prof-no-span",
         "there is no span {}: aclprofRangeStart has not given the number, or it was ended", rangeId);
  }
}

aclprofStepInfo* aclprofCreateStepInfo() {
  Marks& marks = TheMarks();
  uint64_t number;
  {
    std::lock_guard guard(marks.lock);
    number = ++marks.last_step;
  }
  return AsHandle<aclprofStepInfo*>(marks.steps.Add({number}));
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  NeedStep(stepinfo);
  TheMarks().steps.Remove(BitsOf(stepinfo));
}

void aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, rt::Stream& stream) {
  const std::shared_ptr<Step> step = NeedStep(stepInfo);
  if (tag != ACL_STEP_START && tag != ACL_STEP_END) {
    Fail(codes::kInvalidParam, "prof-step", "tag = {}; take ACL_STEP_START or ACL_STEP_END",
         static_cast<int>(tag));
  }
  {
    std::lock_guard guard(TheMarks().lock);
    if (std::exchange(step->marked[tag], true)) {
      Fail(codes::kInvalidParam, "prof-step",
           "step {} has its {} already; each is marked once, make a new one with aclprofCreateStepInfo",
           step->number, tag == ACL_STEP_START ? "start" : "end");
    }
  }
  MarkStream(stream, fmt::format("step {} {}", step->number, tag == ACL_STEP_START ? "starts" : "ends"));
}

}  // namespace belay::api
