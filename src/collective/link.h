// A carrier's connection to another host: what goes out over it and what comes in. None of this waits. What
// goes and what comes have a lock each, because a thread of the carrier and one of a rank may do both.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/descriptor.h"
#include "collective/outbox.h"
#include "collective/transport.h"
#include "collective/wire.h"

namespace belay::coll {

class Board;

// Parcels on their way, of which a part may have gone.
class Outgoing {
 public:
  enum class Result { kAll, kBlocked, kBroken };

  // What the ranks here have put for the host, as far as the connection takes it. `any`: some of it went.
  Result Send(Board& board, const Hosts& hosts, Passes& passes, uint32_t host, Transport& over, bool* any);
  // The next thing that goes, where nothing is on its way; false otherwise.
  bool Put(const Frame& frame, std::string text);

 private:
  static constexpr size_t kMostAtOnce = 64;  // parcels of one call
  bool Fill(Board& board, const Hosts& hosts, Passes& passes, uint32_t host);
  void Add(Board& board, size_t number, const Parcel& parcel);

  std::array<Frame, kMostAtOnce> frames_;
  std::array<iovec, 2 * kMostAtOnce> parts_;
  size_t begin_ = 0, end_ = 0;  // of the parts that have not gone
  std::string text_;
};

// Frames as they come. Bytes for the board go straight there.
class Incoming {
 public:
  enum class Result { kSome, kNothing, kEnd, kStrange };

  // By one call. What is for others, too, is handed on.
  Result Receive(Board& board, const Hosts& hosts, Passes& passes, uint32_t host, Transport& over);
  const Frame& strange() const { return frame_; }
  // The other side has said that nothing follows. Its goodbyes may still be on their way over others.
  bool has_ended() const { return has_ended_; }

 private:
  static constexpr size_t kBufferBytes = 8 << 10;
  enum class Applied { kYes, kPart, kNo };
  Applied Apply(Board& board, const Hosts& hosts, Passes& passes, uint32_t host);
  Applied ApplyLeft(Board& board, const Hosts& hosts, Passes& passes, uint32_t host);
  Applied ApplyFailed(Board& board, const Hosts& hosts);
  bool TakeAll(Board& board, const Hosts& hosts, Passes& passes, uint32_t host);
  void TakeBytes(Board& board);
  bool MayCome(const Hosts& hosts, uint32_t by, uint32_t from, uint64_t to) const;
  void HandOn(const Hosts& hosts, Passes& passes) const;

  std::array<std::byte, kBufferBytes> buffer_;
  size_t begin_ = 0, end_ = 0;
  std::byte* to_ = nullptr;  // where the rest of a frame's bytes goes
  size_t left_ = 0;
  Frame frame_;
  uint32_t from_ = 0, for_ = 0;  // of the frame: hosts
  bool has_ended_ = false;
};

struct Link {
  uint32_t host = 0;
  Descriptor socket;                  // under the carrier's lock until the link is ready
  bool begun = false;                 // the same: this side meets the other, or has met it
  std::atomic<bool> ready{false};     // so that ranks may use it
  std::atomic<bool> has_sent{false};  // all

  std::mutex send_lock;
  Outgoing out;
  bool closed = false;              // nothing goes any more
  std::atomic<bool> unsent{false};  // the connection took no more; whoever looks tries again

  std::mutex receive_lock;
  Incoming in;
  bool over = false;  // nothing comes any more

  // Written once, before `ready`. Goes before what it may still read and write.
  std::unique_ptr<Transport> transport;

  // Its receiver sleeps on these, unless it is disarmed: then ranks look themselves.
  Descriptor waits, timer;
  bool armed = true;     // under the carrier's lock, as is
  uint64_t seen = 0;     // looks, when the timer was set
  void PrepareToWait();  // throws HCCL_E_SYSCALL
  void Arm();
  void Disarm();
  void SetTimer();
  bool AwaitTimer();  // or something to receive
};

}  // namespace belay::coll
