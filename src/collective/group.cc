#include "collective/group.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/handle_table.h"
#include "base/hcclresult_codes.h"
#include "runtime/stream.h"

namespace belay::coll {
namespace {

enum class Role { kNothing, kJoins, kCollectives, kMessages };

// A call that waits for the end of the group. It keeps the communicator; the stream may end meanwhile.
class KeptCall {
 public:
  KeptCall(Communicator& communicator, rt::Stream& stream, const Operation& operation)
      : communicator_(&communicator), stream_(rt::Streams().HandleOf(&stream)), operation_(operation) {
    communicator_->Ref();
  }
  ~KeptCall() {
    if (communicator_ != nullptr) communicator_->Unref();
  }
  KeptCall(KeptCall&& from) noexcept
      : communicator_(std::exchange(from.communicator_, nullptr)),
        stream_(from.stream_),
        operation_(std::move(from.operation_)) {}
  KeptCall& operator=(KeptCall&&) = delete;

  bool GoesWith(const KeptCall& other) const {
    return communicator_ == other.communicator_ && stream_ == other.stream_;
  }
  Operation& operation() { return operation_; }
  const Operation& operation() const { return operation_; }

  void Submit() const {
    rt::Stream* stream = rt::Streams().Find(stream_);
    if (stream == nullptr) {
      Fail(codes::kHcclEPara, "group-stream",
           "the stream of an {} in the group was destroyed before HcclGroupEnd", NameOf(operation_.kind));
    }
    coll::Submit(*communicator_, *stream, operation_);
  }

 private:
  Communicator* communicator_;
  HandleBits stream_;
  Operation operation_;
};

struct KeptJoin {
  Meeting meeting;
  CommunicatorConfig config;
  Made made;
};

struct Group {
  uint32_t depth = 0;
  Role part = Role::kNothing;
  std::vector<KeptCall> calls;
  std::vector<KeptJoin> joins;

  void Be(Role wanted) {
    if (part != Role::kNothing && part != wanted) {
      Fail(codes::kHcclEPara, "group-kinds",
           "a group of HcclGroupStart makes communicators, or calls collectives, or sends and receives; end "
           "it before something else");
    }
    part = wanted;
  }
};

thread_local Group t_group;

// The messages of one communicator and stream get on together, but for a second one between the same ranks,
// which comes after all first ones on either side.
std::vector<KeptCall> Together(std::vector<KeptCall> calls) {
  struct Batch {
    KeptCall call;
    size_t turn;
  };
  std::vector<Batch> batches;
  for (KeptCall& call : calls) {
    const Message& message = call.operation().messages.front();
    size_t turn = 0;
    const auto has_it = [&](const Batch& batch) {
      if (batch.turn != turn || !batch.call.GoesWith(call)) return false;
      const std::vector<Message>& messages = batch.call.operation().messages;
      return std::any_of(messages.begin(), messages.end(), [&](const Message& other) {
        return other.peer == message.peer && other.sends == message.sends;
      });
    };
    while (std::any_of(batches.begin(), batches.end(), has_it)) ++turn;
    const auto place = std::find_if(batches.begin(), batches.end(), [&](const Batch& batch) {
      return batch.turn == turn && batch.call.GoesWith(call);
    });
    if (place == batches.end()) {
      batches.push_back({std::move(call), turn});
    } else {
      place->call.operation().kind = Kind::kBatch;
      place->call.operation().messages.push_back(message);
    }
  }
  std::vector<KeptCall> together;
  for (Batch& batch : batches) together.push_back(std::move(batch.call));
  return together;
}

// All say hello before the first one waits.
void MakeAll(const std::vector<KeptJoin>& joins) {
  std::deque<Joining> all;
  for (const KeptJoin& join : joins) all.emplace_back(join.meeting);
  std::vector<Communicator*> made;
  try {
    for (size_t i = 0; i < joins.size(); ++i) {
      made.push_back(&Communicator::Create(all[i].Finish(), joins[i].config, joins[i].meeting.device));
    }
  } catch (...) {
    for (Communicator* each : made) Communicator::Destroy(*each);
    throw;
  }
  for (size_t i = 0; i < joins.size(); ++i) joins[i].made(*made[i]);
}

}  // namespace

void BeginGroup() { ++t_group.depth; }
bool InGroup() { return t_group.depth != 0; }

void EndGroup() {
  if (t_group.depth == 0) {
    Fail(codes::kHcclEPara, "group-end", "no group is open in this thread; call HcclGroupStart first");
  }
  if (--t_group.depth != 0) return;
  Group group = std::exchange(t_group, {});
  if (group.part == Role::kMessages) group.calls = Together(std::move(group.calls));
  for (const KeptCall& call : group.calls) call.Submit();
  if (!group.joins.empty()) MakeAll(group.joins);
}

bool KeepForGroup(Communicator& communicator, rt::Stream& stream, const Operation& operation) {
  if (t_group.depth == 0) return false;
  if (operation.kind == Kind::kBatch) {
    Fail(codes::kHcclEPara, "group-kinds",
         "HcclBatchSendRecv does not go into a group of HcclGroupStart; use HcclSend and HcclRecv there");
  }
  t_group.Be(operation.messages.empty() ? Role::kCollectives : Role::kMessages);
  t_group.calls.emplace_back(communicator, stream, operation);
  return true;
}

bool KeepForGroup(const Meeting& meeting, const CommunicatorConfig& config, const Made& made) {
  if (t_group.depth == 0) return false;
  t_group.Be(Role::kJoins);
  t_group.joins.push_back({meeting, config, made});
  return true;
}

}  // namespace belay::coll
