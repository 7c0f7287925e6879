// How a reduction over several hosts goes together: each host's ranks add up first, in their order, then
// these partial results are added in the order of the hosts, by their lowest ranks. So it depends on where
// ranks are, and on nothing else: not on who made the root info, nor on the way between hosts.
//
// What is reduced is in parts: each for the rank that reduces it further, or one for all. A rank of each
// host, its adder, makes the host's partial result of a part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace belay::coll {

class Placement {
 public:
  // Where each rank is, on hosts that are numbered without a gap.
  explicit Placement(std::span<const uint32_t> host_of);

  // Hosts by their lowest ranks, by which order they are meant here.
  uint32_t hosts() const { return static_cast<uint32_t>(begins_.size() - 1); }
  uint32_t HostOf(uint32_t rank) const { return host_of_[rank]; }
  std::span<const uint32_t> RanksOn(uint32_t host) const {
    return std::span(ranks_).subspan(begins_[host], begins_[host + 1] - begins_[host]);
  }
  // Of all hosts, one after the other.
  std::span<const uint32_t> ranks() const { return ranks_; }
  // Whether nothing is added up within any host.
  bool IsOneEach() const { return hosts() == ranks_.size(); }

  // `part`: of this rank; the number of ranks: of all, where a host has one partial result of everything. On
  // its own host a rank is the adder of its part; on others the ranks share what is theirs.
  uint32_t AdderOf(uint32_t part, uint32_t host) const;

 private:
  std::vector<uint32_t> host_of_;
  std::vector<uint32_t> ranks_;   // host by host
  std::vector<uint32_t> begins_;  // of each host in ranks_, and its end
  std::vector<uint32_t> places_;  // of each rank in ranks_
};

}  // namespace belay::coll
