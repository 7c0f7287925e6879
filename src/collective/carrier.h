// Who carries for the ranks of a host what they share with those of other hosts (board.h, outbox.h): in the
// process of one of them, over one connection to each other host. What comes from there is written to the
// same place of this host's board, in the order in which it was shared, and rings the bells of the ranks
// here.
//
// A connection is made when a rank of either host first has something for the other. Both may do so at once:
// then the one that the later host makes counts. So the earlier one, when it comes, waits for an answer,
// which it does not get where the other is about to come itself.
//
// It outlives its rank's communicator until all ranks of this host have left, because it carries for them
// too.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/spin_lock.h"
#include "collective/board.h"
#include "collective/communicator.h"
#include "collective/link.h"
#include "collective/transport.h"
#include "collective/wire.h"

namespace belay::coll {

class Membership;

struct CarrierPlan {
  SharedBoard shared;  // stays mapped; `owned`: until the carrier has ended
  bool owned = false;
  std::shared_ptr<const Hosts> hosts;
  std::string name;  // of the communicator
  // Where the others are met, who come to the listener here.
  std::vector<WelcomeHost> places;
  Secret secret{};
  Id group{};
  int64_t timeout_ns = 0;  // of a connection, from when it is wanted
  Descriptor listener;
  Descriptor memory;  // kept for the other ranks of the host, which may not have opened it yet
  const Engine* engine = &TcpEngine();
};

// Where carriers of other hosts come: where a setting says, else on this address. Throws as ListenTcp does.
Descriptor ListenForCarriers(const Address& otherwise, Place* place);

class Carrier final : public Courier {
 public:
  // `connected`: sockets to the other hosts, for tests; else as the plan says. Throws HCCL_E_SYSCALL.
  explicit Carrier(CarrierPlan plan, std::vector<Descriptor> connected = {});
  ~Carrier() override;
  void End() noexcept;  // at once; see Flush
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  // Until all that the ranks here have shared is with the others, they have left, and so it may end; false
  // when the time has come before.
  bool Flush(int64_t deadline_ns) noexcept;
  bool ended() const { return running_.load(std::memory_order_acquire) == 0; }

  bool Push(uint32_t host) noexcept override;
  void BeginLooking() noexcept override;
  bool Look() noexcept override;
  void EndLooking(bool somebody_waits) noexcept override;
  bool Sleep(int64_t ns) noexcept override;

  // One that the process keeps for as long as it is needed.
  static std::shared_ptr<Carrier> Start(Membership& membership, const std::string& name);
  // At the end of the process, or of the runtime: of all, in which the ranks of this process have left.
  static void EndAll() noexcept;

 private:
  struct Job {
    Carrier* carrier;
    void (Carrier::*what)(Link*);
    Link* link;
    pthread_t thread;
  };
  void Run(void (Carrier::*what)(Link*), Link* link);
  static void* Main(void* job);
  void MeetWanted(Link*);
  void AcceptAll(Link*);
  void Reach(Link* link);
  void Invite(Link* link);
  void Meet(Link* link);
  void Send(Link* link);
  void Receive(Link* link);
  bool MeetAllWanted();
  bool MayBeWanted() const;
  void Accept(Descriptor socket);
  void Welcome(const LinkHello& hello, Descriptor socket);
  Descriptor Connect(uint32_t host, int64_t deadline_ns);
  bool AwaitAnswer(const Descriptor& socket, int64_t deadline_ns) const;
  std::string CannotReach(uint32_t host, int error) const;
  bool Open(Link* link);
  bool Exchange(Link* link, Transport* transport);
  void Refuse(Link* link, const std::string& sentence);
  bool SendSome(Link* link, bool* any);
  void SendFailure(Link* link);
  void SendLast(Link* link, const Frame& frame, const std::string& text);
  void AwaitRoom(Link* link, uint32_t rings);
  bool ReceiveSome(Link* link);
  void Tick(Link* link);
  void Wake(Link* link);
  bool AllLeft(uint32_t host) const;
  bool AllLeftOver(uint32_t by, uint32_t to) const;
  void SendPasses() noexcept;
  void FailLink(uint32_t host, const std::string& why);

  CarrierPlan plan_;
  const Hosts& hosts_;
  Board board_;
  const int32_t maker_;
  const bool lingers_;
  const bool hands_on_;  // for other hosts
  Passes passes_;
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> running_{0};  // threads
  SpinLock look_lock_;                // of what its threads sleep on
  std::atomic<uint32_t> lookers_{0};  // changed under look_lock_
  uint64_t looks_ = 0;                // under look_lock_
  std::mutex lock_;
  std::condition_variable came_;  // a socket of a link
  bool closed_ = false;           // under lock_: nobody may come any more
  std::list<Link> links_;
  std::list<Job> jobs_;  // under lock_
};

}  // namespace belay::coll
