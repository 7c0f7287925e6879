// How a rank joins its group: it goes to the meeting point (root.h), says who it is, and waits for the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "collective/communicator.h"
#include "collective/root_info.h"
#include "collective/wire.h"

namespace belay::coll {

// Who comes, and where to.
struct Meeting {
  RootInfo root;
  bool root_comes_later = false;  // from a rank table: the one that starts the meeting point may be late
  Id group{};                     // all zero: that of the root info
  uint32_t rank = 0;
  uint32_t ranks = 0;
  int device = 0;  // by the numbers of this process
  uint64_t staging_bytes = 0;
  int64_t timeout_ns = 0;
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
};

class Joining {
 public:
  // Comes there and says hello. Throws HCCL_E_TCP_CONNECT when nobody is there.
  explicit Joining(const Meeting& meeting);
  // Waits for the others.
  std::unique_ptr<Membership> Finish();

 private:
  Descriptor Connect();
  Inbox::Message AwaitMessage(Descriptor* file);
  std::unique_ptr<Membership> Enter(const Inbox::Message& message, const Descriptor& file);
  void CheckStillRunning() const;

  const Meeting meeting_;
  const int64_t deadline_ns_;
  Descriptor line_;
};

}  // namespace belay::coll
