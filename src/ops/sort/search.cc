#include "ops/sort/search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// NaN comes last.
bool SearchedBefore(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool SearchedBefore(int64_t a, int64_t b) { return a < b; }

template <class T>
struct SearchBody {
  int64_t count, length, each;  // values, elements of a row of `sorted`, values that share one
  bool right;
  int64_t offsets[3];
  int bindings[3];  // sorted, values, out

  void operator()(const Frame& frame) const {
    const auto* sorted = reinterpret_cast<const T*>(frame.at[bindings[0]] + offsets[0]);
    const auto* values = reinterpret_cast<const T*>(frame.at[bindings[1]] + offsets[1]);
    auto* out = reinterpret_cast<int64_t*>(frame.at[bindings[2]] + offsets[2]);
    const auto before = [](T a, T b) { return SearchedBefore(a, b); };
    ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = sorted + i / each * length;
        const T* at = right ? std::upper_bound(row, row + length, values[i], before)
                            : std::lower_bound(row, row + length, values[i], before);
        out[i] = at - row;
      }
    });
  }
};

}  // namespace

void PlanSearchSorted(Plan& plan, const Operand& sorted, const Operand& values, bool right,
                      const Operand& out) {
  const int64_t count = out.tensor->count();
  if (count == 0) return;
  const Shape rows = sorted.shape(), shape = values.shape();
  const int64_t each = rows.rank() == 1 ? count : shape.back(0);
  plan.SetCost(100 + static_cast<uint64_t>(count) * 20);
  const auto set = [&](auto type) {
    plan.SetBody(SearchBody<decltype(type)>{
        count,
        rows.back(0),
        each,
        right,
        {OffsetOf(*sorted.tensor), OffsetOf(*values.tensor), OffsetOf(*out.tensor)},
        {sorted.binding, values.binding, out.binding}});
  };
  values.dtype() == DType::kF64 ? set(double{}) : set(int64_t{});
}

namespace kernels {
namespace {

void CheckSearch(const Operand& sequence, const Operand& values, bool out_int32, const Operand& sorter,
                 const Operand& out) {
  const Shape rows = sequence.shape(), shape = values.shape();
  bool fits = rows.rank() == 1 || (rows.rank() > 1 && rows.rank() == shape.rank());
  for (int d = 0; d + 1 < rows.rank() && fits; ++d) fits = rows[d] == shape[d];
  if (!fits) {
    Fail(tensor::kInvalidArgument, "op-search-rows",
         "{} has the shape {} and {} has {}; the first is one row, or has a row for each row of the other",
         sequence.name, rows.ToString(), values.name, shape.ToString());
  }
  if (sorter.present()) CheckShape(sorter, rows);
  if (out.dtype() == (out_int32 ? DType::kI32 : DType::kI64)) return;
  Fail(tensor::kInvalidArgument, "op-out-dtype", "outInt32 is {}, but {} is {}", out_int32, out.name,
       NameOf(out.dtype()));
}

// As `common`, in the wider type of `to`.
void Widened(Plan& plan, const Operand& from, DType common, const Operand& to) {
  if (from.dtype() == common) return Copy(plan, to.dtype(), from, to);
  PlanThrough(
      plan, tensor::PackedOf(common, from.shape()), {&from}, to,
      [&](Plan& part, const auto& in, const Operand& between) { Copy(part, common, in[0], between); },
      [&](Plan& part, const auto&, const Operand& between, const Operand& end) {
        Copy(part, end.dtype(), between, end);
      });
}

// The rows in the order in which the sorter has them.
void SortedRows(Plan& plan, const Operand& sequence, const Operand& sorter, DType common,
                const Operand& rows) {
  if (!sorter.present()) return Widened(plan, sequence, common, rows);
  PlanThrough(
      plan, tensor::PackedOf(sequence.dtype(), sequence.shape()), {&sequence, &sorter}, rows,
      [&](Plan& part, const auto& in, const Operand& picked) {
        Gather(part, sequence.dtype(), in[0], -1, in[1], picked);
      },
      [&](Plan& part, const auto&, const Operand& picked, const Operand& to) {
        Widened(part, picked, common, to);
      });
}

// A number takes the type that it has beside the rows.
void FillWide(Plan& plan, const Scalar& value, DType common, const Operand& to) {
  alignas(16) unsigned char number[16];
  tensor::Convert(common, number, value.dtype(), value.data(), 1);
  Fill(plan, to.dtype(), Scalar(number, common), to);
}

}  // namespace

// Rows and values are compared in their common type, as DOUBLE or INT64 hold it.
void SearchSorted(Plan& plan, DType, const Operand& sortedSequence, const Operand& self, bool outInt32,
                  bool right, const Operand& sorter, const Operand& out) {
  CheckSearch(sortedSequence, self, outInt32, sorter, out);
  const DType common = rules::Common(sortedSequence, self),
              wide = IsFloat(common) ? DType::kF64 : DType::kI64;
  std::vector<const Operand*> given = {&sortedSequence};
  const size_t at = self.tensor != nullptr ? 1 : 0, sorter_at = at + 1;
  if (at != 0) given.push_back(&self);
  if (sorter.present()) given.push_back(&sorter);
  const auto search = [&](Plan& part, const Operand& rows, const Operand& values, const Operand& to) {
    PlanThrough(
        part, tensor::PackedOf(DType::kI64, to.shape()), {&rows, &values}, to,
        [&](Plan& find, const auto& in, const Operand& places) {
          PlanSearchSorted(find, in[0], in[1], right, places);
        },
        [&](Plan& copy, const auto&, const Operand& places, const Operand& end) {
          Copy(copy, DType::kI64, places, end);
        });
  };
  PlanThrough(
      plan, tensor::PackedOf(wide, sortedSequence.shape()), given, out,
      [&](Plan& part, const auto& in, const Operand& rows) {
        SortedRows(part, in[0], sorter.present() ? in[sorter_at] : Operand{}, common, rows);
      },
      [&](Plan& part, const auto& in, const Operand& rows, const Operand& to) {
        PlanThrough(
            part, tensor::PackedOf(wide, self.shape()), {&rows, &in[at]}, to,
            [&](Plan& copy, const auto& from, const Operand& values) {
              at != 0 ? Widened(copy, from[1], common, values) : FillWide(copy, *self.scalar, common, values);
            },
            [&](Plan& find, const auto& from, const Operand& values, const Operand& end) {
              search(find, from[0], values, end);
            });
      });
}

void Bucketize(Plan& plan, DType compute, const Operand& self, const Operand& boundaries, bool outInt32,
               bool right, const Operand& out) {
  if (boundaries.shape().rank() != 1) {
    Fail(tensor::kInvalidArgument, "op-vector", "{} has shape {}; it is a vector", boundaries.name,
         boundaries.shape().ToString());
  }
  SearchSorted(plan, compute, boundaries, self, outInt32, right, {}, out);
}

}  // namespace kernels
}  // namespace belay::ops
