#include "layers/hang/web.h"

#include <algorithm>

namespace belay::hang {
namespace {

class Finder {
 public:
  Finder(const std::vector<Standing>& standings, const std::vector<Signal>& signals)
      : standings_(standings), signals_(signals), seen_by_(standings.size(), Knot::kNone) {}

  std::vector<Knot> All() {
    // Streams that nobody waits for first, so that chains are told from their beginning.
    std::vector<bool> waited_for(standings_.size());
    for (size_t i = 0; i < standings_.size(); ++i) {
      if (const Step next = NextOf(i); next.to != Knot::kNone && next.to != i) waited_for[next.to] = true;
    }
    for (bool second : {false, true}) {
      for (size_t i = 0; i < standings_.size(); ++i) {
        if (waited_for[i] == second && seen_by_[i] == Knot::kNone) Follow(i);
      }
    }
    return std::move(knots_);
  }

 private:
  struct Step {
    size_t to = Knot::kNone;
    uint64_t position = 0;
  };

  size_t Find(const void* stream) const {
    const auto found = std::ranges::find_if(standings_, [&](const Standing& s) { return s.self == stream; });
    return found == standings_.end() ? Knot::kNone : static_cast<size_t>(found - standings_.begin());
  }

  Step NextOf(size_t i) const {
    const Standing& at = standings_[i];
    if (at.waits == Standing::Waits::kPosition) return {Find(at.source), at.position};
    if (at.waits != Standing::Waits::kWord) return {};
    for (const Signal& signal : signals_) {
      if (signal.word != at.word) continue;
      const size_t to = Find(signal.stream);
      if (to != Knot::kNone && signal.position > standings_[to].completed) return {to, signal.position};
    }
    return {};
  }

  void Follow(size_t start) {
    Knot knot;
    size_t at = start;
    Step next;
    for (;;) {
      if (seen_by_[at] == start) return AddCycle(knot, at);
      if (seen_by_[at] != Knot::kNone) return;  // it leads to what is known
      seen_by_[at] = start;
      knot.chain.push_back(at);
      next = NextOf(at);
      knot.awaited.push_back(next.position);
      if (next.to == Knot::kNone) break;
      at = next.to;
    }
    // A position of a stream that has nothing to do any more is being told to the one that waits.
    const Standing::Waits end = standings_[at].waits;
    if (end != Standing::Waits::kNot && end != Standing::Waits::kPosition) knots_.push_back(std::move(knot));
  }

  void AddCycle(const Knot& path, size_t first) {
    const auto begin = std::ranges::find(path.chain, first) - path.chain.begin();
    Knot knot;
    knot.cycle = true;
    knot.chain.assign(path.chain.begin() + begin, path.chain.end());
    knot.awaited.assign(path.awaited.begin() + begin, path.awaited.end());
    knot.for_good = std::ranges::all_of(
        knot.chain, [&](size_t i) { return standings_[i].waits == Standing::Waits::kPosition; });
    knots_.push_back(std::move(knot));
  }

  const std::vector<Standing>& standings_;
  const std::vector<Signal>& signals_;
  std::vector<size_t> seen_by_;  // the stream from which the look began that met it
  std::vector<Knot> knots_;
};

}  // namespace

std::vector<Knot> FindKnots(const std::vector<Standing>& standings, const std::vector<Signal>& signals) {
  return Finder(standings, signals).All();
}

}  // namespace belay::hang
