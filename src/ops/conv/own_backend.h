// A backend of our own loops, but for what it computes: `Plan` is made of a ConvSpec and tells
// scratch_floats(), `Run` is made of one and of a call and computes All() of it, and weights lie as kLayout
// says, in one way only.
#pragma once

#include <cstdint>

#include "ops/conv/conv_backend.h"

namespace belay::ops {

template <class Plan, class Run, bool (*kLayout)(const ConvSpec&, WeightLayout*)>
struct OwnBackend {
  static const Plan& Of(const ConvPrimitive& primitive) { return reinterpret_cast<const Plan&>(primitive); }

  static ConvPrimitive* Make(const ConvSpec& spec, const WeightLayout& layout) {
    return TakesOnly<kLayout>(spec, layout) ? reinterpret_cast<ConvPrimitive*>(new Plan(spec)) : nullptr;
  }
  static void Drop(ConvPrimitive* primitive) { delete reinterpret_cast<Plan*>(primitive); }
  static int64_t ScratchBytes(const ConvPrimitive& primitive) {
    return Of(primitive).scratch_floats() * static_cast<int64_t>(sizeof(float));
  }
  static bool Pack(const ConvPrimitive& primitive, const void* weights, void* packed, void* /*scratch*/) {
    WeightLayout layout;
    if (!kLayout(Of(primitive).spec, &layout)) return false;
    LayOut(static_cast<const float*>(weights), layout, static_cast<float*>(packed));
    return true;
  }
  static bool Compute(const ConvPrimitive& primitive, const ConvCall& call) {
    Run(Of(primitive), call).All();
    return true;
  }

  static constexpr ConvBackend With(const char* (*machine)(), decltype(ConvBackend::pack) pack = &Pack) {
    return {machine, kLayout, &TakesOnly<kLayout>, &Make, &Drop, &ScratchBytes, pack, &Compute};
  }
};

}  // namespace belay::ops
