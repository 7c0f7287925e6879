#include "ops/conv/conv_backend.h"

#include "ops/matmul/onednn_library.h"

namespace belay::ops {

const ConvBackend* OneDnnConv() {
  using Function = const ConvBackend* (*)();
  static const auto find = reinterpret_cast<Function>(OneDnnSymbol("belay_dnnl_conv"));
  return find == nullptr ? nullptr : find();
}

}  // namespace belay::ops
