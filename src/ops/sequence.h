// Plans of several parts that run one after another. Each part is a plan whose operands carry the
// bindings of the whole, so it runs on the whole's frame.
#pragma once

#include <memory>
#include <vector>

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
    parts_->push_back(std::move(part));
  }

  // The whole is what has been added.
  void Finish() {
    whole_.SetCost(cost_);
    whole_.SetBody(Body{parts_});
  }

 private:
  using Parts = std::vector<std::unique_ptr<Plan>>;
  struct Body {
    std::shared_ptr<const Parts> parts;
    void operator()(const Frame& frame) const {
      for (const auto& part : *parts) part->Run(frame);
    }
  };

  Plan& whole_;
  std::shared_ptr<Parts> parts_;
  uint64_t cost_ = 0;
};

}  // namespace belay::ops
