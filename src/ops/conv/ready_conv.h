// The primitives of a convolution's parts, by one backend, and its weights as they want them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "ops/conv/conv_backend.h"
#include "ops/conv/conv_parts.h"

namespace belay::ops {

class ReadyConv {
 public:
  // `stored`: how the weights lie already; may be null.
  ReadyConv(const ConvBackend& backend, const ConvSpec& whole, const std::vector<ConvPart>& parts,
            const WeightLayout* stored);
  ReadyConv(const ReadyConv&) = delete;
  ~ReadyConv() { Drop(); }

  struct Part {
    const ConvPrimitive* primitive;
    int64_t src, dst;  // elements from the start of the packed tensors
    int64_t weights;   // bytes from the start of the packed weights
    ConvGeometry geometry;
  };

  // False: the backend cannot.
  bool usable() const { return !parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  const ConvBackend& backend() const { return backend_; }
  // Of the packed weights, when all parts agree; null otherwise.
  const WeightLayout* layout() const { return packings_.size() == 1 ? &packings_[0].layout : nullptr; }
  int64_t weight_bytes() const { return weight_bytes_; }
  int64_t scratch_bytes() const;  // of one part
  // `scratch`: pack_scratch_bytes of it.
  void Pack(const char* plain, char* packed, char* scratch) const;
  int64_t pack_scratch_bytes() const;

 private:
  // Whole from here on: what a constructor has made is dropped when it ends early.
  ReadyConv(const ConvBackend& backend, ConvType type);

  // Weights as one or more parts want them.
  struct Packing {
    WeightLayout layout;
    int64_t at;
    const ConvPrimitive* primitive;  // one that wants it; null: not yet
  };

  bool AddAll(const ConvSpec& whole, const std::vector<ConvPart>& parts);
  bool Add(const ConvSpec& whole, const ConvPart& part);
  bool MakeFor(const ConvSpec& spec, const ConvPart& part, Packing& packing);
  Packing& NewPacking(const WeightLayout& layout);
  void Drop();

  const ConvBackend& backend_;
  const int64_t element_;
  std::vector<ConvPrimitive*> owned_;
  std::vector<Part> parts_;
  std::vector<Packing> packings_;  // one where they agree
  int64_t weight_bytes_ = 0;
};

// The sizes of the weights as WeightLayout has them.
std::array<int64_t, WeightLayout::kRank> WeightSizes(const ConvGeometry& geometry);
// Whether these are its weights, flattened or not.
bool IsOfWeights(const WeightLayout& layout, const ConvGeometry& geometry);

// A layout that the parts for many numbers of cores take: whoever loads packed weights may have another
// number. False: there is none, not even for one.
bool LayoutForManyCores(const ConvBackend& backend, const ConvSpec& whole, WeightLayout* layout);

}  // namespace belay::ops
