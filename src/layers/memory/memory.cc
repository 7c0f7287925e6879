#include "layers/memory/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "layers/support/report_file.h"

namespace belay::misuse {
namespace {

constexpr layers::KindId kUseAfterFree = "use-after-free";
constexpr layers::KindId kInvalidAddress = "invalid-address";
constexpr layers::KindId kWrongContext = "wrong-context";
constexpr std::string_view kMendUse =
    "free memory after its last use, when the work on it is known to be over";
constexpr layers::KindId kSpoiledCapture = "spoiled-capture";
constexpr std::string_view kMendJoin =
    "record an event on that stream after its last task, and let the main stream wait for it";

constexpr layers::KindId kBadFree = "bad-free";
constexpr std::string_view kNotMapped = "memory-not-mapped";
constexpr std::string_view kNoContext = "no-context";

// Refusals of what was destroyed, or never was there.
constexpr std::string_view kOfObjects[] = {"handle", "stream-handle", "object-stale", "executor-spent",
                                           "model-id"};

// What a refusal means, by its section in docs/messages.md.
struct Rule {
  std::string_view id;
  layers::KindId kind;
  std::string_view mend;
};
constexpr Rule kRules[] = {
    {"memory-not-allocated", kUseAfterFree, kMendUse},
    {"op-address-freed", kUseAfterFree, kMendUse},
    {"model-memory-freed", kUseAfterFree,
     "free the memory of a model after aclmdlRIDestroy, or capture it again"},
    {"group-memory-freed", kUseAfterFree,
     "free it when the group was updated and no replay is under way, or destroy the model before"},
    {"memory-beyond-block", "beyond-end",
     "ask for as many bytes as are used, or use as many as were asked for"},
    {"op-address-short", "beyond-end",
     "ask for as many bytes as the tensor's shape, strides and offset reach"},
    {"memory-not-an-address", kInvalidAddress, "give an address that an allocation has returned"},
    {"memory-not-of-device", "host-memory-on-device", "copy to memory from aclrtMalloc first"},
    {"op-address-host", "host-memory-on-device", "copy to memory from aclrtMalloc first"},
    {"free-twice", "double-free", "free a block once"},
    {kNotMapped, "double-free", "unmap a range once"},
    {"free-foreign", kBadFree, "free only what an allocation has returned"},
    {"free-interior", kBadFree, "free the pointer that the allocation has returned"},
    {"free-wrong-kind", kBadFree, "free with the partner of the function that allocated"},
    {"op-workspace-short", "short-workspace", "give the second stage the workspace that the first asked for"},
    {"stream-other-context", kWrongContext,
     "make the context current that the stream was created in (aclrtSetCurrentContext, aclrtSetDevice)"},
    {kNoContext, kWrongContext,
     "set a device, or make a context current, in each thread (aclrtSetDevice, aclrtSetCurrentContext)"},
    {"model-device", kWrongContext, "launch the model on a stream of the device that it was captured on"},
    {"capture-unsafe-call", kSpoiledCapture,
     "make the call before or after the capture, or in relaxed mode (aclmdlRICaptureThreadExchangeMode)"},
    {"capture-stream-query", kSpoiledCapture, "wait after aclmdlRICaptureEnd and a launch"},
    {"capture-device-sync", kSpoiledCapture, "wait before the capture begins or after it has ended"},
    {"event-captured-query", kSpoiledCapture, "ask for an event that is recorded outside of the capture"},
    {"capture-outside-event", kSpoiledCapture,
     "record the event in the capture, or let the stream wait before the capture begins"},
    {"capture-join", kSpoiledCapture, "use a stream of the same context that is in no other capture"},
    {"capture-execute", kSpoiledCapture, "launch the model on a stream that is not being captured"},
    {"capture-not-joined", kSpoiledCapture, kMendJoin},
    {"capture-task-after-return", kSpoiledCapture, kMendJoin},
    {"wait-in-callback", "wait-in-callback",
     "wait in a thread of the program, or let a later task do the work"},
};

// The same of calls that succeed.
constexpr Rule kRemarks[] = {
    {"results-overlap", "results-overlap", "give each result memory of its own, of as many bytes as it has"},
    {"spoiled-capture", kSpoiledCapture, "destroy the stream after aclmdlRICaptureEnd"},
    {"wait-before-record", "wait-before-record",
     "record the event before, or leave the wait out where there is nothing yet to wait for"},
};

template <size_t kCount>
const Rule* RuleOf(const Rule (&rules)[kCount], std::string_view id) {
  const auto* rule = std::ranges::find(rules, id, &Rule::id);
  return rule == std::end(rules) ? nullptr : rule;
}

template <size_t kCount>
bool Holds(const std::string_view (&ids)[kCount], std::string_view id) {
  return std::ranges::find(ids, id) != std::end(ids);
}

std::string_view MendOf(const rt::Refusal& refusal) {
  return refusal.id == std::string_view("executor-spent")
             ? "run the first stage for each execution, or make the executor repeatable and destroy it after the last"
             : "destroy an object after its last use";
}

bool TellsLeaks() {
  static const bool wanted = std::getenv(layers::kLeaksVariable) != nullptr;
  return wanted;
}

// Libraries ask where they are, and what comes after main asks for nothing.
bool IsQuestion(std::string_view call, const layers::Stack& stack) {
  const bool of_exit = getpid() == gettid() && !layers::IsInMain(stack);
  return of_exit || call.starts_with("aclrtGet");
}

// What stays the same when the place of an object is used again.
uint64_t WithoutGeneration(uint64_t handle) { return handle & ~(uint64_t{0xffffff} << 32); }

}  // namespace

// --- what there is

void Memory::Allocated(const rt::Block& block) {
  if (block.kind == rt::BlockKind::kRegistered) return;  // the program's own, before and after
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  blocks_.Begin(block, stack);
}

void Memory::Freed(const rt::Block& block, rt::FreedBy why) {
  if (block.kind == rt::BlockKind::kRegistered) return;
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  const Life* life = blocks_.Find(block.base);
  if (why == rt::FreedBy::kEndOfDevice && life != nullptr && life->live) Leave(*life);
  blocks_.End(block, stack);
  pools_.Forget(block.base, block.bytes);
}

void Memory::Created(uint64_t handle) {
  if (!TellsLeaks()) return;
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  objects_[handle] = {core_.current_call(), stack};
}

void Memory::Destroyed(uint64_t handle) {
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  objects_.erase(handle);
  destroyed_[WithoutGeneration(handle)] = {handle, stack};
}

void Memory::Leave(const Life& life) {
  if (!TellsLeaks() || !std::string_view(core_.call_name(life.block.call)).starts_with("aclrtMalloc")) return;
  Left& left = left_.try_emplace(life.allocated, Left{life.block.call}).first->second;
  ++left.blocks;
  left.bytes += life.block.bytes;
}

// What is left is a mistake only of a program that ends the device itself: at exit everything goes.
void Memory::EndedDevice(int device) {
  decltype(left_) left;
  {
    std::lock_guard guard(lock_);
    left.swap(left_);
  }
  if (left.empty()) return;
  const layers::Stack here = layers::ThisStack();
  if (!layers::IsInMain(here)) return;
  for (const auto& [stack, what] : left) {
    const std::string call = core_.call_name(what.call);
    layers::Tell({"leak",
                  std::to_string(what.bytes) + " bytes in " + std::to_string(what.blocks) +
                      (what.blocks == 1 ? " block" : " blocks") + " were not freed when device " +
                      std::to_string(device) + " ended",
                  {{"allocated by " + call, stack}, {"ended", here}},
                  "free them before the device is reset"});
  }
}

// By the place that made them. As with blocks, not what is left when the process exits.
void Memory::Finalizing() {
  decltype(objects_) objects;
  {
    std::lock_guard guard(lock_);
    objects.swap(objects_);
  }
  const layers::Stack here = layers::ThisStack();
  if (objects.empty() || !layers::IsInMain(here)) return;
  std::unordered_map<layers::Stack, Left, layers::StackHash> left;
  for (const auto& [handle, object] : objects) {
    ++left.try_emplace(object.created, Left{object.call}).first->second.blocks;
  }
  for (const auto& [stack, what] : left) {
    const std::string call = core_.call_name(what.call);
    layers::Tell(
        {"never-destroyed",
         std::to_string(what.blocks) + " of " + call + (what.blocks == 1 ? " was" : " were") +
             " not destroyed when the program ended",
         {{"made by " + call, stack}, {"ended", here}},
         "destroy each with the partner of the function that made it (aclmdlDestroyDataset, "
         "aclDestroyDataBuffer, aclmdlDestroyDesc, aclDestroyTensorDesc, aclmdlUnload, aclrtFreePhysical)"});
  }
}

// The block that holds the address, or the one that ends just before it.
std::optional<Life> Memory::LifeAt(const void* p) {
  const Life* life = blocks_.Find(reinterpret_cast<uintptr_t>(p));
  if (life == nullptr) life = blocks_.Find(core_.lookup(p, 1).base);
  return life == nullptr ? std::nullopt : std::optional(*life);
}

// --- what is done with it

void Memory::Tell(layers::KindId kind, std::string message, const std::string& use,
                  const std::optional<Life>& life, std::string_view mend) {
  layers::Report report{kind, std::move(message), {{use, layers::ThisStack()}}, std::string(mend)};
  if (life) {
    if (!life->live) {
      report.places.push_back({std::string("freed by ") + core_.call_name(life->freed_by), life->freed});
    }
    report.places.push_back(
        {std::string("allocated by ") + core_.call_name(life->block.call), life->allocated});
  }
  layers::Tell(report);
}

// A number that never was a handle is none of ours: the code says enough. Of what an operator takes nobody
// has said that it was destroyed; but the core names it only where it was one of that kind.
void Memory::UsedAfterDestroy(const rt::Refusal& refusal) {
  constexpr std::string_view kByTheirKind[] = {"handle", "object-stale", "executor-spent"};
  const auto handle = reinterpret_cast<uint64_t>(refusal.about);
  if (handle == 0) return;
  layers::Report report{"use-after-destroy", core_.call_name(refusal.call), {}, std::string(MendOf(refusal))};
  report.places.push_back({"in " + report.message, layers::ThisStack()});
  report.message += ": " + std::string(refusal.sentence);
  {
    std::lock_guard guard(lock_);
    auto found = destroyed_.find(WithoutGeneration(handle));
    const bool known = found != destroyed_.end() && found->second.handle == handle;
    if (!known && !Holds(kByTheirKind, refusal.id)) return;
    if (known) report.places.push_back({"destroyed", found->second.stack});
  }
  layers::Tell(report);
}

void Memory::Refused(const rt::Refusal& refusal) {
  if (Holds(kOfObjects, refusal.id)) return UsedAfterDestroy(refusal);
  const Rule* rule = RuleOf(kRules, refusal.id);
  if (rule == nullptr) return;
  if (refusal.id == kNoContext && IsQuestion(core_.call_name(refusal.call), layers::ThisStack())) return;
  std::optional<Life> life;
  if (refusal.about != nullptr) {
    std::lock_guard guard(lock_);
    life = LifeAt(refusal.about);
  }
  layers::KindId kind = rule->kind;
  if (kind.id == kUseAfterFree.id && (!life || life->live)) kind = kInvalidAddress;
  if (refusal.id == kNotMapped && (!life || life->live)) kind = kBadFree;
  const std::string call = core_.call_name(refusal.call);
  Tell(kind, call + ": " + std::string(refusal.sentence), "in " + call, life, rule->mend);
}

void Memory::Remarked(const rt::Remark& remark) {
  const Rule* rule = RuleOf(kRemarks, remark.id);
  if (rule == nullptr) return;
  const std::string call = core_.call_name(remark.call);
  Tell(rule->kind, call + ": " + std::string(remark.sentence), "in " + call, std::nullopt, rule->mend);
}

}  // namespace belay::misuse
