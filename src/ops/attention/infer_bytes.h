// Keys and values of INT8 for attention, which become floats as they are read: (x + offset) * scale.
#pragma once

#include "ops/attention/infer.h"
#include "ops/attention/infer_layout.h"

namespace belay::ops {

// A row of keys or values: its place in its sequence, and where it lies: there too, or in a page.
struct InferRow {
  int64_t head, sequence, at, page, page_row;
};

class InferBytes {
 public:
  InferBytes() = default;  // rows are floats
  // Throw Error 161002 for factors that do not fit.
  static InferBytes OfKey(const Plan& plan, const InferArgs& args, const InferShape& shape);
  static InferBytes OfValue(const Plan& plan, const InferArgs& args, const InferShape& shape);

  bool present() const { return scale_.present(); }
  // Floats for the factors of a head, where its rows share them.
  int64_t room() const { return present() && !of_rows_ ? 2 * size_ : 0; }
  void TakeHead(const Frame& frame, int64_t head, float* room) const;
  // The row `from` of the place as floats; `room` has what TakeHead left there.
  void Load(const Frame& frame, const InferPlace& place, const char* from, const InferRow& row,
            const float* room, float* to) const;

 private:
  friend class InferBytesReader;

  InferField scale_, offset_;
  bool of_rows_ = false, in_pages_ = false;
  int64_t size_ = 0;  // of a head
};

}  // namespace belay::ops
