// Where a convolution of planes puts what it reads, and what its taps are there. A plane is laid out anew,
// padded, its rows and columns sorted by what is left of them when they are divided by the stride: each tap
// of the kernel is a plain offset, whatever kernel, stride and dilation are. A transposed convolution is one
// such for each remainder of the places of the result. The planes that one plane of the result sees (those of
// the channels of its group, and of a volume those in its depth) lie one behind the other: their taps are one
// list.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/conv/conv_backend.h"
#include "ops/conv/plane_conv_loops.h"

namespace belay::ops {

// How one dimension is sorted: the element at place j of remainder q is that at j * in_step + q - origin.
// Place i of the result's remainder p is that at i * out_step + p; there a tap sees what lies `shift` places
// behind i.
struct PlaneAxis {
  struct Tap {
    int64_t k, remainder, shift;
  };
  int64_t in, out, in_step, out_step, origin, reach;
  std::vector<std::vector<Tap>> taps;  // by remainder of the result
  std::vector<bool> seen;              // remainders of the input

  PlaneAxis(const ConvGeometry& geometry, int dimension);
  int64_t places() const { return (out + out_step - 1) / out_step; }

 private:
  void AddPlain(const ConvGeometry& g, int d);
  void AddTransposed(const ConvGeometry& g, int d);
};

// The planes of a volume that one plane of the result sees. Taps along the depth are ordered such that those
// that see anything follow each other.
struct PlaneDepth {
  struct Seen {
    int64_t first_tap;          // in `taps`
    std::vector<int64_t> from;  // planes of the input, one for each tap
  };
  std::vector<int64_t> taps;
  std::vector<Seen> seen;  // by planes of the result

  explicit PlaneDepth(const ConvGeometry& geometry);
  int64_t most() const;
};

// One remainder of the result's places, with its taps.
struct PlanePart {
  int64_t row, column;                 // the remainders
  int64_t gap;                         // between the rows of the taps of a column
  std::vector<PlaneAxis::Tap> ys, xs;  // of each tap of one plane
  std::vector<int64_t> offsets;        // of all planes that are seen together
  std::vector<PlaneColumn> columns;    // the same
  int64_t columns_of_a_plane;
};

// Filters that are summed together, and where their weights are.
struct PlaneFilters {
  int64_t first, count;  // of a group
};

struct PlaneLayout {
  ConvGeometry g;
  int64_t in_each, out_each;  // channels of a group
  PlaneAxis rows, columns;
  PlaneDepth depth;
  int64_t planes;   // that are seen together at most
  bool as_it_lies;  // the planes are what the loops for four rows of one filter read
  int64_t pitch, rows_together, chunks;
  std::vector<PlanePart> parts;
  std::vector<PlaneFilters> filters;  // of a group
  int64_t widest;                     // of the filters
  float low, high;

  explicit PlaneLayout(const ConvGeometry& geometry);

  int64_t lines() const { return rows_together + rows.reach; }
  int64_t plane_floats() const { return rows.in_step * columns.in_step * lines() * pitch; }
  int64_t input_floats() const { return as_it_lies ? 0 : planes * plane_floats() + PlaneTaps::kSlack; }
  // The sums of one filter.
  int64_t result_floats() const { return rows_together * pitch + PlaneTaps::kSlack; }
  // From the sums of a remainder of the columns to those of the next.
  int64_t sums_apart() const { return widest * result_floats(); }
  int64_t scratch_floats() const { return input_floats() + columns.out_step * sums_apart(); }
  int64_t taps() const { return g.kernel[1] * g.kernel[2]; }
  // What PackPlaneWeights writes: the weights, and for each of the filters whether all are finite.
  int64_t weight_floats() const {
    return g.groups * (group_weights() + static_cast<int64_t>(filters.size()));
  }

  // Of a remainder's first line.
  int64_t Block(int64_t row, int64_t column) const {
    return (row * columns.in_step + column) * lines() * pitch;
  }
  // Of the weights of some filters of a group, among those of the group.
  int64_t WeightsOf(const PlaneFilters& f) const { return f.first * filter_weights(); }
  int64_t group_weights() const;
  int64_t filter_weights() const { return in_each * g.kernel[0] * taps(); }

 private:
  bool LiesReady() const;
  void ChooseRows();
  PlanePart PartOf(size_t y, size_t x) const;
  void ForAllPlanes(PlanePart* part) const;
};

// [group][filters][part][tap along the depth][channel][tap][filter], and behind them a 1 for each of the
// filters whose weights are finite, else 0.
void PackPlaneWeights(const PlaneLayout& layout, const float* weights, float* packed);

}  // namespace belay::ops
