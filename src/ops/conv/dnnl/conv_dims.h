// The sizes of a convolution as oneDNN wants them.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "ops/conv/conv_backend.h"

namespace belay::ops {

// A geometry with the two or three spatial dimensions that it needs.
struct ConvDims {
  explicit ConvDims(const ConvGeometry& geometry) : g(geometry), first(g.is_image() ? 1 : 0) {}

  dnnl::memory::desc Activations(int64_t channels, const int64_t* sizes, dnnl::memory::data_type of) const {
    dnnl::memory::dims dims{g.batch, channels};
    dims.insert(dims.end(), sizes + first, sizes + 3);
    auto tag = first == 1 ? dnnl::memory::format_tag::nhwc : dnnl::memory::format_tag::ndhwc;
    return dnnl::memory::desc(dims, of, tag);
  }

  dnnl::memory::dims WeightSizes() const {
    dnnl::memory::dims dims{g.out_channels / g.groups, g.in_channels / g.groups};
    if (g.groups > 1) dims.insert(dims.begin(), g.groups);
    dims.insert(dims.end(), g.kernel + first, g.kernel + 3);
    return dims;
  }

  // As the caller has them.
  dnnl::memory::desc PlainWeights(dnnl::memory::data_type of) const {
    dnnl::memory::dims sizes = WeightSizes(), strides(sizes.size());
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides[i] = step;
    return dnnl::memory::desc(sizes, of, strides);
  }

  dnnl::memory::dims Of(const int64_t* values, int64_t less = 0) const {
    dnnl::memory::dims dims(values + first, values + 3);
    for (int64_t& value : dims) value -= less;
    return dims;
  }

  const ConvGeometry& g;
  int first;  // of the spatial dimensions
};

}  // namespace belay::ops
