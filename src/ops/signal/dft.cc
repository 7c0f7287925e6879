#include "ops/signal/dft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "ops/scratch.h"

namespace belay::ops {
namespace {

using Complex = std::complex<double>;

// Without what std::complex does for infinite ones: a transform of such numbers has none that are not NaN.
Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

size_t SmallestFactor(size_t n) {
  for (size_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return f;
  }
  return n;
}

size_t LargestFactor(size_t n) {
  size_t factor = 1;
  for (; n > 1; n /= factor) factor = SmallestFactor(n);
  return factor;
}

// A transform of one length: of four as long as there are fours, else that of its smallest factor, over
// transforms of the rest, down to primes.
class Factors {
 public:
  Factors(int64_t length, bool inverse) : turns_(static_cast<size_t>(length)), sign_(inverse ? 1 : -1) {
    for (size_t i = 0; i < turns_.size(); ++i) {
      turns_[i] = std::polar(
          1.0, sign_ * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length));
    }
  }

  // `scratch` is as long as the line.
  void Run(const Complex* from, Complex* to, Complex* scratch) const {
    Part(from, 1, to, turns_.size(), scratch);
  }

 private:
  // Of from[0], from[step], ..., n of them.
  void Part(const Complex* from, size_t step, Complex* to, size_t n, Complex* scratch) const {
    if (n == 1) {
      *to = *from;
      return;
    }
    const size_t factor = n % 4 == 0 ? 4 : SmallestFactor(n), rest = n / factor;
    for (size_t r = 0; r < factor; ++r) Part(from + r * step, step * factor, to + r * rest, rest, scratch);
    if (factor == 4) return JoinFour(to, rest);
    if (factor == 2) return JoinTwo(to, rest);
    std::copy_n(to, n, scratch);
    const size_t turn = turns_.size() / n;  // turns_[turn] is the first root of this length
    for (size_t k = 0, place = 0; k < n; ++k, place = place + 1 == rest ? 0 : place + 1) {
      Complex sum = scratch[place];
      for (size_t r = 1, at = k; r < factor;
           ++r, at = at + k < n ? at + k : at + k - n)  // at is r k modulo n
        sum += Times(scratch[r * rest + place], turns_[at * turn]);
      to[k] = sum;
    }
  }

  // Each transform's number k and what the others turn it by are numbers k, k + rest, ... of the whole.
  void JoinTwo(Complex* to, size_t rest) const {
    const size_t turn = turns_.size() / (2 * rest);
    for (size_t k = 0; k < rest; ++k) {
      const Complex a = to[k], b = Times(to[k + rest], turns_[k * turn]);
      to[k] = a + b, to[k + rest] = a - b;
    }
  }

  void JoinFour(Complex* to, size_t rest) const {
    const size_t turn = turns_.size() / (4 * rest);
    for (size_t k = 0; k < rest; ++k) {
      const Complex a = to[k], b = Times(to[k + rest], turns_[k * turn]),
                    c = Times(to[k + 2 * rest], turns_[2 * k * turn]),
                    d = Times(to[k + 3 * rest], turns_[3 * k * turn]);
      const Complex even = a + c, odd = a - c, sum = b + d, off = b - d;
      const Complex quarter{-sign_ * off.imag(), sign_ * off.real()};  // a quarter of the circle on
      to[k] = even + sum, to[k + rest] = odd + quarter;
      to[k + 2 * rest] = even - sum, to[k + 3 * rest] = odd - quarter;
    }
  }

  std::vector<Complex> turns_;
  double sign_;  // of the angles
};

// A length with a large prime factor: with jk = (j^2 + k^2 - (k - j)^2) / 2 its transform is a convolution
// with a chirp, which is two transforms of a power of two (Bluestein).
class Chirp {
 public:
  Chirp(int64_t length, bool inverse)
      : chirp_(static_cast<size_t>(length)),
        spectrum_(std::bit_ceil(2 * chirp_.size() - 1)),
        there_(static_cast<int64_t>(spectrum_.size()), false),
        back_(static_cast<int64_t>(spectrum_.size()), true) {
    const size_t n = chirp_.size(), m = spectrum_.size();
    const double sign = inverse ? 1 : -1;
    for (size_t k = 0; k < n; ++k) {
      const auto square = static_cast<double>(k * k % (2 * n));
      chirp_[k] = std::polar(1.0, sign * std::numbers::pi * square / static_cast<double>(n));
    }
    std::vector<Complex> filter(m), scratch(m);
    for (size_t k = 0; k < n; ++k) {
      filter[k] = std::conj(chirp_[k]) / static_cast<double>(m);
      if (k != 0) filter[m - k] = filter[k];
    }
    there_.Run(filter.data(), spectrum_.data(), scratch.data());
  }

  size_t scratch() const { return 3 * spectrum_.size(); }

  void Run(const Complex* from, Complex* to, Complex* scratch) const {
    const size_t n = chirp_.size(), m = spectrum_.size();
    Complex *line = scratch, *bins = scratch + m, *rest = scratch + 2 * m;
    for (size_t k = 0; k < n; ++k) line[k] = Times(from[k], chirp_[k]);
    std::fill(line + n, line + m, Complex());
    there_.Run(line, bins, rest);
    for (size_t k = 0; k < m; ++k) bins[k] = Times(bins[k], spectrum_[k]);
    back_.Run(bins, line, rest);
    for (size_t k = 0; k < n; ++k) to[k] = Times(line[k], chirp_[k]);
  }

 private:
  std::vector<Complex> chirp_, spectrum_;
  Factors there_, back_;
};

class Transform {
 public:
  Transform(int64_t length, bool inverse) : length_(static_cast<size_t>(length)) {
    constexpr size_t kMostFactor = 31;
    if (LargestFactor(length_) <= kMostFactor) {
      factors_.emplace(length, inverse);
    } else {
      chirp_.emplace(length, inverse);
    }
  }

  // Elements that Run wants for itself.
  size_t scratch() const { return chirp_ ? chirp_->scratch() : length_; }
  void Run(const Complex* from, Complex* to, Complex* scratch) const {
    chirp_ ? chirp_->Run(from, to, scratch) : factors_->Run(from, to, scratch);
  }

 private:
  size_t length_;
  std::optional<Factors> factors_;
  std::optional<Chirp> chirp_;
};

template <class T>
struct DftBody {
  std::shared_ptr<const Transform> transform;
  int x, out;
  int64_t inner, n, parts, bins, length;
  PieceScratch<Complex> lines;  // a line, its transform, and what that wants for itself
  double scale;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const T*>(frame.at[x]);
    auto* to = reinterpret_cast<T*>(frame.at[out]);
    lines.For(frame, [&](int64_t begin, int64_t end, Complex* line) {
      Complex *result = line + length, *scratch = result + length;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / inner, place = i % inner;
        const T* first = from + (image * n * inner + place) * parts;
        std::fill_n(line, length, Complex());
        for (int64_t j = 0; j < std::min(n, length); ++j) {
          const T* element = first + j * inner * parts;
          line[j] = {element[0], parts == 2 ? element[1] : T{}};
        }
        transform->Run(line, result, scratch);
        for (int64_t j = 0; j < bins; ++j) {
          T* element = to + ((image * bins + j) * inner + place) * 2;
          element[0] = static_cast<T>(result[j].real() * scale);
          element[1] = static_cast<T>(result[j].imag() * scale);
        }
      }
    });
  }
};

template <class T>
void Set(Plan& plan, const DftArgs& args) {
  const int64_t parts = args.x.shape().back(0);
  const int64_t lines = args.outer * args.inner;
  const auto transform = std::make_shared<Transform>(args.length, args.inverse);
  const int64_t elements = 2 * args.length + static_cast<int64_t>(transform->scratch());
  plan.SetBody(DftBody<T>{transform,
                          args.x.binding,
                          args.out.binding,
                          args.inner,
                          args.x.tensor->count() / (lines * parts),
                          parts,
                          args.out.tensor->count() / (lines * 2),
                          args.length,
                          {plan, lines, std::max<int64_t>(1, 4096 / args.length), elements},
                          args.inverse ? 1 / static_cast<double>(args.length) : 1});
}

}  // namespace

void PlanDft(Plan& plan, const DftArgs& args) {
  if (args.out.tensor->empty()) return;
  plan.SetCost(1000 + static_cast<uint64_t>(args.outer * args.inner * args.length) * 20);
  args.x.dtype() == DType::kF64 ? Set<double>(plan, args) : Set<float>(plan, args);
}

}  // namespace belay::ops
