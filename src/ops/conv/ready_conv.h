// The primitives of a convolution's parts, by one backend, and its weights as they want them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/conv/conv_parts.h"

namespace belay::ops {

class ReadyConv {
 public:
  ReadyConv(const ConvBackend& backend, const ConvSpec& whole, const std::vector<ConvPart>& parts);
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
  int64_t weight_bytes() const { return weight_bytes_; }
  int64_t scratch_bytes() const;  // of one part
  void Pack(const char* plain, char* packed) const;

 private:
  // Weights as this primitive and others want them.
  struct Packing {
    const ConvPrimitive* primitive;
    int64_t at;
  };

  bool Add(const ConvSpec& whole, const ConvPart& part);
  Packing Make(const ConvSpec& spec);
  ConvPrimitive* Owned(ConvPrimitive* primitive);
  void Drop();

  const ConvBackend& backend_;
  std::vector<ConvPrimitive*> owned_;
  std::vector<Part> parts_;
  std::vector<Packing> packings_;  // one where they agree
  int64_t weight_bytes_ = 0;
};

}  // namespace belay::ops
