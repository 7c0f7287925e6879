#include "ops/overlap.h"
#include "base/copy_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace belay::ops {
namespace {

intptr_t FirstByte(const Binding& binding) {
  return reinterpret_cast<intptr_t>(binding.address) + binding.first;
}
intptr_t End(const Binding& binding) { return reinterpret_cast<intptr_t>(binding.address) + binding.end; }

// Whether stride[0] * x[0] + stride[1] * x[1] + ... can be a given sum, with 0 <= x[i] <= most[i].
class Sums {
 public:
  void Add(int64_t stride, int64_t most) {
    if (stride != 0 && most != 0) terms_[count_++] = {stride, most, 0, 0};
  }

  // Also true when that takes too long to find out.
  bool Reach(int64_t sum) {
    std::sort(terms_.begin(), terms_.begin() + static_cast<ptrdiff_t>(count_),
              [](const Term& a, const Term& b) { return a.stride > b.stride; });
    int64_t reach = 0, divisor = 0;
    for (size_t i = count_; i-- > 0;) {
      Term& term = terms_[i];
      term.reach = reach += term.stride * term.most;
      term.divisor = divisor = std::gcd(divisor, term.stride);
    }
    return Search(0, sum);
  }

 private:
  struct Term {
    int64_t stride, most;
    int64_t reach, divisor;  // of this one and those after it
  };

  bool Search(size_t i, int64_t sum) {
    if (sum == 0) return true;
    if (i == count_ || sum < 0 || sum > terms_[i].reach || sum % terms_[i].divisor != 0) return false;
    if (++steps_ > kMostSteps) return true;
    const int64_t rest = i + 1 < count_ ? terms_[i + 1].reach : 0;
    const Term& term = terms_[i];
    const int64_t least = sum <= rest ? 0 : (sum - rest + term.stride - 1) / term.stride;
    for (int64_t x = std::min(term.most, sum / term.stride); x >= least; --x) {
      if (Search(i + 1, sum - x * term.stride)) return true;
    }
    return false;
  }

  static constexpr int kMostSteps = 1 << 14;
  // A term for each dimension of both views, and one for the bits of each one's elements.
  std::array<Term, 2 * (tensor::kMaxRank + 1)> terms_;
  size_t count_ = 0;
  int steps_ = 0;
};

// Whether an element of one shares memory with an element of the other. In bits, from the first one's
// address: an element of `a` begins at the sum of its terms, one of `b` at `apart` and the sum of its own.
bool SharesElements(const View& a, const View& b, int64_t apart) {
  Sums sums;
  int64_t sum = apart;
  auto add = [&](const View& view, bool turned) {
    const int64_t offset = view.offset * view.bits;
    sum += turned ? offset : -offset;
    for (int d = 0; d < view.shape.rank(); ++d) {
      const int64_t stride = view.strides[d] * view.bits, most = view.shape[d] - 1;
      sums.Add(stride, most);
      if (turned) sum += stride * most;  // x from the other end
    }
    sums.Add(1, view.bits - 1);
    if (turned) sum += view.bits - 1;
  };
  add(a, false);
  add(b, true);
  return sums.Reach(sum);
}

bool Overlaps(const Plan& plan, int i, int k) {
  const Binding &a = plan.binding(i), &b = plan.binding(k);
  if (!SharesBytes(a, b)) return false;
  const View *view_a = plan.view(i), *view_b = plan.view(k);
  if (view_a == nullptr || view_b == nullptr) return true;
  return SharesElements(*view_a, *view_b,
                        (reinterpret_cast<intptr_t>(b.address) - reinterpret_cast<intptr_t>(a.address)) * 8);
}

// The same elements in the same places, for a kernel that reads each before it writes it.
bool Copes(const Plan& plan, int read, int written) {
  const Binding &a = plan.binding(read), &b = plan.binding(written);
  const bool may = plan.may_lie_on(read) || a.lies_on == written + 1;
  return may && FirstByte(a) == FirstByte(b) && End(a) == End(b);
}

bool IsAnyWritten(const Plan& plan, int i, int k) {
  return Writes(plan.binding(i).access) || Writes(plan.binding(k).access);
}

// Pairs of bindings, one of them or both written, whose bytes lie in each other's range; in order.
std::vector<std::pair<int, int>> TouchingPairs(const Plan& plan) {
  std::vector<int> order;
  for (int i = 0; i < plan.binding_count(); ++i) {
    if (plan.binding(i).first != plan.binding(i).end) order.push_back(i);
  }
  const auto begin = [&](int i) { return FirstByte(plan.binding(i)); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return begin(a) < begin(b); });
  std::vector<std::pair<int, int>> pairs;
  for (size_t a = 0; a < order.size(); ++a) {
    const Binding& one = plan.binding(order[a]);
    for (size_t b = a + 1; b < order.size() && begin(order[b]) < End(one); ++b) {
      if (IsAnyWritten(plan, order[a], order[b])) pairs.emplace_back(std::minmax(order[a], order[b]));
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The same pairs, and for few bindings without memory. Lists have hundreds, which are not compared each with
// each.
template <class Use>
void ForTouchingPairs(const Plan& plan, const Use& use) {
  constexpr int kFew = 16;
  const int n = plan.binding_count();
  if (n > kFew) {
    for (const auto& [i, k] : TouchingPairs(plan)) use(i, k);
    return;
  }
  for (int i = 0; i < n; ++i) {
    for (int k = i + 1; k < n; ++k) {
      if (IsAnyWritten(plan, i, k)) use(i, k);
    }
  }
}

}  // namespace

bool ManyOverlap(const Plan& plan) {
  std::vector<const Binding*> sorted;
  for (int i = 0; i < plan.binding_count(); ++i) {
    if (plan.binding(i).first != plan.binding(i).end) sorted.push_back(&plan.binding(i));
  }
  std::sort(sorted.begin(), sorted.end(), [](auto a, auto b) { return FirstByte(*a) < FirstByte(*b); });
  intptr_t read_until = 0, written_until = 0;
  for (const Binding* binding : sorted) {
    const bool writes = Writes(binding->access);
    if (FirstByte(*binding) < written_until || (writes && FirstByte(*binding) < read_until)) return true;
    intptr_t& until = writes ? written_until : read_until;
    until = std::max(until, End(*binding));
  }
  return false;
}

Copied CopiedOf(const Plan& plan) {
  Copied copied;
  ForTouchingPairs(plan, [&](int i, int k) {
    const bool first = Writes(plan.binding(i).access), second = Writes(plan.binding(k).access);
    const int read = first ? k : i, written = first ? i : k;
    if ((!(first && second) && Copes(plan, read, written)) || !Overlaps(plan, i, k)) return;
    if (first && second && copied.written.empty()) copied.shares_with = i;
    (first && second ? copied.written : copied.read).push_back(read);
  });
  for (std::vector<int>* list : {&copied.read, &copied.written}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return copied;
}

int64_t CopyBytes(const Binding& binding) {
  return binding.end - binding.first + 2 * static_cast<int64_t>(kCacheLine);
}

char* MakeCopy(const char* address, const Binding& binding, char* room) {
  const char* from = address + binding.first;
  char* line = room + (kCacheLine - reinterpret_cast<uintptr_t>(room) % kCacheLine);
  char* to = line + reinterpret_cast<uintptr_t>(from) % kCacheLine;
  CopyMemory(to, from, static_cast<size_t>(binding.end - binding.first));
  return to - binding.first;
}

void PutChanges(const Binding& binding, const char* before, const char* after, char* address) {
  for (int64_t i = binding.first; i < binding.end; ++i) {
    if (after[i] != before[i]) address[i] = after[i];
  }
}

void ReserveCopies(Plan& plan) {
  if (!plan.has_work()) return;
  for (int i = 0; i < plan.binding_count(); ++i) {
    const Binding& binding = plan.binding(i);
    if (binding.first != binding.end && binding.address == nullptr) return;  // they are set later
  }
  for (int i : CopiedOf(plan).read) {
    plan.SetCopy(i, plan.AddWorkspace(CopyBytes(plan.binding(i))));
  }
}

}  // namespace belay::ops
