// Spectra of windows that move along a signal: aclStft.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"
#include "ops/signal/dft.h"
#include "tensor/dtype.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int64_t kParts = 2;  // of a complex number

// Elements of one or two parts each. Steps in bytes.
struct Samples {
  int binding = -1;
  int64_t at = 0, batch = 0, step = 0;
};

template <class T>
struct StftBody {
  std::shared_ptr<PlanRef> transform;  // of the frames, which lie before their spectra and what it needs
  Samples x, window, out;
  int64_t out_bin = 0, out_frame = 0, out_part = 0;  // bytes
  int64_t batches = 1, frames = 0, length = 0, hop = 1, bins = 0, parts = 1;
  int64_t first = 0, wide = 0;  // where the window begins in a frame, and its size
  T factor = 1;
  int64_t spectra_at = 0, inner_at = 0;

  void operator()(const Frame& frame) const {
    auto* rows = reinterpret_cast<T*>(frame.workspace);
    auto* spectra = reinterpret_cast<T*>(frame.workspace + spectra_at);
    const int64_t grain = std::max<int64_t>(1, 16384 / length);
    ParallelFor(batches * frames, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Window(frame, i / frames, i % frames, rows + i * length * parts);
    });
    char* at[] = {reinterpret_cast<char*>(rows), reinterpret_cast<char*>(spectra)};
    (*transform)->Run({at, frame.workspace + inner_at});
    ParallelFor(batches * frames, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Leave(frame, i / frames, i % frames, spectra + i * bins * kParts);
    });
  }

  void Window(const Frame& frame, int64_t batch, int64_t at, T* to) const {
    std::fill_n(to, length * parts, T{0});
    const char* from = frame.at[x.binding] + x.at + batch * x.batch + (at * hop + first) * x.step;
    to += first * parts;
    for (int64_t i = 0; i < wide; ++i, to += parts) {
      const auto* value = reinterpret_cast<const T*>(from + i * x.step);
      T re = value[0], im = parts == kParts ? value[1] : T{0};
      if (window.binding >= 0) {
        const auto* by = reinterpret_cast<const T*>(frame.at[window.binding] + window.at + i * window.step);
        const T by_im = parts == kParts ? by[1] : T{0}, was = re;
        re = was * by[0] - im * by_im, im = was * by_im + im * by[0];
      }
      to[0] = re;
      if (parts == kParts) to[1] = im;
    }
  }

  void Leave(const Frame& frame, int64_t batch, int64_t at, const T* spectrum) const {
    char* to = frame.at[out.binding] + out.at + batch * out.batch + at * out_frame;
    for (int64_t bin = 0; bin < bins; ++bin) {
      for (int64_t part = 0; part < kParts; ++part) {
        *reinterpret_cast<T*>(to + bin * out_bin + part * out_part) = spectrum[bin * kParts + part] * factor;
      }
    }
  }
};

bool IsComplexType(DType type) { return type == DType::kC64 || type == DType::kC128; }
bool IsWideType(DType type) { return type == DType::kF64 || type == DType::kC128; }

void CheckStft(const Plan& plan, const kernels::StftArguments& a) {
  CheckExpertRank(plan, a.self, 1, 2);
  const bool complex = IsComplexType(a.self.dtype());
  if (complex && a.onesided) RefuseExperts(plan, "onesided is for signals of real numbers");
  if (a.n_fft < 1 || a.hop_length < 1) RefuseExperts(plan, "nFft and hopLength are above 0");
  if (a.win_length < 1 || a.win_length > a.n_fft) RefuseExperts(plan, "winLength is from 1 to nFft");
  if (a.self.shape().back(0) < a.n_fft) RefuseExperts(plan, "the signal is shorter than nFft");
  if (a.window.present()) {
    CheckSameType(a.self, a.window);
    CheckExpertShape(plan, a.window, {a.win_length});
  }
  const DType out = a.out.dtype();
  if (IsWideType(out) != IsWideType(a.self.dtype()) || IsComplexType(out) != a.return_complex)
    RefuseExperts(plan, "out is complex where returnComplex is true, and as wide as self");
}

template <class T>
void PlanStft(Plan& plan, const kernels::StftArguments& a) {
  const Tensor &self = *a.self.tensor, &out = *a.out.tensor;
  const int last = self.shape.rank() - 1;
  StftBody<T> body;
  body.length = a.n_fft, body.hop = a.hop_length, body.wide = a.win_length;
  body.first = (a.n_fft - a.win_length) / 2;
  body.batches = last == 1 ? self.shape[0] : 1;
  body.frames = (self.shape[last] - a.n_fft) / a.hop_length + 1;
  body.bins = a.onesided ? a.n_fft / 2 + 1 : a.n_fft;
  body.parts = IsComplexType(self.dtype) ? kParts : 1;
  Shape wanted = last == 1 ? Shape{body.batches, body.bins, body.frames} : Shape{body.bins, body.frames};
  if (!a.return_complex) wanted.push_back(kParts);
  CheckExpertShape(plan, a.out, wanted);
  if (out.empty()) return;
  body.x = {a.self.binding, tensor::OffsetOf(self), last == 1 ? tensor::StepOf(self, 0) : 0,
            tensor::StepOf(self, last)};
  if (a.window.present())
    body.window = {a.window.binding, tensor::OffsetOf(*a.window.tensor), 0,
                   tensor::StepOf(*a.window.tensor, 0)};
  body.out = {a.out.binding, tensor::OffsetOf(out), last == 1 ? tensor::StepOf(out, 0) : 0, 0};
  body.out_bin = tensor::StepOf(out, last), body.out_frame = tensor::StepOf(out, last + 1);
  body.out_part = a.return_complex ? static_cast<int64_t>(sizeof(T)) : tensor::StepOf(out, last + 2);
  if (a.normalized) body.factor = static_cast<T>(1 / std::sqrt(static_cast<double>(a.n_fft)));
  const int64_t rows = body.batches * body.frames;
  constexpr DType kType = sizeof(T) == sizeof(double) ? DType::kF64 : DType::kF32;
  const Tensor framed = tensor::PackedOf(kType, {rows, a.n_fft, 1, body.parts}),
               spectra = tensor::PackedOf(kType, {rows, body.bins, 1, kParts});
  body.transform = std::make_shared<PlanRef>(NewPlan("transform"));
  PlanDft(**body.transform, {.x = {&framed, nullptr, 0, a.self.name},
                             .out = {&spectra, nullptr, 1, a.out.name},
                             .outer = rows,
                             .inner = 1,
                             .length = a.n_fft});
  body.spectra_at = WorkspacePart(framed.count() * static_cast<int64_t>(sizeof(T)));
  body.inner_at = body.spectra_at + WorkspacePart(spectra.count() * static_cast<int64_t>(sizeof(T)));
  plan.SetWorkspace(static_cast<uint64_t>(body.inner_at) + (*body.transform)->workspace_bytes());
  plan.SetCost((*body.transform)->cost() + static_cast<uint64_t>(framed.count() + spectra.count()));
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void Stft(Plan& plan, DType, const StftArguments& a) {
  CheckStft(plan, a);
  IsWideType(a.self.dtype()) ? PlanStft<double>(plan, a) : PlanStft<float>(plan, a);
}

}  // namespace kernels
}  // namespace belay::ops
