// A link by UCX: a worker of its own with one endpoint, and a stream of bytes in each direction. UCX finds
// the way itself (shared memory, TCP, RDMA).
//
// The socket on which the carriers met stays open beside it. It says how many bytes a side has sent in all
// when it ends, that they have come, and by its end that the other process has ended. UCX may tell of that
// much later, or never.
#pragma once

#include <sys/types.h>
#include <ucp/api/ucp.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/descriptor.h"
#include "collective/transport.h"

namespace belay::coll {

class UcxLink final : public Transport {
 public:
  explicit UcxLink(int socket) : socket_(socket) {}
  ~UcxLink() override;
  UcxLink(const UcxLink&) = delete;
  UcxLink& operator=(const UcxLink&) = delete;
  bool Open(std::string* why);

  std::span<const std::byte> address() const noexcept override;
  bool Connect(std::span<const std::byte> other, std::string* why) noexcept override;
  Result Send(const iovec* parts, size_t count, size_t* bytes) noexcept override;
  Result Receive(const iovec* parts, size_t count, size_t* bytes) noexcept override;
  int descriptor() const noexcept override { return waits_.get(); }
  void Arm() noexcept override;
  void AwaitRoom() noexcept override;
  void EndSending() noexcept override;
  bool AllWasTaken() noexcept override;

 private:
  // Of one direction, at most one at a time. Its callback is called by whoever lets the worker progress.
  struct Operation {
    void* request = nullptr;
    size_t bytes = 0;
    bool done = false;
    ucs_status_t status = UCS_OK;
  };
  struct Note {  // over the socket
    uint64_t kind, bytes;
  };
  enum : uint64_t { kSentInAll = 1, kHaveAll };

  static void OnSent(void* request, ucs_status_t status, void* self);
  static void OnReceived(void* request, ucs_status_t status, size_t bytes, void* self);
  static void OnError(void* self, ucp_ep_h endpoint, ucs_status_t status);

  static void Uncount();  // of those that are open
  bool OpenContext(std::string* why);
  bool OpenWorker(std::string* why);
  // All under lock_.
  bool Progress(const Operation& until);
  bool ArmWorker();
  Result Finish(Operation* operation, size_t* bytes);
  void Post(const iovec& part, bool whole);
  void ReadNotes();
  void SendNote(uint64_t kind, uint64_t bytes);
  void TellReceiver();
  void TellSender();

  const int socket_;
  const pid_t maker_ = getpid();
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_address_t* address_ = nullptr;
  size_t address_bytes_ = 0;
  int events_ = -1;   // UCX's
  Descriptor waits_;  // for these, and for the rest
  Descriptor came_;   // what a sender found
  Descriptor room_;   // what a receiver found
  Descriptor nap_;    // UCX cannot be waited for just now

  std::mutex lock_;
  Operation send_, receive_;
  std::array<ucp_dt_iov_t, 128> parts_;
  uint64_t sent_ = 0, received_ = 0;
  uint64_t wanted_ = UINT64_MAX;  // that the other side has sent in all
  bool broken_ = false;           // UCX says so
  bool ended_ = false;            // the socket says so
  bool other_has_all_ = false, said_have_all_ = false;
  bool told_ = false;  // came_ is readable
  bool naps_ = false;  // nap_ is set
  bool slept_ = true;  // so that the socket may have something
  uint32_t idle_ = 0;
  std::array<std::byte, sizeof(Note)> note_;
  size_t note_bytes_ = 0;
};

}  // namespace belay::coll
