// Rows of a table that are shortened where they lie, before they are looked up.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

double NormOf(const double* row, int64_t width, double order) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double size = std::fabs(row[i]);
    if (std::isinf(order)) {
      sum = std::isnan(size) ? size : std::max(sum, size);
    } else {
      sum += order == 0 ? static_cast<double>(size != 0) : order == 2 ? size * size : std::pow(size, order);
    }
  }
  if (order == 0 || std::isinf(order)) return sum;
  return order == 2 ? std::sqrt(sum) : std::pow(sum, 1 / order);
}

struct EmbeddingRenormBody {
  Indices indices;
  StridedCopy load, store;  // a row
  int64_t rows, step, offset;
  int table, index;
  double most, order;
  PieceScratch<double> memory;

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = indices.Places(frame, index, rows);
    std::sort(places.begin(), places.end());
    memory.For(frame, [&](int64_t begin, int64_t end, double* row) {
      for (int64_t i = begin; i < end; ++i) {
        if (i == 0 || places[static_cast<size_t>(i)] != places[static_cast<size_t>(i - 1)])
          Shorten(frame.at[table] + offset + places[static_cast<size_t>(i)] * step, row);
      }
    });
  }

  void Shorten(char* at, double* row) const {
    load.RunHere(reinterpret_cast<char*>(row), at);
    const double norm = NormOf(row, load.count(), order);
    if (!(norm > most)) return;
    const double factor = most / (norm + 1e-7);
    for (int64_t i = 0; i < load.count(); ++i) row[i] *= factor;
    store.RunHere(at, reinterpret_cast<const char*>(row));
  }
};

}  // namespace

namespace kernels {

void EmbeddingRenorm(Plan& plan, DType, const Operand& self, const Operand& indices, double most,
                     double order, const Operand& out) {
  const Tensor& table = *out.tensor;
  if (table.shape.rank() != 2) {
    Fail(tensor::kInvalidArgument, "op-rank", "{} has shape {}; it needs two dimensions", self.name,
         table.shape.ToString());
  }
  if (!(order >= 0))
    Fail(tensor::kInvalidArgument, "op-norm-order", "normType is {}; a norm has an order of 0 or more",
         order);
  if (!(most >= 0)) Fail(tensor::kInvalidArgument, "op-renorm", "maxNorm is {}; it is not below 0", most);
  const int64_t count = indices.tensor->count(), width = table.shape[1];
  if (count == 0 || width == 0) return;
  EmbeddingRenormBody body;
  const Tensor row = tensor::DimsOf(table, 1, 2), packed = tensor::PackedOf(DType::kF64, row.shape);
  body.load = StridedCopy(packed, row), body.store = StridedCopy(row, packed);
  body.indices = Indices(plan, *indices.tensor);
  body.rows = table.shape[0];
  body.step = table.strides[0] * static_cast<int64_t>(BytesOf(table.dtype));
  body.offset = OffsetOf(table);
  body.table = out.binding, body.index = indices.binding;
  body.most = most, body.order = order;
  body.memory = {plan, count, std::max<int64_t>(1, 16 * 1024 / (width + 1)), width};
  plan.SetCost(100 + static_cast<uint64_t>(count) * (20 + static_cast<uint64_t>(width) * 4));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
