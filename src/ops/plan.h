// A Plan: one operator with everything that can be worked out before it runs: which tensors it
// touches and how far, how much workspace it needs, which kernel does the work. It is what an
// aclOpExecutor stands for, and every other front door makes the same object. A Plan owns all it
// needs; the only things that belong to the caller are the addresses.
//
// Plans live in a handle table, so making one allocates nothing on the steady path. The handle
// holds one reference and each task that will run the plan holds another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "base/handle_table.h"
#include "ops/exchange.h"
#include "tensor/objects.h"

namespace belay::ops {

enum class Access : uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };
constexpr bool Reads(Access a) { return static_cast<int>(a) & 1; }
constexpr bool Writes(Access a) { return static_cast<int>(a) & 2; }

// What is known of a tensor of which the kernel may touch less than all elements: nothing, that it touches
// one of them at least, that it begins with the first, or that it touches all of this one.
enum class KnownPart : uint8_t { kUnknown, kSome, kFirst, kWhole };

// One tensor argument. The kernel touches bytes [first, end) from `address`; none when first ==
// end.
struct Binding {
  void* address;
  int64_t first;
  int64_t end;
  const char* name;   // as the function's prototype has it
  uint16_t relative;  // position inside a tensor list
  uint8_t param;      // position in the prototype
  Access access;
  bool present : 1;  // false: an optional tensor that was not given
  KnownPart part : 7;
  tensor::DType dtype;   // of its elements
  uint16_t lies_on = 0;  // 1 + the one result that may lie here (MayLieOn), by its binding
};

// Where the elements of a tensor lie.
struct View {
  tensor::Shape shape;
  tensor::Strides strides;
  int64_t offset = 0;  // elements
  int64_t bits = 0;    // of an element
  int64_t copy = -1;   // where the workspace has room for a copy of what is read; -1: it has none
};

// What a kernel sees when it runs: the CPU's pointer for each binding, and the workspace.
struct Frame {
  char* const* at;
  char* workspace;
};

// The parts of a workspace begin at cache lines: the room that a part of so many bytes takes.
constexpr int64_t WorkspacePart(int64_t bytes) {
  constexpr auto kLine = static_cast<int64_t>(kCacheLine);
  return (bytes + kLine - 1) / kLine * kLine;
}

class alignas(kCacheLine) Plan {
 public:
  static constexpr size_t kInlineBody = 640;
  static constexpr int kInlineBindings = 4;

  explicit Plan(const char* function) : function_(function) {}
  ~Plan() { DropBody(); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // --- while it is made

  // Returns the number of the binding.
  int Bind(const tensor::Tensor* tensor, Access access, const char* name, int param, int relative);

  // What runs: a copyable callable `void operator()(const Frame&) const`. None: nothing to do.
  template <class Body>
  void SetBody(const Body& body);

  // The result may lie where what is read through binding i does, in whole and in the same layout.
  void MayLieOn(int i) {
    if (i >= 0 && i < 16) may_lie_on_ = static_cast<uint16_t>(may_lie_on_ | 1u << i);
  }

  // The same of one result among several.
  void MayLieOn(int read, int written) { Bindings()[read].lies_on = static_cast<uint16_t>(written + 1); }

  // Where the elements of all bindings lie, for a plan whose tensors seem to overlap.
  void KeepViews(std::vector<View> views) { views_ = std::make_unique<std::vector<View>>(std::move(views)); }

  void SetCopy(int i, int64_t at) { (*views_)[static_cast<size_t>(i)].copy = at; }

  // It may touch only some of the elements that it reads (or of all).
  void SetInPart(bool reads, bool writes) { reads_in_part_ = reads, writes_in_part_ = writes; }
  // How much of it is read, and written, as far as that is known before the kernel runs.
  KnownPart read_part(int i) const { return reads_in_part_ ? binding(i).part : KnownPart::kWhole; }
  KnownPart written_part(int i) const { return writes_in_part_ ? binding(i).part : KnownPart::kWhole; }
  void SetPart(int i, KnownPart part) { Bindings()[i].part = part; }
  // Of binding i the kernel reads these elements, all of them: to be said of what the attributes decide,
  // where the places of elements are kept.
  void ReadsOnly(int i, const tensor::Tensor& part);

  // What runs tells the shape of the result at binding i, which has room for the largest that it may be.
  std::shared_ptr<tensor::ToldShape> TellsShapeOf(int i);
  using ToldShapes = std::vector<std::pair<int, std::shared_ptr<tensor::ToldShape>>>;
  const ToldShapes* told_shapes() const { return told_.get(); }

  // It is not done without the other ranks of a group.
  void SetExchange(Exchange exchange) { exchange_ = std::make_unique<Exchange>(std::move(exchange)); }

  void SetWorkspace(uint64_t bytes) { workspace_bytes_ = bytes; }
  // Makes the workspace so much larger; returns where that part begins.
  int64_t AddWorkspace(int64_t bytes);
  // Roughly how many nanoseconds a run takes.
  void SetCost(uint64_t ns) { cost_ = ns > 0xffffffff ? 0xffffffff : static_cast<uint32_t>(ns); }
  // How many multiplications, each with an addition, its products need by their definition: for who measures.
  void SetProducts(int64_t count) { products_ = count; }

  // --- afterwards

  const char* function() const { return function_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint32_t cost() const { return cost_; }
  int64_t products() const { return products_; }
  bool may_lie_on(int i) const { return i < 16 && (may_lie_on_ >> i & 1u) != 0; }
  // Null where it was not kept.
  const View* view(int i) const { return views_ == nullptr ? nullptr : &(*views_)[static_cast<size_t>(i)]; }
  bool has_work() const { return run_ != nullptr; }
  const Exchange* exchange() const { return exchange_.get(); }
  int binding_count() const { return binding_count_; }
  const Binding& binding(int i) const { return Bindings()[i]; }
  void SetAddress(int i, void* address) { Bindings()[i].address = address; }

  bool repeatable() const { return repeatable_.load(std::memory_order_acquire); }
  void SetRepeatable();

  void Run(const Frame& frame) const {
    if (run_ != nullptr) run_(body_, frame);
  }

  // --- references

  // Adds a reference unless the last one is already gone.
  bool TryRef() noexcept;
  void Unref() noexcept;
  // The same for a plan that runs again and again. Takes many references at once and hands them out, so
  // that the count stays on the core where the tasks end.
  bool TryLease() noexcept;
  // Gives back what was not handed out. For whoever has retired the handle.
  void EndLease() noexcept;

 private:
  Binding* Bindings() { return more_ ? more_->data() : bindings_; }
  const Binding* Bindings() const { return more_ ? more_->data() : bindings_; }
  void DropBody() noexcept {
    if (destroy_ != nullptr) destroy_(body_);
    destroy_ = nullptr;
  }

  const char* function_;
  void (*run_)(const std::byte* body, const Frame& frame) = nullptr;
  void (*destroy_)(std::byte* body) noexcept = nullptr;
  uint64_t workspace_bytes_ = 0;
  int64_t products_ = 0;
  uint32_t cost_ = 500;
  std::atomic<bool> repeatable_{false};
  bool reads_in_part_ = false, writes_in_part_ = false;
  uint16_t binding_count_ = 0;
  uint16_t body_bytes_ = 0;
  uint16_t may_lie_on_ = 0;                     // a bit for each binding
  std::unique_ptr<std::vector<Binding>> more_;  // all of them, once there are more than fit inline
  std::unique_ptr<std::vector<View>> views_;
  std::unique_ptr<const Exchange> exchange_;
  std::unique_ptr<ToldShapes> told_;
  Binding bindings_[kInlineBindings];
  alignas(16) std::byte body_[kInlineBody];

  // Apart from what both sides read, and from each other: tasks end on one core and are made on another.
  static constexpr int32_t kNoLease = -1;  // not repeatable
  static constexpr int32_t kLeaseEnded = -2;
  alignas(kCacheLine) std::atomic<uint32_t> refs_{1};
  alignas(kCacheLine) std::atomic<int32_t> leased_{kNoLease};
};

class PlanRef;
// A plan of its own that no handle names: what graphs keep. Throws Error when there is no room.
PlanRef NewPlan(const char* name);
// The plan of a call, taken away from its handle.
PlanRef WithoutHandle(PlanRef plan);

using PlanTable = HandleTable<Plan, HandleKind::kExecutor, 1u << 20>;
extern PlanTable g_plans;

// A reference to a plan. Moving it is copying its bytes, so that a task can hold it.
class PlanRef {
 public:
  // Takes over a reference that the caller has.
  explicit PlanRef(Plan* plan) noexcept : plan_(plan) {}
  PlanRef(PlanRef&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  PlanRef& operator=(PlanRef&&) = delete;
  ~PlanRef() {
    if (plan_ != nullptr) plan_->Unref();
  }
  Plan* operator->() const { return plan_; }
  Plan& operator*() const { return *plan_; }
  Plan* release() noexcept { return std::exchange(plan_, nullptr); }
  explicit operator bool() const { return plan_ != nullptr; }

 private:
  Plan* plan_;
};

template <class Body>
void Plan::SetBody(const Body& body) {
  DropBody();
  if constexpr (sizeof(Body) <= kInlineBody && alignof(Body) <= 16) {
    new (body_) Body(body);
    body_bytes_ = sizeof(Body);
    run_ = [](const std::byte* b, const Frame& f) { (*reinterpret_cast<const Body*>(b))(f); };
    if constexpr (std::is_trivially_destructible_v<Body>) {
      destroy_ = nullptr;
    } else {
      destroy_ = [](std::byte* b) noexcept { reinterpret_cast<Body*>(b)->~Body(); };
    }
  } else {
    *reinterpret_cast<Body**>(body_) = new Body(body);
    body_bytes_ = sizeof(Body*);
    run_ = [](const std::byte* b, const Frame& f) { (**reinterpret_cast<Body* const*>(b))(f); };
    destroy_ = [](std::byte* b) noexcept { delete *reinterpret_cast<Body**>(b); };
  }
}

}  // namespace belay::ops
