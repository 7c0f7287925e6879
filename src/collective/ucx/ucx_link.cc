#include "collective/ucx/ucx_link.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace belay::coll {
namespace {

constexpr int kMostProgress = 64;    // of one call
constexpr uint32_t kLooks = 64;      // at UCX for one at the socket
constexpr long kNapNs = 1'000'000;   // between looks at what cannot be waited for
constexpr int kLongestWaitMs = 100;  // for room; whoever makes some tells
constexpr int kMostTurnsOfClosing = 100'000;

template <typename Parameters>
ucp_request_param_t OfRequest(void* self, Parameters set) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.user_data = self;
  set(parameters);
  return parameters;
}

void Ring(const Descriptor& event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t done = write(event.get(), &one, sizeof one);
}

void Silence(const Descriptor& event) {
  uint64_t value;
  [[maybe_unused]] const ssize_t done = read(event.get(), &value, sizeof value);
}

bool Refused(std::string* why, const char* what, ucs_status_t status) {
  if (status == UCS_OK) return false;
  *why = std::string("UCX refused ") + what + ": " + ucs_status_string(status);
  return true;
}

}  // namespace

// --- its life

UcxLink::~UcxLink() {
  if (maker_ != getpid()) return;  // a forked child, which has none of it
  if (endpoint_ != nullptr) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* closing = ucp_ep_close_nbx(endpoint_, &parameters);
    if (UCS_PTR_IS_PTR(closing)) {
      for (int turn = 0; turn < kMostTurnsOfClosing; ++turn) {
        if (ucp_request_check_status(closing) != UCS_INPROGRESS) break;
        ucp_worker_progress(worker_);
      }
      ucp_request_free(closing);
    }
  }
  for (Operation* operation : {&send_, &receive_}) {
    if (operation->request != nullptr) ucp_request_free(operation->request);
  }
  if (address_ != nullptr) ucp_worker_release_address(worker_, address_);
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
  Uncount();
}

bool UcxLink::OpenWorker(std::string* why) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  return !Refused(why, "a worker", ucp_worker_create(context_, &parameters, &worker_)) &&
         !Refused(why, "to be waited for", ucp_worker_get_efd(worker_, &events_)) &&
         !Refused(why, "an address", ucp_worker_get_address(worker_, &address_, &address_bytes_));
}

bool UcxLink::Open(std::string* why) {
  if (!OpenContext(why) || !OpenWorker(why)) return false;
  waits_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  came_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  room_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  nap_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  bool all = waits_ && came_ && room_ && nap_;
  for (const int each : {events_, socket_, came_.get(), nap_.get()}) {
    epoll_event event{EPOLLIN, {.fd = each}};
    all = all && epoll_ctl(waits_.get(), EPOLL_CTL_ADD, each, &event) == 0;
  }
  if (!all) *why = std::string("the system gave nothing to wait with: ") + strerror(errno);
  return all;
}

std::span<const std::byte> UcxLink::address() const noexcept {
  return {reinterpret_cast<const std::byte*>(address_), address_bytes_};
}

bool UcxLink::Connect(std::span<const std::byte> other, std::string* why) noexcept {
  std::lock_guard guard(lock_);
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(other.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler = {&UcxLink::OnError, this};
  return !Refused(why, "a connection", ucp_ep_create(worker_, &parameters, &endpoint_));
}

// --- what UCX tells

void UcxLink::OnSent(void*, ucs_status_t status, void* self) {
  auto& link = *static_cast<UcxLink*>(self);
  link.send_.done = true;
  link.send_.status = status;
}

void UcxLink::OnReceived(void*, ucs_status_t status, size_t bytes, void* self) {
  auto& link = *static_cast<UcxLink*>(self);
  link.receive_.done = true;
  link.receive_.status = status;
  link.receive_.bytes = bytes;
}

void UcxLink::OnError(void* self, ucp_ep_h, ucs_status_t) { static_cast<UcxLink*>(self)->broken_ = true; }

// Whether anything moved. Not for ever: another thread may wait for the lock.
bool UcxLink::Progress(const Operation& until) {
  bool any = false;
  for (int turn = 0; turn < kMostProgress && !until.done && ucp_worker_progress(worker_) != 0; ++turn)
    any = true;
  return any;
}

UcxLink::Result UcxLink::Finish(Operation* operation, size_t* bytes) {
  const Operation done = std::exchange(*operation, {});
  if (done.request != nullptr) ucp_request_free(done.request);
  if (done.status != UCS_OK) {
    broken_ = true;
    return Result::kEnd;
  }
  *bytes = done.bytes;
  return Result::kSome;
}

// --- over the socket

void UcxLink::SendNote(uint64_t kind, uint64_t bytes) {
  const Note note{kind, bytes};  // the few that there are fit
  [[maybe_unused]] const ssize_t sent = send(socket_, &note, sizeof note, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void UcxLink::ReadNotes() {
  while (!ended_) {
    const ssize_t came = recv(socket_, note_.data() + note_bytes_, note_.size() - note_bytes_, MSG_DONTWAIT);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (came <= 0) {
      ended_ = true;
      return;
    }
    note_bytes_ += static_cast<size_t>(came);
    if (note_bytes_ < note_.size()) continue;
    Note note;
    std::memcpy(&note, note_.data(), sizeof note);
    note_bytes_ = 0;
    if (note.kind == kSentInAll) wanted_ = note.bytes;
    if (note.kind == kHaveAll) other_has_all_ = true;
  }
}

void UcxLink::EndSending() noexcept {
  std::lock_guard guard(lock_);
  if (send_.request == nullptr) SendNote(kSentInAll, sent_);  // else it ends in the middle
}

bool UcxLink::AllWasTaken() noexcept {
  std::lock_guard guard(lock_);
  ReadNotes();
  if (ended_ || other_has_all_ || wanted_ != UINT64_MAX) TellReceiver();
  return other_has_all_ || ended_ || broken_;
}

// --- there

UcxLink::Result UcxLink::Send(const iovec* parts, size_t count, size_t* bytes) noexcept {
  std::lock_guard guard(lock_);
  if (broken_ || ended_) return Result::kEnd;
  if (send_.request == nullptr) {
    count = std::min(count, parts_.size());
    send_ = {};
    for (size_t i = 0; i < count; ++i) {
      parts_[i] = {parts[i].iov_base, parts[i].iov_len};
      send_.bytes += parts[i].iov_len;
    }
    const auto parameters = OfRequest(this, [](auto& p) {
      p.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
      p.datatype = UCP_DATATYPE_IOV;
      p.cb.send = &UcxLink::OnSent;
    });
    void* request = ucp_stream_send_nbx(endpoint_, parts_.data(), count, &parameters);
    if (UCS_PTR_IS_ERR(request)) {
      broken_ = true;
      return Result::kEnd;
    }
    send_.request = request;
    send_.done = request == nullptr;
  }
  if (!send_.done) {
    if (Progress(send_)) TellReceiver();
    if (!send_.done) return broken_ ? Result::kEnd : Result::kNothing;
  }
  const Result result = Finish(&send_, bytes);
  if (result == Result::kSome) sent_ += *bytes;
  return result;
}

void UcxLink::AwaitRoom() noexcept {
  bool waits = true;
  {
    std::lock_guard guard(lock_);
    Silence(room_);
    ReadNotes();
    const bool any = Progress(send_);
    waits = ArmWorker();
    if (any || receive_.done || broken_ || ended_ || wanted_ != UINT64_MAX) TellReceiver();
    if (send_.request == nullptr || send_.done || broken_ || ended_) return;
  }
  std::array<pollfd, 3> wait{{{events_, POLLIN, 0}, {room_.get(), POLLIN, 0}, {socket_, POLLRDHUP, 0}}};
  poll(wait.data(), wait.size(), waits ? kLongestWaitMs : 1);
}

// --- and back

void UcxLink::TellReceiver() {
  if (!told_) Ring(came_);
  told_ = true;
}

void UcxLink::TellSender() {
  if (send_.request != nullptr && (send_.done || broken_ || ended_)) Ring(room_);
}

void UcxLink::Post(const iovec& part, bool whole) {
  const auto parameters = OfRequest(this, [&](auto& p) {
    p.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    p.flags = whole ? UCP_STREAM_RECV_FLAG_WAITALL : 0;
    p.cb.recv_stream = &UcxLink::OnReceived;
  });
  receive_ = {};
  size_t bytes = 0;
  void* request = ucp_stream_recv_nbx(endpoint_, part.iov_base, part.iov_len, &bytes, &parameters);
  if (UCS_PTR_IS_ERR(request)) {
    broken_ = true;
    return;
  }
  receive_.request = request;
  if (request == nullptr) receive_.bytes = bytes;
  if (request == nullptr) receive_.done = true;
}

UcxLink::Result UcxLink::Receive(const iovec* parts, size_t count, size_t* bytes) noexcept {
  std::lock_guard guard(lock_);
  *bytes = 0;
  if (told_) Silence(came_);
  told_ = false;
  if (receive_.request == nullptr && !receive_.done && !broken_) Post(parts[0], count > 1);
  bool any = false;
  if (!receive_.done && !broken_) any = Progress(receive_);
  if (send_.done || broken_) TellSender();
  if (receive_.done) {
    const Result result = Finish(&receive_, bytes);
    received_ += *bytes;
    if (result == Result::kSome) return result;
  }
  if (any) return Result::kSome;
  if (slept_ || ++idle_ % kLooks == 0 || broken_) {
    slept_ = false;
    ReadNotes();
    if (ended_) TellSender();
  }
  if (received_ == wanted_ && !std::exchange(said_have_all_, true)) SendNote(kHaveAll, received_);
  // Until then what was sent may still want this thread to get on.
  return ended_ || broken_ || (said_have_all_ && other_has_all_) ? Result::kEnd : Result::kNothing;
}

// True when UCX tells by events_ of what comes next. Who lets it progress without sleeping on them afterwards
// tells who does, because it may have taken what they were to tell of.
bool UcxLink::ArmWorker() {
  for (int turn = 0; turn < kMostProgress; ++turn) {
    const ucs_status_t status = ucp_worker_arm(worker_);
    if (status != UCS_ERR_BUSY) return status == UCS_OK;
    if (ucp_worker_progress(worker_) == 0 && turn > 2) break;
  }
  return false;
}

void UcxLink::Arm() noexcept {
  std::lock_guard guard(lock_);
  slept_ = true;
  if (receive_.request == nullptr || receive_.done || broken_) return TellReceiver();
  const bool waits = ArmWorker();
  TellSender();
  if (receive_.done || broken_) return TellReceiver();
  if (waits && !naps_) return;
  naps_ = !waits;
  const itimerspec once{{0, 0}, {0, waits ? 0 : kNapNs}};  // 0: never
  timerfd_settime(nap_.get(), 0, &once, nullptr);
}

}  // namespace belay::coll
