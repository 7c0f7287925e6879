// What brings the bytes of a link to another host, in their order (link.h). The two carriers have a socket
// between them, on which one has shown the group's secret. TCP sends over that itself; another engine is told
// by it where the other side is, and that this side has ended. Whoever shuts the socket down ends it all:
// nothing goes or comes any more, and who waits gets on.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace belay::coll {

// Closed when it is destroyed: until then it may read and write what it was given. One thread may send while
// another receives; neither of them waits.
class Transport {
 public:
  enum class Result { kSome, kNothing, kEnd };

  virtual ~Transport() = default;

  // Before anything else: the other side gets the address, and this one its. Empty: there is none to tell.
  virtual std::span<const std::byte> address() const noexcept = 0;
  // False with the reason.
  virtual bool Connect(std::span<const std::byte> other, std::string* why) noexcept = 0;

  // What is not taken, or not filled, comes again at the same place with the next call. kSome may be of no
  // bytes: then something moved all the same. The first of several parts may come in one piece only.
  virtual Result Send(const iovec* parts, size_t count, size_t* bytes) noexcept = 0;
  virtual Result Receive(const iovec* parts, size_t count, size_t* bytes) noexcept = 0;

  // Readable when there may be something to receive; who sleeps on it calls Arm before that. Who has
  // something to send also asks whether it takes more (POLLOUT).
  virtual int descriptor() const noexcept = 0;
  virtual void Arm() noexcept = 0;
  // Until more can be sent, or has been.
  virtual void AwaitRoom() noexcept = 0;

  // Nothing follows what was sent, which the other side still gets.
  virtual void EndSending() noexcept = 0;
  // Whether that no longer depends on this process.
  virtual bool AllWasTaken() noexcept = 0;
};

class Engine {
 public:
  virtual const char* name() const noexcept = 0;
  virtual uint32_t number() const noexcept = 0;  // that the other side wants to have, too
  // The socket stays open for as long as what is made lives. Null with the reason.
  virtual std::unique_ptr<Transport> Open(int socket, std::string* why) const noexcept = 0;

 protected:
  ~Engine() = default;
};

const Engine& TcpEngine() noexcept;

// The one that BELAY_COLLECTIVE_ENGINE names, loaded if it is none of ours. Throws HCCL_E_PARA when there is
// none of that name, HCCL_E_NOT_SUPPORT when it is not installed.
const Engine& EngineOfEnvironment();

// The only symbol of the library of an engine.
constexpr const char* kEngineEntry = "belay_link_engine";
using EngineEntry = const Engine*();

}  // namespace belay::coll
