#include "ops/conv/padded_conv.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "ops/plan.h"

namespace belay::ops {
namespace {

struct PaddedRows {
  ConvGeometry given;
  ConvPrimitive* inner;  // of padded rows

  ~PaddedRows() { OneDnnConv()->drop(inner); }

  int64_t before() const { return std::max<int64_t>(given.before[2], 0); }
  int64_t pitch() const { return given.in[2] + before() + std::max<int64_t>(given.after[2], 0); }
  bool pads() const { return pitch() != given.in[2]; }
  int64_t bytes() const {
    const int64_t rows = given.batch * given.in[0] * given.in[1];
    return pads() ? WorkspacePart(rows * pitch() * given.in_channels * static_cast<int64_t>(sizeof(float)))
                  : 0;
  }
};

const PaddedRows& RowsOf(const ConvPrimitive& primitive) {
  return reinterpret_cast<const PaddedRows&>(primitive);
}

ConvSpec WithPadding(ConvSpec spec) {
  ConvGeometry& g = spec.geometry;
  for (int64_t* padding : {&g.before[2], &g.after[2]}) {
    const int64_t added = std::max<int64_t>(*padding, 0);
    g.in[2] += added, *padding -= added;
  }
  return spec;
}

bool LayoutOfPadded(const ConvSpec& spec, WeightLayout* layout) {
  return OneDnnConv()->layout(WithPadding(spec), layout);
}

ConvPrimitive* MakePadded(const ConvSpec& spec, const WeightLayout& layout) {
  ConvPrimitive* inner = OneDnnConv()->make(WithPadding(spec), layout);
  return inner == nullptr ? nullptr : reinterpret_cast<ConvPrimitive*>(new PaddedRows{spec.geometry, inner});
}

void PadRows(const PaddedRows& padded, const float* from, float* to) {
  const ConvGeometry& g = padded.given;
  const int64_t row = g.in[2] * g.in_channels, before = padded.before() * g.in_channels,
                after = padded.pitch() * g.in_channels - row - before;
  for (int64_t i = 0; i < g.batch * g.in[0] * g.in[1]; ++i, from += row) {
    to = std::fill_n(to, before, 0.0f);
    to = std::copy_n(from, row, to);
    to = std::fill_n(to, after, 0.0f);
  }
}

bool RunPadded(const ConvPrimitive& primitive, const ConvCall& given) {
  const PaddedRows& padded = RowsOf(primitive);
  ConvCall call = given;
  if (padded.pads()) {
    PadRows(padded, static_cast<const float*>(given.src), static_cast<float*>(given.scratch));
    call.src = given.scratch, call.scratch = static_cast<char*>(given.scratch) + padded.bytes();
  }
  return OneDnnConv()->run(*padded.inner, call);
}

const ConvBackend kPadded = {
    [] {
      static const auto& name = *new std::string("padded " + std::string(OneDnnConv()->machine()));
      return name.c_str();
    },
    &LayoutOfPadded,
    [](const ConvSpec& spec, const WeightLayout& layout) {
      return OneDnnConv()->takes(WithPadding(spec), layout);
    },
    &MakePadded,
    [](ConvPrimitive* p) { delete reinterpret_cast<PaddedRows*>(p); },
    [](const ConvPrimitive& p) { return RowsOf(p).bytes() + OneDnnConv()->scratch_bytes(*RowsOf(p).inner); },
    [](const ConvPrimitive& p, const void* weights, void* packed, void* scratch) {
      return OneDnnConv()->pack(*RowsOf(p).inner, weights, packed, scratch);
    },
    &RunPadded,
    nullptr,
    nullptr,
    nullptr,
    512,  // as oneDNN's own
};

}  // namespace

const ConvBackend& PaddedConv() { return kPadded; }

bool PaddedPays(const ConvSpec& spec) {
  constexpr int64_t kMuch = 4, kVector = 8;
  const ConvGeometry& g = spec.geometry;
  if (OneDnnConv() == nullptr || std::string_view(OneDnnConv()->machine()) != "avx2") return false;
  WeightLayout layout;
  return spec.type == ConvType::kF32 && !g.transposed && g.groups == 1 &&
         std::max(g.before[2], g.after[2]) >= kMuch && std::min(g.in_channels, g.out_channels) >= kVector &&
         LayoutOfPadded(spec, &layout);
}

}  // namespace belay::ops
