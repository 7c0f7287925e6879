// Sends and receives: each pair of ranks has a channel in each direction, whose messages are matched in
// order. A send is over when the data was taken. Where both ranks are in one process, who receives reads the
// sender's buffer, or its memory file where that is another process of the host; else what is small comes
// with the announcement, and the rest in chunks.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/copy_memory.h"
#include "collective/call.h"
#include "runtime/memory.h"
#include "runtime/memory_sharing.h"

namespace belay::coll {
namespace {

constexpr uint8_t kInPayload = 1;
constexpr uint8_t kInFile = 2;  // the payload says where, for who can read it there

// Whether one side has come and the other has not.
bool IsWanted(const ChannelSide& by, const ChannelSide& of) { return by.number.load() > of.number.load(); }

// One message, as one of its two ranks sees it.
class Side {
 public:
  Side(Board& board, const Message& message)
      : board_(board),
        message_(message),
        bytes_(message.count * tensor::BytesOf(message.type)),
        channel_(message.sends ? board.channel(board.rank(), message.peer)
                               : board.channel(message.peer, board.rank())),
        turns_(message.sends ? board.sends(message.peer) : board.receives(message.peer)) {}

  void Start() {
    number_ = turns_.Take();
    announced_ = over_ = staged_ = false;
    chunk_ = 0;
    data_ = static_cast<std::byte*>(rt::View(message_.buffer, bytes_));
  }
  bool over() const { return over_; }
  bool CanMove() const {
    if (over_) return false;
    if (!announced_) return turns_.IsTurnOf(number_);
    return message_.sends ? CanSend() : CanReceive();
  }
  void Move() {
    if (!announced_) {
      Announce();
    } else if (message_.sends) {
      Send();
    } else {
      Receive();
    }
  }
  bool Needs(uint32_t rank) const {
    return !over_ && announced_ && rank == message_.peer && other().number.load() < number_;
  }
  void EndTurn() { board_.EndTurn(turns_, number_); }
  const Message& message() const { return message_; }
  std::string WaitsFor() const;

 private:
  bool Small() const { return bytes_ <= Board::kSmallMessage; }
  bool Here() const { return board_.IsHere(message_.peer); }
  uint64_t Chunks() const { return (bytes_ + board_.chunk_bytes() - 1) / board_.chunk_bytes(); }
  ChannelSide& own() const { return message_.sends ? channel_.sender : channel_.receiver; }
  const ChannelSide& other() const { return message_.sends ? channel_.receiver : channel_.sender; }

  void Announce() {
    ChannelSide& side = own();
    side.count = message_.count;
    side.address = reinterpret_cast<uintptr_t>(data_);
    side.type = static_cast<uint8_t>(message_.type);
    side.flags = 0;
    side.since_ns = NowNs();
    if (message_.sends && Small()) {
      side.flags = kInPayload;
      if (bytes_ > 0) CopyMemory(channel_.payload, data_, bytes_);
    } else if (message_.sends && PutPlace()) {
      side.flags = kInFile;
    }
    announced_ = true;
    if (message_.sends) {  // who receives may be done, and make the next, before the sender has heard of it
      board_.Share(&side.count, sizeof side - offsetof(ChannelSide, count), message_.peer);
      if (Small()) board_.Share(channel_.payload, bytes_, message_.peer);
    }
    board_.Publish(side.number, number_, message_.peer);
  }

  bool PutPlace() {
    if (bytes_ < rt::SharedMemory::kLeastShown || Here() || !board_.ReadsPeers()) return false;
    const auto place = rt::SharedMemory::Get().PlaceOf(message_.buffer, bytes_);
    if (place) std::memcpy(channel_.payload, &*place, sizeof *place);
    return place.has_value();
  }

  bool Taken() const {
    return channel_.receiver.moved.load(std::memory_order_seq_cst) >= Mark(number_, kAllSteps);
  }
  bool CanSend() const {
    if (Taken()) return true;
    if (Small() || Here() || chunk_ == Chunks()) return false;
    // Who receives asks for it when it cannot read it where it is.
    if (channel_.sender.flags == kInFile &&
        channel_.receiver.moved.load(std::memory_order_seq_cst) < Mark(number_, 0))
      return false;
    return chunk_ < 2 || channel_.receiver.moved.load(std::memory_order_seq_cst) >= Mark(number_, chunk_ - 1);
  }
  void Send() {
    if (Taken()) {
      over_ = true;
      return;
    }
    size_t at = chunk_ * board_.chunk_bytes();
    const size_t bytes = std::min(board_.chunk_bytes(), bytes_ - at);
    std::byte* staged = board_.channel_staging(board_.rank(), message_.peer, chunk_);
    CopyMemory(staged, data_ + at, bytes);
    board_.Share(staged, bytes, message_.peer);
    ++chunk_;
    board_.Publish(channel_.sender.moved, Mark(number_, chunk_), message_.peer);
  }

  bool CanReceive() const {
    if (channel_.sender.number.load(std::memory_order_seq_cst) < number_) return false;
    return Differs() || Small() || Here() || IsInFile() ||
           channel_.sender.moved.load(std::memory_order_seq_cst) >= Mark(number_, chunk_ + 1);
  }
  bool Differs() const {
    return channel_.sender.count != message_.count ||
           channel_.sender.type != static_cast<uint8_t>(message_.type);
  }
  bool IsInFile() const { return channel_.sender.flags == kInFile && !staged_; }
  // False where the system refuses, or another stream of this rank is reading.
  bool ReadInPlace() {
    rt::FilePlace place;
    std::memcpy(&place, channel_.payload, sizeof place);
    if (!board_.ReadsPeers() || !board_.ReadMessage(place, data_, bytes_)) return false;
    std::atomic_thread_fence(std::memory_order_acquire);  // what was read was read before the look
    if (board_.failed()) throw board_.Failure();
    return true;
  }
  [[noreturn]] void FailMismatch() const;
  void Receive() {
    if (Differs()) FailMismatch();
    bool last = true;
    if (IsInFile()) {
      staged_ = !ReadInPlace();
      last = !staged_;
    } else if (Small() || Here()) {
      const void* from = Small() ? channel_.payload : reinterpret_cast<const void*>(channel_.sender.address);
      if (bytes_ > 0) std::memmove(data_, from, bytes_);
    } else {
      size_t at = chunk_ * board_.chunk_bytes();
      CopyMemory(data_ + at, board_.channel_staging(message_.peer, board_.rank(), chunk_),
                 std::min(board_.chunk_bytes(), bytes_ - at));
      last = ++chunk_ == Chunks();
    }
    over_ = last;
    board_.Publish(channel_.receiver.moved, Mark(number_, last ? kAllSteps : chunk_), message_.peer);
  }

  Board& board_;
  const Message& message_;
  const size_t bytes_;
  Board::Channel& channel_;
  Turns& turns_;
  std::byte* data_ = nullptr;
  uint64_t number_ = 0;
  uint64_t chunk_ = 0;
  bool announced_ = false;
  bool over_ = false;
  bool staged_ = false;  // though it lies in a file
};

std::string SaidOf(const Message& m) {
  return Said(m.sends ? Kind::kSend : Kind::kReceive, m.count, m.type, Reduction::kSum, m.peer);
}

void Side::FailMismatch() const {
  const ChannelSide& sender = channel_.sender;
  board_.MarkFailed(
      message_.peer, FailureKind::kMismatch,
      fmt::format(
          "as message {} of communicator \"{}\" from rank {} to rank {}, the first made {} and the second {}; "
          "both must say the same count and type",
          number_, board_.name(), message_.peer, board_.rank(),
          Said(Kind::kSend, sender.count, static_cast<tensor::DType>(sender.type), Reduction::kSum,
               board_.rank()),
          SaidOf(message_)));
  throw board_.Failure();
}

// Where both sides send first, that is why.
std::string Side::WaitsFor() const {
  uint32_t peer = message_.peer;
  if (!announced_) {
    return fmt::format("an earlier {} rank {} has not ended", message_.sends ? "send to" : "receive from",
                       peer);
  }
  if (other().number.load() >= number_) return fmt::format("rank {} has begun and does not get on", peer);
  std::string why = fmt::format("rank {} has not made the {} for it{}", peer,
                                message_.sends ? NameOf(Kind::kReceive) : NameOf(Kind::kSend),
                                WaitsElsewhere(board_, peer));
  const bool same = message_.sends ? IsWanted(board_.channel(peer, board_.rank()).sender,
                                              board_.channel(peer, board_.rank()).receiver)
                                   : IsWanted(board_.channel(board_.rank(), peer).receiver,
                                              board_.channel(board_.rank(), peer).sender);
  if (same) why += fmt::format(": one of the two must {} first", message_.sends ? "receive" : "send");
  return why;
}

class MessagesCall final : public Call {
 public:
  MessagesCall(Board& board, std::shared_ptr<Hooks> hooks, const Operation& o)
      : Call(board, std::move(hooks), o) {
    for (const Message& message : operation().messages) sides_.emplace_back(board, message);
  }
  void BufferRanges(rt::RangeVisitor& visit) const override {
    for (const Message& m : operation().messages) {
      size_t bytes = m.count * tensor::BytesOf(m.type);
      if (bytes == 0) continue;
      if (m.sends) {
        visit.Reads(m.buffer, bytes);
      } else {
        visit.Writes(m.buffer, bytes);
      }
    }
  }
  // Those to a rank stand in one, those from it in another.
  void Lines(std::vector<uint64_t>* lines) const override {
    for (const Message& m : operation().messages)
      lines->push_back(board().Line(2 * uint64_t{m.peer} + (m.sends ? 2 : 1)));
  }

 private:
  void Start() override {
    for (Side& side : sides_) side.Start();
  }
  bool Over() const override {
    return std::all_of(sides_.begin(), sides_.end(), [](const Side& s) { return s.over(); });
  }
  bool CanMove() const override {
    return std::any_of(sides_.begin(), sides_.end(), [](const Side& s) { return s.CanMove(); });
  }
  void Move() override {
    for (Side& side : sides_) {
      if (!side.CanMove()) continue;
      side.Move();
      if (side.over()) side.EndTurn();
    }
  }
  bool Needs(uint32_t rank) const override {
    return std::any_of(sides_.begin(), sides_.end(), [&](const Side& s) { return s.Needs(rank); });
  }
  void End() override {}
  std::string WaitsFor(uint32_t* who) const override {
    for (const Side& side : sides_) {
      if (side.over()) continue;
      *who = side.message().peer;
      return side.WaitsFor();
    }
    return "";
  }

  std::vector<Side> sides_;
};

}  // namespace

// A collective that this rank has not made is one that the other waits in for sure. The last two that it has
// announced stand on the board. Of messages, those between ranks of which one is on this host.
std::string WaitsElsewhere(const Board& board, uint32_t rank) {
  const auto last_of = [&](uint32_t r) {
    return std::max(board.announcement(r, 0).number.load(), board.announcement(r, 1).number.load());
  };
  if (const uint64_t number = last_of(rank); number > last_of(board.rank())) {
    const Announcement& said = board.announcement(rank, number);
    return fmt::format(", but waits in {}, which rank {} has not made",
                       Said(static_cast<Kind>(said.kind), said.count, static_cast<tensor::DType>(said.type),
                            static_cast<Reduction>(said.op), said.root),
                       board.rank());
  }
  for (uint32_t i = 0; i < board.ranks(); ++i) {
    const uint32_t peer = (board.rank() + i) % board.ranks();
    const char* itself = peer == board.rank() ? " itself" : "";
    const Board::Channel& to = board.channel(rank, peer);
    const Board::Channel& from = board.channel(peer, rank);
    if (IsWanted(to.sender, to.receiver))
      return fmt::format(", but waits in a {} to rank {}{}", NameOf(Kind::kSend), peer, itself);
    if (IsWanted(from.receiver, from.sender))
      return fmt::format(", but waits in a {} from rank {}{}", NameOf(Kind::kReceive), peer, itself);
  }
  return "";
}

std::unique_ptr<Call> MakeMessages(Board& board, std::shared_ptr<Hooks> hooks, const Operation& operation) {
  return std::make_unique<MessagesCall>(board, std::move(hooks), operation);
}

}  // namespace belay::coll
