// How a rank joins its group: it goes to the meeting point (root.h), says who it is, and waits for the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "collective/communicator.h"
#include "collective/outbox.h"
#include "collective/root_info.h"
#include "collective/wire.h"

namespace belay::coll {

// Who comes, and where to.
struct Meeting {
  RootInfo root;
  bool root_comes_later = false;  // from a rank table: the one that starts the meeting point may be late
  Id group{};                     // all zero: that of the root info
  Claim claim;                    // of a part
  HandleBits whole = 0;           // that it is a part of
  Id host{};                      // the machine of who comes; all zero: ThisHost
  uint32_t rank = 0;
  uint32_t ranks = 0;
  int device = 0;  // by the numbers of this process
  uint64_t staging_bytes = 0;
  int64_t timeout_ns = 0;
  WayKind way = WayKind::kUnsaid;  // that is asked for between hosts; rank 0's counts
  bool by_rank = false;            // reductions go in the order of the ranks; rank 0's counts
};

// What a rank has when all have met. Unmaps the memory at its end.
class Membership {
 public:
  Membership() = default;
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  RootInfo root;
  uint32_t rank = 0;
  uint32_t root_rank = 0;  // whose process is the meeting point; the number of ranks: nobody's
  std::vector<Peer> peers;
  SharedBoard board;
  Descriptor line;  // to the meeting point
  Id host{};
  bool root_is_here = true;
  HandleBits whole = 0;  // the communicator that it is a part of; 0: of none

  // Where ranks are on several hosts: where each is, and how who carries for a host is found.
  std::shared_ptr<const Hosts> hosts;
  std::vector<WelcomeHost> places;
  Id group{};
  int64_t timeout_ns = 0;
  // Of the rank that carries: what others map, and where other hosts come.
  Descriptor memory;
  Descriptor listener;
};

// The memory of a group; throws HCCL_E_MEMORY.
std::byte* MapBoard(const Descriptor& file, size_t bytes);

class Joining {
 public:
  // Comes there and says hello. Throws HCCL_E_TCP_CONNECT when nobody is there.
  explicit Joining(const Meeting& meeting);
  // Waits for the others.
  std::unique_ptr<Membership> Finish();

 private:
  Descriptor Connect();
  Descriptor ConnectElsewhere() const;
  void AwaitRoot() const;
  void PrepareToCarry(Place* place);
  Inbox::Message AwaitMessage(std::span<Descriptor> files);
  std::unique_ptr<Membership> Enter(const Inbox::Message& message, std::span<Descriptor> files);
  void EnterSeveral(const Welcome& welcome, Welcomed who, std::span<Descriptor> files, Membership* made);
  Descriptor OpenMemory(const Membership& made);
  void CheckStillRunning() const;

  const Meeting meeting_;
  const int64_t deadline_ns_;
  const Id host_;
  const bool root_is_elsewhere_;
  Descriptor line_;
  // Of a rank on another machine than the meeting point's, until it is known who carries there.
  Descriptor memory_;
  Descriptor listener_;
};

}  // namespace belay::coll
