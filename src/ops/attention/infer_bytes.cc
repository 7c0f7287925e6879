#include "ops/attention/infer_bytes.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/attention/flash.h"
#include "ops/quant/quant_loops.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// How factors lie, as the interface counts it.
enum FactorMode : int64_t {
  kChannels,
  kTokens,
  kHeads,
  kTokensAndHeads,
  kPages,
  kPagesAndHeads,
  kFactorModes
};

// What a dimension of them goes by. The first four are the steps of an InferField.
enum By : int { kSequence, kHead, kRow, kNumber, kHeadAndNumber, kOne };

// Messages name the last one.
std::vector<std::vector<By>> FormsOf(int64_t mode) {
  switch (mode) {
    case kChannels:
      return {{},
              {kOne},
              {kHeadAndNumber},
              {kOne, kHeadAndNumber},
              {kHead, kOne, kNumber},
              {kOne, kHead, kNumber},
              {kOne, kHead, kOne, kNumber},
              {kHead, kNumber}};
    case kTokens:
      return {{kOne, kSequence, kRow}, {kSequence, kRow}};
    case kHeads:
      return {{kHead}};
    case kTokensAndHeads:
      return {{kSequence, kHead, kRow}};
    case kPages:
      return {{kSequence, kRow}};
    default:
      return {{kSequence, kHead, kRow}};
  }
}

}  // namespace

class InferBytesReader {
 public:
  InferBytesReader(const Plan& plan, const InferArgs& args, const InferShape& shape, bool of_value)
      : plan_(plan), a_(args), shape_(shape), of_value_(of_value) {}

  InferBytes Read() {
    const InferScaling& own = of_value_ ? a_.of_value : a_.of_key;
    both_ = !IsThere(own.scale);
    const InferScaling& by = both_ ? a_.of_both : own;
    const Operand& operand = of_value_ ? a_.value : a_.key;
    if (operand.dtype() != DType::kI8) {
      if (IsThere(by.scale) || IsThere(by.offset)) Refuse("scales and offsets are for key and value of INT8");
      return {};
    }
    CheckGiven(by);
    mode_ = by.mode;
    CheckMode();
    bytes_.size_ = of_value_ ? shape_.value.size : shape_.key.size;
    bytes_.of_rows_ = mode_ != kChannels && mode_ != kHeads;
    bytes_.in_pages_ = mode_ >= kPages;
    bytes_.scale_ = Field(*by.scale);
    if (IsThere(by.offset)) bytes_.offset_ = Field(*by.offset);
    return bytes_;
  }

 private:
  static bool IsThere(const Operand* o) { return o != nullptr && IsGiven(*o); }
  [[noreturn]] void Refuse(std::string_view sentence) const { RefuseInfer(plan_, sentence); }

  void CheckGiven(const InferScaling& by) const {
    if (!IsThere(by.scale)) Refuse("key and value of INT8 need their scales");
    if (a_.query_rope.present()) Refuse("key and value of INT8 have no rope parts");
    if (IsThere(a_.of_key.scale) != IsThere(a_.of_value.scale) ||
        IsThere(a_.of_key.offset) != IsThere(a_.of_value.offset)) {
      Refuse("scales are given for both key and value or for none, and so are offsets");
    }
    if (both_ && IsThere(a_.of_key.offset)) Refuse("offsets of key and value need scales of their own");
  }

  void CheckMode() const {
    if (mode_ < 0 || mode_ >= kFactorModes) Refuse("the mode of the scales is none of 0 to 5");
    if (both_ && mode_ > kTokens) Refuse("antiquantMode is neither 0 nor 1");
    const bool mixed = a_.of_key.mode == kChannels && a_.of_value.mode == kTokens;
    if (!both_ && a_.of_key.mode != a_.of_value.mode && !mixed)
      Refuse("key and value have other modes of their scales, which are not 0 for key and 1 for value");
    const bool paged = IsGiven(a_.pages);
    if (mode_ >= kPages && !paged) Refuse("scales in pages (modes 4 and 5) need blockTable");
    if (shape_.packed && !paged && (mode_ == kTokens || mode_ == kTokensAndHeads))
      Refuse("scales of tokens (modes 1 and 3) need sequences that are not packed, or pages");
  }

  // How many there are at least; rows of sequences may be more.
  int64_t SizeOf(By by) const {
    switch (by) {
      case kSequence:
        if (mode_ >= kPages) return shape_.page_count;
        return shape_.packed ? static_cast<int64_t>(a_.lengths.size()) : shape_.batches;
      case kHead:
        return shape_.key_heads;
      case kRow:
        return mode_ >= kPages ? shape_.page_rows : shape_.MostColumns();
      case kNumber:
        return bytes_.size_;
      case kHeadAndNumber:
        return shape_.key_heads * bytes_.size_;
      default:
        return 1;
    }
  }

  bool Fits(int64_t size, By by) const {
    return by == kRow && mode_ < kPages ? size >= SizeOf(by) : size == SizeOf(by);
  }

  // A tensor for key and value has a first dimension of two.
  InferField Field(const Operand& o) const {
    const Tensor& t = *o.tensor;
    const int first = both_ ? 1 : 0, rank = t.shape.rank() - first;
    const auto forms = FormsOf(mode_);
    const bool two = !both_ || (t.shape.rank() > 0 && t.shape[0] == 2);
    const auto found = std::find_if(forms.begin(), forms.end(), [&](const std::vector<By>& form) {
      bool fits = two && rank == static_cast<int>(form.size());
      for (int d = 0; fits && d < rank; ++d) fits = Fits(t.shape[d + first], form[static_cast<size_t>(d)]);
      return fits;
    });
    if (found == forms.end()) RefuseInferShape(plan_, o, Wanted(forms.back()));
    InferField field{o.binding, tensor::OffsetOf(t), {}, t.dtype};
    if (both_ && of_value_) field.at += tensor::StepOf(t, 0);
    for (int d = 0; d < rank; ++d) {
      const By by = (*found)[static_cast<size_t>(d)];
      const int64_t step = tensor::StepOf(t, d + first);
      if (by < kHeadAndNumber) field.step[by] = step;
      if (by == kHeadAndNumber) field.step[kNumber] = step, field.step[kHead] = step * bytes_.size_;
    }
    return field;
  }

  Shape Wanted(const std::vector<By>& form) const {
    Shape shape;
    if (both_) shape.push_back(2);
    for (const By by : form) shape.push_back(SizeOf(by));
    return shape;
  }

  const Plan& plan_;
  const InferArgs& a_;
  const InferShape& shape_;
  const bool of_value_;
  bool both_ = false;
  int64_t mode_ = 0;
  InferBytes bytes_;
};

InferBytes InferBytes::OfKey(const Plan& plan, const InferArgs& args, const InferShape& shape) {
  return InferBytesReader(plan, args, shape, false).Read();
}
InferBytes InferBytes::OfValue(const Plan& plan, const InferArgs& args, const InferShape& shape) {
  return InferBytesReader(plan, args, shape, true).Read();
}

void InferBytes::TakeHead(const Frame& frame, int64_t head, float* room) const {
  if (!present() || of_rows_) return;
  const auto take = [&](const InferField& field, float* to) {
    const Lane lane(field.type, DType::kF32, field.step[kNumber]);
    for (int64_t i = 0; i < size_; i += kBlock) {
      const int64_t n = std::min(kBlock, size_ - i);
      const void* loaded = lane.Load(to + i, field.Of(frame, 0, head, 0, i), n);
      if (loaded != to + i) std::memcpy(to + i, loaded, static_cast<size_t>(n) * sizeof(float));
    }
  };
  take(scale_, room);
  float* zero = room + size_;
  std::fill_n(zero, size_, 0.0f);
  if (!offset_.present()) return;
  take(offset_, zero);
  for (int64_t i = 0; i < size_; ++i) zero[i] = -zero[i];
}

void InferBytes::Load(const Frame& frame, const InferPlace& place, const char* from, const InferRow& row,
                      const float* room, float* to) const {
  float scale = 1, zero = 0;
  if (of_rows_) {
    const int64_t at = in_pages_ ? row.page : row.sequence, r = in_pages_ ? row.page_row : row.at;
    scale = scale_.One(scale_.Of(frame, at, row.head, r, 0));
    if (offset_.present()) zero = -offset_.One(offset_.Of(frame, at, row.head, r, 0));
  }
  const auto spread = BestQuantLoops().dequantize[static_cast<int>(QuantType::kI8)];
  place.EachPart(from, [&](const char* part, int64_t first, int64_t n) {
    char gathered[kBlock];
    if (place.step != 1) {
      tensor::Gather(gathered, part, place.step, n, 1);
      part = gathered;
    }
    if (of_rows_) {
      spread(to + first, part, &scale, &zero, 0, n, {});
    } else {
      spread(to + first, part, room + first, room + size_ + first, 1, n, {});
    }
  });
}

}  // namespace belay::ops
