#include "ops/conv/ready_conv.h"

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

int64_t Rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

ReadyConv::ReadyConv(const ConvBackend& backend, const ConvSpec& whole, const std::vector<ConvPart>& parts)
    : backend_(backend) {
  for (const ConvPart& part : parts) {
    if (Add(whole, part)) continue;
    Drop();
    break;
  }
}

int64_t ReadyConv::scratch_bytes() const {
  int64_t most = 0;
  for (const Part& part : parts_) most = std::max(most, backend_.scratch_bytes(*part.primitive));
  return Rounded(most);
}

void ReadyConv::Pack(const char* plain, char* packed) const {
  for (const Packing& packing : packings_) {
    if (backend_.pack(*packing.primitive, plain, packed + packing.at)) continue;
    Fail(tensor::kRuntimeFailure, "conv-backend", "the convolution's weights could not be packed");
  }
}

bool ReadyConv::Add(const ConvSpec& whole, const ConvPart& part) {
  for (const Part& other : parts_) {
    if (other.geometry != part.geometry) continue;
    parts_.push_back({other.primitive, part.src, part.dst, other.weights, part.geometry});
    return true;
  }
  ConvSpec spec = whole;
  spec.geometry = part.geometry;
  const Packing packing = Make(spec);
  if (packing.primitive == nullptr) return false;
  parts_.push_back({packing.primitive, part.src, part.dst, packing.at, part.geometry});
  return true;
}

ReadyConv::Packing ReadyConv::Make(const ConvSpec& spec) {
  for (const Packing& packing : packings_) {
    if (ConvPrimitive* made = backend_.make(spec, packing.primitive)) return {Owned(made), packing.at};
  }
  ConvPrimitive* made = backend_.make(spec, nullptr);
  if (made == nullptr) return {};
  packings_.push_back({Owned(made), weight_bytes_});
  weight_bytes_ += Rounded(backend_.weight_bytes(*made));
  return packings_.back();
}

ConvPrimitive* ReadyConv::Owned(ConvPrimitive* primitive) {
  owned_.push_back(primitive);
  return primitive;
}

void ReadyConv::Drop() {
  for (ConvPrimitive* primitive : owned_) backend_.drop(primitive);
  owned_.clear();
  parts_.clear();
  packings_.clear();
  weight_bytes_ = 0;
}

}  // namespace belay::ops
