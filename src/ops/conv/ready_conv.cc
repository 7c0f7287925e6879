#include "ops/conv/ready_conv.h"

#include "base/error.h"
#include "ops/plan.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

std::vector<ConvSpec> SpecsOf(const ConvSpec& whole, const std::vector<ConvPart>& parts) {
  std::vector<ConvSpec> specs;
  for (const ConvPart& part : parts) {
    auto same = [&](const ConvSpec& spec) { return spec.geometry == part.geometry; };
    if (std::any_of(specs.begin(), specs.end(), same)) continue;
    specs.push_back(whole);
    specs.back().geometry = part.geometry;
  }
  return specs;
}

bool TakenByAll(const ConvBackend& backend, const std::vector<ConvSpec>& specs, const WeightLayout& layout) {
  return std::all_of(specs.begin(), specs.end(),
                     [&](const ConvSpec& spec) { return backend.takes(spec, layout); });
}

// How a fast kernel wants its weights depends on the sizes of the images too. False: no two agree.
bool CommonLayout(const ConvBackend& backend, const ConvSpec& whole, const std::vector<ConvPart>& parts,
                  WeightLayout* layout) {
  const std::vector<ConvSpec> specs = SpecsOf(whole, parts);
  return std::any_of(specs.begin(), specs.end(), [&](const ConvSpec& spec) {
    return backend.layout(spec, layout) && TakenByAll(backend, specs, *layout);
  });
}

}  // namespace

std::array<int64_t, WeightLayout::kRank> WeightSizes(const ConvGeometry& g) {
  return {g.groups,   g.out_channels / g.groups, g.in_channels / g.groups, g.kernel[0], g.kernel[1],
          g.kernel[2]};
}

bool IsOfWeights(const WeightLayout& layout, const ConvGeometry& geometry) {
  return layout.HasSizes(WeightSizes(geometry).data()) ||
         layout.HasSizes(WeightSizes(Flattened(geometry)).data());
}

bool LayoutForManyCores(const ConvBackend& backend, const ConvSpec& whole, WeightLayout* layout) {
  for (int most = 16; most >= 1; most /= 2) {
    std::vector<ConvPart> parts;
    for (int cores = 1; cores <= most; cores *= 2) {
      for (const ConvPart& part : CutConv(whole.geometry, cores, backend.longest_row)) parts.push_back(part);
    }
    if (CommonLayout(backend, whole, parts, layout)) return true;
  }
  return false;
}

ReadyConv::ReadyConv(const ConvBackend& backend, ConvType type)
    : backend_(backend),
      element_(type == ConvType::kF64    ? 8
               : type == ConvType::kBF16 ? 2
                                         : 4) {}

ReadyConv::ReadyConv(const ConvBackend& backend, const ConvSpec& whole, const std::vector<ConvPart>& parts,
                     const WeightLayout* stored)
    : ReadyConv(backend, whole.type) {
  if (stored != nullptr) {
    NewPacking(*stored);
    if (AddAll(whole, parts) && packings_.size() == 1) return;
    Drop();
  }
  WeightLayout common;
  if (CommonLayout(backend, whole, parts, &common)) NewPacking(common);
  if (!AddAll(whole, parts)) Drop();
}

int64_t ReadyConv::scratch_bytes() const {
  int64_t most = 0;
  for (const Part& part : parts_) most = std::max(most, backend_.scratch_bytes(*part.primitive));
  return WorkspacePart(most);
}

int64_t ReadyConv::pack_scratch_bytes() const {
  int64_t most = 0;
  for (const Packing& packing : packings_) {
    if (packing.primitive != nullptr && backend_.pack_scratch_bytes != nullptr)
      most = std::max(most, backend_.pack_scratch_bytes(*packing.primitive));
  }
  return most;
}

void ReadyConv::Pack(const char* plain, char* packed, char* scratch) const {
  for (const Packing& packing : packings_) {
    if (packing.primitive == nullptr ||
        backend_.pack(*packing.primitive, plain, packed + packing.at, scratch))
      continue;
    Fail(tensor::kRuntimeFailure, "conv-backend", "the convolution's weights could not be packed");
  }
}

bool ReadyConv::AddAll(const ConvSpec& whole, const std::vector<ConvPart>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const ConvPart& part) { return Add(whole, part); });
}

bool ReadyConv::Add(const ConvSpec& whole, const ConvPart& part) {
  for (const Part& other : parts_) {
    if (other.geometry != part.geometry) continue;
    parts_.push_back({other.primitive, part.src, part.dst, other.weights, part.geometry});
    return true;
  }
  ConvSpec spec = whole;
  spec.geometry = part.geometry;
  for (Packing& packing : packings_) {
    if (MakeFor(spec, part, packing)) return true;
  }
  WeightLayout own;
  return backend_.layout(spec, &own) && MakeFor(spec, part, NewPacking(own));
}

bool ReadyConv::MakeFor(const ConvSpec& spec, const ConvPart& part, Packing& packing) {
  owned_.reserve(owned_.size() + 1);  // what is made has an owner then, whatever memory is left
  ConvPrimitive* made = backend_.make(spec, packing.layout);
  if (made == nullptr) return false;
  owned_.push_back(made);
  if (packing.primitive == nullptr) packing.primitive = made;
  parts_.push_back({made, part.src, part.dst, packing.at, part.geometry});
  return true;
}

ReadyConv::Packing& ReadyConv::NewPacking(const WeightLayout& layout) {
  packings_.push_back({layout, weight_bytes_, nullptr});
  weight_bytes_ += WorkspacePart(layout.count() * element_);
  return packings_.back();
}

void ReadyConv::Drop() {
  for (ConvPrimitive* primitive : owned_) backend_.drop(primitive);
  owned_.clear();
  parts_.clear();
  packings_.clear();
  weight_bytes_ = 0;
}

}  // namespace belay::ops
