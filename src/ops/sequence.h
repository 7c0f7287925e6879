// Plans of several parts that run one after another. Each part is a plan whose operands carry the
// bindings of the whole, so it runs on the whole's frame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "ops/plan.h"

namespace belay::ops {

class Sequence {
 public:
  explicit Sequence(Plan& whole) : whole_(whole), parts_(std::make_shared<Parts>()) {}

  // make(part) plans one part.
  template <class Make>
  void Add(const Make& make) {
    auto part = std::make_unique<Plan>(whole_.function());
    make(*part);
    cost_ += part->cost();
    workspace_ = std::max(workspace_, part->workspace_bytes());
    parts_->push_back(std::move(part));
  }

  // The whole is what has been added.
  void Finish() {
    whole_.SetCost(cost_);
    whole_.SetWorkspace(workspace_);
    whole_.SetBody(Body{parts_});
  }

  // The same where no part has anything to do with another: cores share the small ones, and each large one.
  void FinishApart() {
    if (workspace_ != 0) return Finish();  // the parts have one workspace
    whole_.SetCost(cost_);
    whole_.SetBody(ApartBody{parts_});
  }

 private:
  using Parts = std::vector<std::unique_ptr<Plan>>;
  struct Body {
    std::shared_ptr<const Parts> parts;
    void operator()(const Frame& frame) const {
      for (const auto& part : *parts) part->Run(frame);
    }
  };

  struct ApartBody {
    static constexpr uint32_t kLarge = 50'000;  // nanoseconds; cores are worth waking
    std::shared_ptr<const Parts> parts;

    void operator()(const Frame& frame) const {
      const Parts& all = *parts;
      for (size_t first = 0; first < all.size();) {
        uint64_t cost = 0;
        size_t end = first;
        while (end < all.size() && all[end]->cost() < kLarge) cost += all[end++]->cost();
        if (end > first) Share(frame, first, end, cost);
        if (end < all.size()) all[end++]->Run(frame);
        first = end;
      }
    }

    void Share(const Frame& frame, size_t first, size_t end, uint64_t cost) const {
      const auto count = static_cast<int64_t>(end - first);
      const auto most = static_cast<int64_t>(cost / kLarge) + 1;  // pieces
      ParallelFor(count, (count + most - 1) / most, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) (*parts)[first + static_cast<size_t>(i)]->Run(frame);
      });
    }
  };

  Plan& whole_;
  std::shared_ptr<Parts> parts_;
  uint64_t cost_ = 0, workspace_ = 0;
};

}  // namespace belay::ops
