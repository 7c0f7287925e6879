// Panels for weight_gradient.cc: channels that lie plane after plane become neighbours.
#pragma once

#include <array>
#include <cstdint>

#include "ops/conv/weight_gradient_cut.h"
#include "ops/float_pieces.h"

namespace belay::ops {

// A tensor [image][channel][plane], read as panels.
class PanelSource {
 public:
  // `plane`: pixels of a channel, each of which is `folded` elements, which are channels of their own.
  PanelSource(const Operand& operand, int64_t channels, int64_t plane, int64_t folded, Plan& plan)
      : pieces_(operand, Flow::kIn, false, plan),
        channels_(channels / folded),
        plane_(plane * folded),
        folded_(folded) {}

  FloatPieces::Elements Load(const Frame& frame) const { return pieces_.Load(frame); }

  // The channels that are lanes.
  struct Lanes {
    std::array<int64_t, kGradientPanel> at;  // of the first image
    int64_t count = 0;
    bool neighbours = true;  // each lies right behind the one before
  };
  Lanes From(int64_t first, int64_t count) const {
    Lanes lanes;
    for (int64_t i = 0; i < count; ++i) Add(first + i, &lanes);
    return lanes;
  }
  void Add(int64_t channel, Lanes* lanes) const {
    const int64_t at = channel % channels_ * plane_ + channel / channels_;
    const auto lane = static_cast<size_t>(lanes->count++);
    lanes->neighbours =
        lanes->neighbours && (lane == 0 || at == lanes->at[lane - 1] + plane_) && folded_ == 1;
    lanes->at[lane] = at;
  }

  // Lanes of each pixel side by side, as `width` numbers, of which those that are no lanes stay what they
  // are.
  void Turn(const FloatPieces::Elements& from, const GradientCut::Rows& rows, const Lanes& lanes,
            int64_t width, float* to) const;

  // The same of halves of floats, which stay what they are; where the elements are such, and the lanes
  // neighbours.
  bool HasHalves(const FloatPieces::Elements& from, const Lanes& lanes) const {
    return from.are(DType::kBF16) && lanes.neighbours;
  }
  void TurnHalves(const FloatPieces::Elements& from, const GradientCut::Rows& rows, const Lanes& lanes,
                  int64_t width, uint16_t* to) const;

 private:
  // So many that each lane of a panel has its part of a tile that stays in the nearest cache.
  static constexpr int64_t kTile = 256;

  // Part of the rows: whole ones, or a part of one.
  void TurnTile(const FloatPieces::Elements& from, const GradientCut::Rows& rows, const Lanes& lanes,
                int64_t width, float* to) const;
  void CopyRow(const FloatPieces::Elements& from, int64_t at, int64_t count, float* to) const;

  FloatPieces pieces_;
  int64_t channels_, plane_, folded_;
};

}  // namespace belay::ops
