#include "ops/signal/dft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <vector>

#include "base/parallel.h"

namespace belay::ops {
namespace {

using Complex = std::complex<double>;

// A transform of one length: that of its smallest factor over transforms of the rest, down to primes.
class Transform {
 public:
  Transform(int64_t length, bool inverse) : turns_(static_cast<size_t>(length)) {
    const double sign = inverse ? 1 : -1;
    for (size_t i = 0; i < turns_.size(); ++i) {
      turns_[i] =
          std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length));
    }
  }

  // `scratch` is as long as the line.
  void Run(const Complex* from, Complex* to, Complex* scratch) const {
    Part(from, 1, to, turns_.size(), scratch);
  }

 private:
  static size_t SmallestFactor(size_t n) {
    for (size_t f = 2; f * f <= n; ++f) {
      if (n % f == 0) return f;
    }
    return n;
  }

  // Of from[0], from[step], ..., n of them.
  void Part(const Complex* from, size_t step, Complex* to, size_t n, Complex* scratch) const {
    if (n == 1) {
      *to = *from;
      return;
    }
    const size_t factor = SmallestFactor(n), rest = n / factor;
    for (size_t r = 0; r < factor; ++r) Part(from + r * step, step * factor, to + r * rest, rest, scratch);
    std::copy_n(to, n, scratch);
    const size_t turn = turns_.size() / n;  // turns_[turn] is the first root of this length
    for (size_t k = 0; k < n; ++k) {
      Complex sum = scratch[k % rest];
      for (size_t r = 1; r < factor; ++r) sum += scratch[r * rest + k % rest] * turns_[r * k % n * turn];
      to[k] = sum;
    }
  }

  std::vector<Complex> turns_;
};

template <class T>
struct DftBody {
  std::shared_ptr<const Transform> transform;
  int x, out;
  int64_t outer, inner, n, parts, bins, length;
  double scale;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const T*>(frame.at[x]);
    auto* to = reinterpret_cast<T*>(frame.at[out]);
    ParallelFor(outer * inner, std::max<int64_t>(1, 4096 / length), [&](int64_t begin, int64_t end) {
      std::vector<Complex> line(static_cast<size_t>(length)), result(line), scratch(line);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / inner, place = i % inner;
        const T* first = from + (image * n * inner + place) * parts;
        std::fill(line.begin(), line.end(), Complex());
        for (int64_t j = 0; j < std::min(n, length); ++j) {
          const T* element = first + j * inner * parts;
          line[static_cast<size_t>(j)] = {element[0], parts == 2 ? element[1] : T{}};
        }
        transform->Run(line.data(), result.data(), scratch.data());
        for (int64_t j = 0; j < bins; ++j) {
          T* element = to + ((image * bins + j) * inner + place) * 2;
          element[0] = static_cast<T>(result[static_cast<size_t>(j)].real() * scale);
          element[1] = static_cast<T>(result[static_cast<size_t>(j)].imag() * scale);
        }
      }
    });
  }
};

template <class T>
void Set(Plan& plan, const DftArgs& args) {
  const int64_t parts = args.x.shape().back(0);
  const int64_t lines = args.outer * args.inner;
  plan.SetBody(DftBody<T>{std::make_shared<Transform>(args.length, args.inverse), args.x.binding,
                          args.out.binding, args.outer, args.inner, args.x.tensor->count() / (lines * parts),
                          parts, args.out.tensor->count() / (lines * 2), args.length,
                          args.inverse ? 1 / static_cast<double>(args.length) : 1});
}

}  // namespace

void PlanDft(Plan& plan, const DftArgs& args) {
  if (args.out.tensor->empty()) return;
  plan.SetCost(1000 + static_cast<uint64_t>(args.outer * args.inner * args.length) * 20);
  args.x.dtype() == DType::kF64 ? Set<double>(plan, args) : Set<float>(plan, args);
}

}  // namespace belay::ops
