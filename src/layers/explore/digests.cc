#include "layers/explore/digests.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/quiet_write.h"
#include "layers/support/digest.h"
#include "layers/support/stack.h"
#include "runtime/stream.h"

namespace belay::explore {
namespace {

// What of a task brings bytes from a device to the host.
struct ToHost final : rt::RangeVisitor {
  explicit ToHost(const rt::CoreFacts& c) : core(c) {}
  bool OnDevice(const void* begin) const { return core.lookup(begin, 1).kind == rt::MemoryKind::kDevice; }

  void Reads(const void* begin, size_t bytes) override {
    if (bytes != 0 && OnDevice(begin)) from.push_back({begin, bytes});
  }
  void Writes(void* begin, size_t bytes) override {
    if (bytes != 0 && !OnDevice(begin)) to.push_back({begin, bytes});
  }
  bool any() const { return !from.empty() && !to.empty(); }

  const rt::CoreFacts& core;
  std::vector<Bytes> from;
  std::vector<Bytes> to;
};

ToHost ToHostOf(const rt::CoreFacts& core, const rt::Task& task) {
  ToHost visit(core);
  if (task.type->ranges != nullptr) task.type->ranges(task.payload, visit);
  return visit;
}

}  // namespace

uint64_t Digest(const std::vector<Bytes>& pieces) {
  layers::Digest digest;
  for (const Bytes& piece : pieces) digest.Add(piece.begin, piece.bytes);
  return digest.value() | 1;  // 0 says that there is none
}

// Under lock_.
uint64_t Digests::NumberOf(const rt::Task& task) {
  const uint64_t number = ++log_.copies;
  if (number != tell_) return number;
  std::string text = "belay explore: copy " + std::to_string(number) + " to the host, by " +
                     core_.call_name(task.call) + "\n";
  for (const layers::Frame& frame : layers::FramesOf(layers::ThisStack()))
    text += "            " + frame.Words() + "\n";
  WriteAllQuietly(STDERR_FILENO, text.data(), text.size());
  return number;
}

void Digests::Keep(uint64_t number, uint64_t digest) {
  if (number <= Log::kMost) log_.digests[number - 1] = digest;
}

void Digests::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  ToHost copy = ToHostOf(core_, task);
  std::lock_guard guard(lock_);
  ++log_.tasks;
  if (copy.any()) pending_[&stream][position] = {NumberOf(task), std::move(copy.to)};
}

void Digests::HostLearned(const rt::Stream& stream, uint64_t position) {
  std::lock_guard guard(lock_);
  auto of = pending_.find(&stream);
  if (of == pending_.end()) return;
  const auto end = of->second.upper_bound(position);
  for (auto copy = of->second.begin(); copy != end; ++copy) {
    Keep(copy->second.number, Digest(copy->second.to));
  }
  of->second.erase(of->second.begin(), end);
}

void Digests::HostDoes(const rt::Task& task) {
  const ToHost copy = ToHostOf(core_, task);
  if (!copy.any()) return;
  std::lock_guard guard(lock_);
  Keep(NumberOf(task), Digest(copy.from));
}

// One task runs at a time.
void Digests::Next(uint64_t what) { log_.order = (log_.order ^ what) * 0x9e3779b97f4a7c15u + 1; }

void Digests::Started(const rt::Stream& stream, uint64_t position, const rt::Task&) {
  Next(uint64_t{stream.id()} << 32 ^ position);
}

void Digests::NodeStarted(const rt::Stream&, uint32_t, uint32_t model, uint32_t node, const rt::Task&) {
  Next(~(uint64_t{model} << 32 ^ node));
}

// Not in the plain order. Nor what the core takes for itself: it may have been written.
void Digests::Allocated(const rt::Block& block) {
  constexpr size_t kMostFilled = size_t{64} << 20;
  constexpr uint8_t kContents[] = {0x00, 0x55, 0x7f, 0xff};  // zero, a number, a large one, -1 or no number
  const bool fresh = block.kind == rt::BlockKind::kDevice || block.kind == rt::BlockKind::kPinned;
  if (seed_ == 0 || !fresh || !std::string_view(core_.call_name(block.call)).starts_with("aclrtMalloc"))
    return;
  std::memset(reinterpret_cast<void*>(block.base), kContents[seed_ % 4], std::min(block.bytes, kMostFilled));
}

}  // namespace belay::explore
