// A record of each operator of a loaded model that runs, through a pipe of the program's, and what is read
// from such records.
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/log.h"
#include "api/prof.h"
#include "api/registry.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "base/thread.h"
#include "graph/model.h"
#include "graph/op_listener.h"
#include "runtime/memory.h"

namespace belay::api {
namespace {

// What goes through the pipe. OpNames are numbers, which this process knows.
struct OpRecord {
  uint32_t mark;
  uint32_t model;
  uint32_t name;
  uint32_t type;
  int64_t begin_ns;
  int64_t end_ns;
};
constexpr uint32_t kOpRecordMark = 0x42704f70;

// --- names

class OpNames {
 public:
  uint32_t NumberOf(const std::string& text) {
    std::lock_guard guard(lock_);
    const auto [found, fresh] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(&found->first);
    return found->second;
  }
  // Null: there is none.
  const std::string* At(uint32_t number) {
    std::lock_guard guard(lock_);
    return number < texts_.size() ? texts_[number] : nullptr;
  }

 private:
  std::mutex lock_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};
OpNames& TheOpNames() { return PerProcess<OpNames>::Get(); }

// --- pipes

// Models do not wait for who reads: a thread writes. Once no more comes it closes the pipe, as the page says.
class RecordPipe {
 public:
  static std::shared_ptr<RecordPipe> Start(int file) {
    auto pipe = std::make_shared<RecordPipe>(file);
    auto argument = std::make_unique<std::shared_ptr<RecordPipe>>(pipe);
    pthread_t thread;
    if (!StartThread(&thread, "belay-records", &Main, argument.get())) {
      Fail(codes::kProfilingFailure, "prof-pipe",
           "no thread can be started that writes to the pipe: the process has reached a limit");
    }
    pthread_detach(thread);
    argument.release();
    return pipe;
  }
  explicit RecordPipe(int file) : file_(file) {}

  void Send(const OpRecord& record) {
    std::lock_guard guard(lock_);
    if (broken_ || records_.size() >= kMost) {
      ++lost_;
      return;
    }
    records_.push_back(record);
    more_.notify_one();
  }
  void End() noexcept {
    std::lock_guard guard(lock_);
    ended_ = true;
    more_.notify_one();
  }

 private:
  static constexpr size_t kMost = size_t{1} << 20;  // that nobody has read: 32 MiB

  static void* Main(void* raw) {
    const std::unique_ptr<std::shared_ptr<RecordPipe>> self(static_cast<std::shared_ptr<RecordPipe>*>(raw));
    (*self)->Work();
    return nullptr;
  }
  void Work() {
    const QuietWrites quiet;  // whoever reads may be gone
    for (std::vector<OpRecord> taken;; taken.clear()) {
      {
        std::unique_lock guard(lock_);
        more_.wait(guard, [&] { return ended_ || !records_.empty(); });
        if (records_.empty()) break;
        const size_t n = std::min<size_t>(records_.size(), 128);
        taken.assign(records_.begin(), records_.begin() + static_cast<ptrdiff_t>(n));
        records_.erase(records_.begin(), records_.begin() + static_cast<ptrdiff_t>(n));
      }
      if (!Write(reinterpret_cast<const char*>(taken.data()), taken.size() * sizeof(OpRecord)))
        Break(taken.size());
    }
    close(file_);
    std::lock_guard guard(lock_);  // an operator may still run that began before the end
    if (lost_ != 0) {
      LogWarning(LogPlace::Here(), "aclprofModelSubscribe: {} records of operators were lost: {}", lost_,
                 broken_ ? "the pipe is closed" : "nobody has read them in time");
    }
  }
  bool Write(const char* at, size_t bytes) const {
    while (bytes != 0) {
      const ssize_t written = write(file_, at, bytes);
      if (written > 0) {
        at += written;
        bytes -= static_cast<size_t>(written);
      } else if (errno == EAGAIN) {
        pollfd room{file_, POLLOUT, 0};
        poll(&room, 1, -1);
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }
  void Break(size_t lost) {
    std::lock_guard guard(lock_);
    broken_ = true;
    lost_ += lost + records_.size();
    records_.clear();
  }

  const int file_;
  std::mutex lock_;
  std::condition_variable more_;
  std::deque<OpRecord> records_;
  bool ended_ = false, broken_ = false;
  size_t lost_ = 0;
};

// --- subscriptions

struct SubscribeConfig {
  bool sends = false;
  int file = -1;
};

class OpSubscriber final : public graph::OpListener {
 public:
  OpSubscriber(uint32_t model, std::shared_ptr<RecordPipe> pipe) : model_(model), pipe_(std::move(pipe)) {}
  void Ran(const std::string& name, const std::string& type, int64_t begin_ns, int64_t end_ns) override {
    pipe_->Send(
        {kOpRecordMark, model_, TheOpNames().NumberOf(name), TheOpNames().NumberOf(type), begin_ns, end_ns});
  }

 private:
  const uint32_t model_;
  const std::shared_ptr<RecordPipe> pipe_;
};

struct ModelSubscription {
  std::weak_ptr<graph::Model> model;
  int file = -1;
};

struct ModelSubscriptions {
  Registry<SubscribeConfig, RegistryKind::kSubscribeConfig> configurations;
  std::mutex lock;  // of the rest
  std::map<uint32_t, ModelSubscription> of_model;
  std::map<int, std::shared_ptr<RecordPipe>> pipes;  // several models may share one

  // With the last model of a pipe that ends.
  void End(std::map<uint32_t, ModelSubscription>::iterator which) {
    if (const std::shared_ptr<graph::Model> model = which->second.model.lock()) model->Listen(nullptr);
    const int file = which->second.file;
    of_model.erase(which);
    for (const auto& [model, other] : of_model) {
      if (other.file == file) return;
    }
    if (const auto pipe = pipes.find(file); pipe != pipes.end()) {
      pipe->second->End();
      pipes.erase(pipe);
    }
  }
};
ModelSubscriptions& AllModelSubscriptions() { return PerProcess<ModelSubscriptions>::Get(); }

// --- records

OpRecord OpRecordAt(const void* records, size_t bytes, uint32_t index) {
  constexpr size_t kMostBytes = size_t{1} << 30;  // no program has read that much; it is an error of its
  if (bytes > kMostBytes || bytes % sizeof(OpRecord) != 0 || index >= bytes / sizeof(OpRecord)) {
    Fail(
        codes::kInvalidParam, "prof-record",
        "there is no record {} in {} bytes; aclprofGetOpDescSize tells the size of one: read whole ones, and give "
        "opInfoLen of them all",
        index, bytes);
  }
  OpRecord record{};
  const char* at = static_cast<const char*>(records) + index * sizeof(OpRecord);
  // By the system, which refuses what is not mapped; where that is not allowed, without.
  const iovec to{&record, sizeof record}, from{const_cast<char*>(at), sizeof record};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno != EFAULT)
    std::memcpy(&record, at, sizeof record);
  if (record.mark != kOpRecordMark || TheOpNames().At(record.name) == nullptr ||
      TheOpNames().At(record.type) == nullptr) {
    Fail(codes::kInvalidParam, "prof-record",
         "record {} is none that this process has sent; read them whole, from the pipe's start", index);
  }
  return record;
}

// With the 0 at the end, so that what has this length holds the text.
size_t RoomOfText(const std::string& text) { return text.size() + 1; }

void CopyOpText(const std::string& text, char* to, size_t room, const char* what) {
  if (room < RoomOfText(text)) {
    Fail(codes::kInvalidParam, "prof-record", "{} takes {} bytes, and there are {}; ask for its length first",
         what, RoomOfText(text), room);
  }
  std::memcpy(to, text.c_str(), RoomOfText(text));
}

}  // namespace

bool AnySubscriptions() {
  ModelSubscriptions& all = AllModelSubscriptions();
  std::lock_guard guard(all.lock);
  return !all.of_model.empty();
}

void EndSubscriptions() {
  ModelSubscriptions& all = AllModelSubscriptions();
  std::lock_guard guard(all.lock);
  while (!all.of_model.empty()) all.End(all.of_model.begin());
}

aclprofSubscribeConfig* aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
                                                     aclprofAicoreMetrics aicoreMetrics, void* fd) {
  const auto refuse = [](const std::string& what) {
    Fail(codes::kInvalidProfilingConfig, "prof-config", "{}", what);
  };
  if (timeInfoSwitch != 0 && timeInfoSwitch != 1)
    refuse("timeInfoSwitch = " + std::to_string(timeInfoSwitch) + "; give 1, or 0 to send nothing");
  const bool known = aicoreMetrics >= ACL_AICORE_ARITHMETIC_UTILIZATION &&
                     aicoreMetrics <= ACL_AICORE_PIPE_EXECUTE_UTILIZATION;
  if (!known && aicoreMetrics != ACL_AICORE_NONE)
    refuse("aicoreMetrics = " + std::to_string(aicoreMetrics) + "; take one of aclprofAicoreMetrics");
  const rt::MemoryRange where = rt::Lookup(fd);
  if (where.kind != rt::MemoryKind::kHost && !(where.kind == rt::MemoryKind::kPinned && where.live))
    refuse("fd is an address of the device's memory, or of none; give that of a number of the host's");
  SubscribeConfig config{timeInfoSwitch == 1, -1};
  std::memcpy(&config.file, fd, sizeof config.file);
  const int flags = fcntl(config.file, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    Fail(codes::kInvalidProfilingConfig, "prof-pipe",
         "fd leads to {}, which cannot be written to; give the address of the second number of pipe()",
         config.file);
  }
  return AsHandle<aclprofSubscribeConfig*>(AllModelSubscriptions().configurations.Add(config));
}

void aclprofDestroySubscribeConfig(const aclprofSubscribeConfig* profSubscribeConfig) {
  if (AllModelSubscriptions().configurations.Remove(BitsOf(profSubscribeConfig))) return;
  RefuseHandle("a configuration of aclprofCreateSubscribeConfig", "profSubscribeConfig",
               BitsOf(profSubscribeConfig), codes::kRtInvalidHandle);
}

void aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig* profSubscribeConfig) {
  ModelSubscriptions& all = AllModelSubscriptions();
  const std::shared_ptr<SubscribeConfig> config = all.configurations.Find(BitsOf(profSubscribeConfig));
  if (config == nullptr)
    RefuseHandle("a configuration of aclprofCreateSubscribeConfig", "profSubscribeConfig",
                 BitsOf(profSubscribeConfig), codes::kRtInvalidHandle);
  const std::shared_ptr<graph::Model> model = graph::FindModel(modelId);
  if (IsProfiling()) {
    Fail(codes::kProfApiConflict, "prof-mixed",
         "profiling is on; call aclprofFinalize before aclprofModelSubscribe");
  }
  std::lock_guard guard(all.lock);
  if (const auto known = all.of_model.find(modelId); known != all.of_model.end()) {
    if (known->second.model.lock() == model) {
      Fail(codes::kProfRepeatSubscribe, "prof-subscribed",
           "model {} is subscribed to already; call aclprofModelUnSubscribe first", modelId);
    }
    all.End(known);  // of a model that was unloaded
  }
  const auto open = all.pipes.find(config->file);
  const std::shared_ptr<RecordPipe> pipe =
      open == all.pipes.end() ? RecordPipe::Start(config->file) : open->second;
  all.pipes[config->file] = pipe;
  all.of_model[modelId] = {model, config->file};
  if (config->sends) model->Listen(std::make_shared<OpSubscriber>(modelId, pipe));
}

void aclprofModelUnSubscribe(uint32_t modelId) {
  ModelSubscriptions& all = AllModelSubscriptions();
  std::lock_guard guard(all.lock);
  const auto known = all.of_model.find(modelId);
  if (known == all.of_model.end()) {
    Fail(codes::kInvalidParam, "prof-not-subscribed",
         "nobody has subscribed to model {} (aclprofModelSubscribe)", modelId);
  }
  all.End(known);
}

void aclprofGetOpDescSize(size_t* opDescSize) { *opDescSize = sizeof(OpRecord); }

void aclprofGetOpNum(const void* opInfo, size_t opInfoLen, uint32_t* opNumber) {
  if (opInfoLen != 0) OpRecordAt(opInfo, opInfoLen, 0);
  *opNumber = static_cast<uint32_t>(opInfoLen / sizeof(OpRecord));
}
void aclprofGetOpTypeLen(const void* opInfo, size_t opInfoLen, uint32_t index, size_t* opTypeLen) {
  *opTypeLen = RoomOfText(*TheOpNames().At(OpRecordAt(opInfo, opInfoLen, index).type));
}
void aclprofGetOpType(const void* opInfo, size_t opInfoLen, uint32_t index, char* opType, size_t opTypeLen) {
  CopyOpText(*TheOpNames().At(OpRecordAt(opInfo, opInfoLen, index).type), opType, opTypeLen, "the type");
}
void aclprofGetOpNameLen(const void* opInfo, size_t opInfoLen, uint32_t index, size_t* opNameLen) {
  *opNameLen = RoomOfText(*TheOpNames().At(OpRecordAt(opInfo, opInfoLen, index).name));
}
void aclprofGetOpName(const void* opInfo, size_t opInfoLen, uint32_t index, char* opName, size_t opNameLen) {
  CopyOpText(*TheOpNames().At(OpRecordAt(opInfo, opInfoLen, index).name), opName, opNameLen, "the name");
}
uint64_t aclprofGetOpStart(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return static_cast<uint64_t>(OpRecordAt(opInfo, opInfoLen, index).begin_ns);
}
uint64_t aclprofGetOpEnd(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return static_cast<uint64_t>(OpRecordAt(opInfo, opInfoLen, index).end_ns);
}
uint64_t aclprofGetOpDuration(const void* opInfo, size_t opInfoLen, uint32_t index) {
  const OpRecord record = OpRecordAt(opInfo, opInfoLen, index);
  return static_cast<uint64_t>(record.end_ns - record.begin_ns);
}
size_t aclprofGetModelId(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return OpRecordAt(opInfo, opInfoLen, index).model;
}

}  // namespace belay::api
