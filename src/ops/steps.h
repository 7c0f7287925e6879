// Plans of several steps with packed tensors between them, which lie in the workspace. The operands of a
// step carry the bindings of the whole, or those that the tensors between have got.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "ops/plan.h"
#include "ops/schema.h"
#include "tensor/views.h"

namespace belay::ops {

class Steps {
 public:
  explicit Steps(Plan& whole) : whole_(whole), body_(std::make_shared<Body>()) {
    body_->bound = whole.binding_count();
  }

  // A packed tensor that one step makes and others read.
  Operand Between(const char* name, DType type, const Shape& shape) {
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    body_->between.push_back(between_bytes_);
    const Tensor& tensor = tensors_.emplace_back(tensor::PackedOf(type, shape));
    between_bytes_ += WorkspacePart(tensor.count() * bytes);
    return {&tensor, nullptr, body_->bound + static_cast<int>(body_->between.size()) - 1, name};
  }

  // The same memory seen otherwise.
  Operand View(const Operand& operand, const Tensor& view) {
    return {&tensors_.emplace_back(view), nullptr, operand.binding, operand.name};
  }

  // make(step) plans one.
  template <class Make>
  void Add(const Make& make) {
    auto step = std::make_unique<Plan>(whole_.function());
    for (int i = 0; i < body_->addresses(); ++i) step->Bind(nullptr, Access::kNone, "", i, 0);
    make(*step);
    cost_ += step->cost(), products_ += step->products();
    workspace_ = std::max(workspace_, step->workspace_bytes());
    body_->steps.push_back(std::move(step));
  }

  // The whole is what has been added.
  void Finish() {
    body_->at = between_bytes_;
    whole_.SetCost(cost_);
    whole_.SetProducts(products_);
    whole_.SetWorkspace(static_cast<uint64_t>(between_bytes_) + workspace_);
    whole_.SetBody([body = std::shared_ptr<const Body>(body_)](const Frame& frame) { (*body)(frame); });
  }

 private:
  static constexpr int kMostBetween = 8;

  struct Body {
    int bound = 0;
    std::vector<int64_t> between;  // where in the workspace
    std::vector<std::unique_ptr<Plan>> steps;
    int64_t at = 0;  // of the steps' own workspace

    int addresses() const { return bound + kMostBetween; }
    void operator()(const Frame& frame) const {
      std::vector<char*> places(frame.at, frame.at + bound);
      places.resize(static_cast<size_t>(addresses()));
      for (size_t i = 0; i < between.size(); ++i)
        places[static_cast<size_t>(bound) + i] = frame.workspace + between[i];
      for (const auto& step : steps) step->Run({places.data(), frame.workspace + at});
    }
  };

  Plan& whole_;
  std::shared_ptr<Body> body_;
  std::deque<Tensor> tensors_;
  int64_t between_bytes_ = 0, products_ = 0;
  uint64_t cost_ = 0, workspace_ = 0;
};

}  // namespace belay::ops
