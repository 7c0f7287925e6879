// Over which hosts goes what one host has for another, and for all others. From each to each there is one way
// only, so that what one host has put in order arrives in order.
//
//   direct    to each, without another between
//   ring      to the next host, which hands it on; each has two neighbours
//   doubling  in steps of 1, 2, 4, ... hosts, the shorter ones first: what a host has for all goes down
//             a tree with it at the top. Each has the hosts at such distances as neighbours, both ways
#pragma once

#include <bit>
#include <cstdint>

namespace belay::coll {

enum class WayKind : uint32_t { kUnsaid, kDirect, kRing, kDoubling };
constexpr uint32_t kWayKinds = 4;

class Way {
 public:
  // Where no way was asked for: direct between a few hosts, where each has a connection to each.
  static constexpr uint32_t kMostDirect = 16;
  static WayKind Among(WayKind asked, uint32_t hosts) {
    if (asked != WayKind::kUnsaid) return asked;
    return hosts <= kMostDirect ? WayKind::kDirect : WayKind::kDoubling;
  }

  Way(WayKind kind, uint32_t hosts) : kind_(kind), hosts_(hosts) {}

  // The one from which `to` gets what `from` has for it or for all.
  uint32_t Before(uint32_t from, uint32_t to) const {
    const uint32_t distance = Distance(from, to);
    switch (kind_) {
      case WayKind::kRing:
        return At(to, hosts_ - 1);
      case WayKind::kDoubling:
        return At(from, distance - std::bit_floor(distance));
      default:
        return from;
    }
  }

  // Whether what `from` has for `to` (hosts: for all) comes by `at`.
  bool IsOn(uint32_t from, uint32_t at, uint32_t to) const {
    if (to == hosts_ || at == to) return true;
    const uint32_t done = Distance(from, at), whole = Distance(from, to);
    if (kind_ == WayKind::kRing) return done < whole;
    return kind_ == WayKind::kDoubling && done < whole && (whole & (std::bit_ceil(done + 1) - 1)) == done;
  }

  // To whom `at`, by which it comes, hands it on, or begins with.
  template <class F>
  void ForEachNext(uint32_t from, uint32_t at, uint32_t to, F next) const {
    if (to == hosts_) return ForEachNextOfAll(from, at, next);
    if (at == to) return;
    const uint32_t left = Distance(from, to) - Distance(from, at);
    if (kind_ == WayKind::kDirect) return next(to);
    next(At(at, kind_ == WayKind::kRing ? 1 : left & (~left + 1)));
  }

  // Whether anything goes between the two without another between.
  bool AreNeighbours(uint32_t a, uint32_t b) const {
    const uint32_t there = Distance(a, b), back = Distance(b, a);
    if (kind_ == WayKind::kRing) return there == 1 || back == 1;
    return kind_ != WayKind::kDoubling || std::has_single_bit(there) || std::has_single_bit(back);
  }

 private:
  uint32_t Distance(uint32_t from, uint32_t to) const { return to >= from ? to - from : to + hosts_ - from; }
  uint32_t At(uint32_t from, uint32_t distance) const {
    return from + distance < hosts_ ? from + distance : from + distance - hosts_;
  }
  template <class F>
  void ForEachNextOfAll(uint32_t from, uint32_t at, F next) const {
    const uint32_t done = Distance(from, at);
    if (kind_ == WayKind::kRing) {
      if (done + 1 < hosts_) next(At(at, 1));
    } else if (kind_ == WayKind::kDoubling) {
      for (uint32_t step = std::bit_ceil(done + 1); done + step < hosts_; step *= 2) next(At(at, step));
    } else if (done == 0) {
      for (uint32_t host = 0; host < hosts_; ++host) {
        if (host != from) next(host);
      }
    }
  }

  WayKind kind_;
  uint32_t hosts_;
};

}  // namespace belay::coll
