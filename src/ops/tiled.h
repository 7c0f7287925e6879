// Who reads matrices in the tiles of a card.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/objects.h"

namespace belay::ops {

// ACL_FORMAT_FRACTAL_NZ with a storage of [.., n / width, m / 16, 16, width]. A matrix that
// aclnnTransMatmulWeight has arranged is called so, too, but lies plainly: its storage is one row of
// elements, or the matrix.
inline bool LiesInTiles(const tensor::Tensor& t) {
  constexpr size_t kLeast = 4;  // dimensions of a storage in tiles
  return t.format == tensor::Format::kFractalNZ &&
         (t.storage.size() >= kLeast || t.storage.size() > static_cast<size_t>(t.shape.rank()));
}

// A bit for each parameter of the operator that may lie so; it gives all others no such tensor.
uint64_t TiledParams(std::string_view op);

}  // namespace belay::ops
