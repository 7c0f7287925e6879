#include "collective/line.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "collective/communicator.h"
#include "collective/sockets.h"

namespace belay::coll {

Line::Line(Communicator& communicator, Descriptor socket, int32_t root_process)
    : communicator_(communicator),
      root_end_(root_process == getpid() || root_process == 0 ? Descriptor() : WatchProcess(root_process)),
      owner_(getpid()),
      socket_(std::move(socket)) {}

void Line::Ask(Files* to) {
  to->push_back({socket_.get(), POLLIN, 0});
  to->push_back({root_end_.get(), POLLIN, 0});
}

bool Line::Look(std::span<const pollfd> came) {
  over_ = over_ || (came[0].revents != 0 && !Hear()) || came[1].revents != 0;
  if (over_) communicator_.RootEnded();
  return !over_;
}

// False when nothing will come any more.
bool Line::Hear() {
  std::array<std::byte, 4096> bytes;
  size_t count = 0;
  switch (Receive(socket_, bytes, &count)) {
    case Received::kNothing:
      return true;
    case Received::kEnd:
      return false;
    case Received::kBytes:
      break;
  }
  try {
    inbox_.Append(std::span(bytes).first(count));
    while (std::optional<Inbox::Message> message = inbox_.Take()) {
      if (message->kind == MessageKind::kEvent) communicator_.Heard(DecodeEvent(message->body));
    }
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

void Line::Leave() noexcept {
  Watch::Get().Remove(this);
  LeaveAtExit();
  socket_.Close();
  root_end_.Close();
}

void Line::LeaveAtExit() noexcept {
  std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || owner_ != getpid() || !socket_ || std::exchange(said_, true)) return;
  communicator_.SayGoodbye();
  try {
    Send(socket_, EncodeLeave());
  } catch (const std::exception&) {  // without memory for 12 bytes it looks as if the process had ended
  }
}

}  // namespace belay::coll
