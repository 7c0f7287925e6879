// Dimensions of a result, each of which chooses on its own where in the source its elements come from.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/layout/rearranged.h"
#include "tensor/dims.h"

namespace belay::ops {

struct MovedAxis {
  int64_t size = 1, step = 0;    // of the result, in bytes
  int64_t in_step = 0;           // of the source, where it goes by even steps
  std::vector<int64_t> sources;  // otherwise: bytes, kNoSource

  bool even() const { return sources.empty(); }
  int64_t Source(int64_t i) const { return even() ? i * in_step : sources[static_cast<size_t>(i)]; }
  bool HasSource(int64_t i) const { return even() || sources[static_cast<size_t>(i)] != kNoSource; }
};

// How often each element of the source stands there, one behind the other, where all stand there in order; 0
// where that is not so.
int64_t TimesOf(const MovedAxis& axis, int64_t element);

// Outermost first. Neighbours that go on where the other ends are one, and there is none of one element.
class MovedAxes {
 public:
  // Steps in bytes, from one element to the next. One after the other, from the outermost on.
  void Add(const AxisMap& map, int64_t step, int64_t in_step);
  void AddEven(int64_t size, int64_t step, int64_t in_step);

  std::vector<MovedAxis> axes;
  int64_t first = 0;  // what the first element of all is away from the source's, in bytes
};

// A row of the result by its index in each of some axes. Behind axis d: the sums of what axes [0, d) add to
// the places of both, and how many of these have no source.
class AxesCursor {
 public:
  AxesCursor(const std::vector<MovedAxis>& axes, int64_t row) : axes_(axes) {
    for (size_t d = axes_.size(); d-- > 0; row /= axes_[d].size) index_[d] = row % axes_[d].size;
    SumFrom(0);
  }

  void Advance() {
    size_t d = axes_.size();
    while (d-- > 0) {
      if (++index_[d] < axes_[d].size) return SumFrom(d);
      index_[d] = 0;
    }
  }

  int64_t out() const { return out_[axes_.size()]; }
  int64_t in() const { return in_[axes_.size()]; }
  bool filled() const { return filled_[axes_.size()] != 0; }

 private:
  void SumFrom(size_t first) {
    for (size_t d = first; d < axes_.size(); ++d) {
      const bool source = axes_[d].HasSource(index_[d]);
      out_[d + 1] = out_[d] + index_[d] * axes_[d].step;
      in_[d + 1] = in_[d] + (source ? axes_[d].Source(index_[d]) : 0);
      filled_[d + 1] = filled_[d] + !source;
    }
  }

  const std::vector<MovedAxis>& axes_;
  std::array<int64_t, tensor::kMaxRank> index_ = {};
  std::array<int64_t, tensor::kMaxRank + 1> out_ = {}, in_ = {}, filled_ = {};
};

}  // namespace belay::ops
