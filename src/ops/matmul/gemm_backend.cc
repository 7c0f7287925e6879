#include "ops/matmul/gemm.h"
#include "ops/matmul/onednn_library.h"

namespace belay::ops {
namespace {

GemmBackend Find() {
  auto run = reinterpret_cast<GemmFunction>(OneDnnSymbol("belay_dnnl_gemm"));
  auto bf16 = reinterpret_cast<bool (*)()>(OneDnnSymbol("belay_dnnl_has_bf16"));
  if (run == nullptr || bf16 == nullptr) return PlainGemm();
  return {run, bf16(), "oneDNN"};
}

}  // namespace

const GemmBackend& BestGemm() {
  static const GemmBackend backend = Find();
  return backend;
}

}  // namespace belay::ops
