#include "layers/trace/profile.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/quiet_write.h"
#include "layers/trace/microseconds.h"
#include "layers/trace/timeline.h"

namespace belay::trace {
namespace {

constexpr size_t kRowsInMemory = size_t{1} << 16;
constexpr const char* kCore = "AI_CORE";  // what stands for the unit that an operator ran on
constexpr const char* kOperatorColumns =
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Num,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
    "Output Formats";
constexpr const char* kTaskColumns =
    "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)";
constexpr const char* kTypeColumns =
    "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)";
constexpr const char* kSpanColumns =
    "pid,tid,category,event_type,payload_type,payload_value,Start_time(us),End_time(us),message_type,message,domain";
constexpr const char* kStepColumns =
    "Device_id,Iteration ID,FP Start,BP End,Iteration End,Iteration Time(us),FP to BP Time(us),"
    "Iteration Refresh(us),Data Aug Bound(us),Model ID";
constexpr const char* kCallColumns =
    "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance";

// A text as a cell of a table.
std::string Cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + "\"";
}
std::string Decimal(double value) {
  char room[64];
  std::snprintf(room, sizeof room, "%.3f", value);
  return room;
}

// "Add" of aclnnInplaceAdd.
std::string TypeOf(std::string_view name) {
  for (const std::string_view prefix : {"aclnn", "Inplace"}) {
    if (name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix) {
      name.remove_prefix(prefix.size());
    }
  }
  return std::string(name);
}

// "EVENT_RECORD" of "event record".
std::string KindOf(std::string_view name) {
  std::string kind(name);
  for (char& c : kind) c = c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return kind;
}

int64_t FromTimelineToEpoch() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec - static_cast<int64_t>(Now());
}

std::string Stamp() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  tm parts{};
  localtime_r(&t.tv_sec, &parts);
  char room[32];
  const size_t length = std::strftime(room, sizeof room, "%Y%m%d%H%M%S", &parts);
  return std::string(room, length);
}

// F of each parameter of the call: its place, name and letter.
template <class F>
void EachParam(const BelayCall& call, F tell) {
  std::string_view rest = call.params;
  for (int i = 0; !rest.empty(); ++i) {
    const std::string_view param = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), param.size() + 1));
    const size_t colon = param.find(':');
    tell(i, param.substr(0, colon), param[colon + 1]);
  }
}

int ExecutorOf(const BelayCall& call, char letter) {
  int place = -1;
  EachParam(call, [&](int i, std::string_view name, char kind) {
    if (name == "executor" && kind == letter) place = i;
  });
  return place;
}

// Three columns of operands.
struct Columns {
  std::string shapes, types, formats;

  // Lines of "2,3|FLOAT|ND".
  void Add(std::string_view lines) {
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      const size_t type = line.find('|'), format = line.rfind('|');
      const char* between = types.empty() ? "" : ";";
      shapes.append(between).append(line.substr(0, type));
      types.append(between).append(line.substr(type + 1, format - type - 1));
      formats.append(between).append(line.substr(format + 1));
    }
  }
  std::string Text() const {
    return types.empty() ? "N/A,N/A,N/A" : "\"" + shapes + "\"," + types + "," + formats;
  }
};

void WriteFile(const std::string& path, std::string_view columns, const std::string& rows) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const std::string text = std::string(columns) + "\n" + rows;
  if (file < 0 || !WriteAllQuietly(file, text.data(), text.size())) {
    std::fprintf(stderr, "belay trace: cannot write to %s: %s\n", path.c_str(), std::strerror(errno));
  }
  if (file >= 0) close(file);
}

}  // namespace

int ExecutorMadeBy(const BelayCall& call) { return ExecutorOf(call, 'P'); }
int ExecutorRunBy(const BelayCall& call) { return ExecutorOf(call, 'p'); }

Table::Table(const std::string& path, std::string_view columns)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), rows_(columns) {
  rows_ += '\n';
  if (file_ < 0) {
    std::fprintf(stderr, "belay trace: cannot write to %s: %s\n", path.c_str(), std::strerror(errno));
  }
}

Table::~Table() {
  if (file_ >= 0) close(file_);
}

void Table::Add(std::string_view row) {
  rows_.append(row).append("\n");
  if (rows_.size() >= kRowsInMemory) Flush();
}

void Table::Flush() {
  if (file_ >= 0 && !stopped_ && !WriteAllQuietly(file_, rows_.data(), rows_.size())) {
    stopped_ = true;
    std::fprintf(stderr, "belay trace: cannot write a table: %s; the program goes on\n",
                 std::strerror(errno));
  }
  rows_.clear();
}

void Tally::Add(uint64_t ns) {
  least = count == 0 ? ns : std::min(least, ns);
  most = std::max(most, ns);
  sum += ns;
  ++count;
  const double us = static_cast<double>(ns) / 1e3, before = us - mean;
  mean += before / static_cast<double>(count);
  squares += before * (us - mean);
}

namespace {
// By which readers bring times of CLOCK_MONOTONIC_RAW, which torch_npu takes, to those of the tables.
void WriteStartInfo(const std::string& path) {
  timespec wall, raw;
  clock_gettime(CLOCK_REALTIME, &wall);
  clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
  char text[160];
  const int length = std::snprintf(
      text, sizeof text, "{\"collectionTimeBegin\": \"%lld.%03ld\", \"clockMonotonicRaw\": \"%lld\"}",
      static_cast<long long>(wall.tv_sec) * 1'000'000 + wall.tv_nsec / 1000, wall.tv_nsec % 1000,
      static_cast<long long>(raw.tv_sec) * 1'000'000'000 + raw.tv_nsec);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  WriteAllQuietly(file, text, static_cast<size_t>(length));
  close(file);
}

constinit std::mutex g_profiles_lock;
std::shared_ptr<Profile>& RunOfProcess() {
  static auto* const run = new std::shared_ptr<Profile>;
  return *run;
}
std::shared_ptr<Profile>& SessionOfProcess() {
  static auto* const session = new std::shared_ptr<Profile>;
  return *session;
}
}  // namespace

constinit std::atomic<bool> Profiles::any_{false};

// A child of fork has copies of the parent's profiles, whose files are not its own: it forgets them, and
// keeps them so that nothing is closed or written.
void Profiles::ForgetInChild() {
  static bool hooked = false;
  if (std::exchange(hooked, true)) return;
  pthread_atfork(nullptr, nullptr, [] {
    new (&g_profiles_lock) std::mutex;  // a thread of the parent may have held it
    new (&RunOfProcess()) std::shared_ptr<Profile>;
    new (&SessionOfProcess()) std::shared_ptr<Profile>;
    any_.store(false);
  });
}

void Profiles::BeginRun() {
  static pid_t process = 0;
  const char* folder = std::getenv("BELAY_PROFILE_FOLDER");
  std::lock_guard guard(g_profiles_lock);
  if (folder == nullptr || *folder == '\0' || process == getpid()) return;
  process = getpid();
  ForgetInChild();
  RunOfProcess() = std::make_shared<Profile>(folder);
  any_.store(true);
}

void Profiles::SetSession(std::shared_ptr<Profile> profile) {
  std::lock_guard guard(g_profiles_lock);
  ForgetInChild();
  SessionOfProcess().swap(profile);
  any_.store(RunOfProcess() != nullptr || SessionOfProcess() != nullptr);
}

std::shared_ptr<Profile> Profiles::Run() {
  std::lock_guard guard(g_profiles_lock);
  return RunOfProcess();
}

std::shared_ptr<Profile> Profiles::Session() {
  std::lock_guard guard(g_profiles_lock);
  return SessionOfProcess();
}

Profile::Profile(const std::string& folder)
    : process_(getpid()), to_epoch_(FromTimelineToEpoch()), stamp_(Stamp()) {
  static std::atomic<unsigned> number{0};
  char name[64];
  std::snprintf(name, sizeof name, "/PROF_%06u_%s_%d", ++number, stamp_.c_str(), static_cast<int>(process_));
  home_ = folder + name;
  folder_ = home_ + "/mindstudio_profiler_output/";
  std::error_code error;
  std::filesystem::create_directories(home_ + "/host/data", error);
  std::filesystem::create_directories(folder_, error);  // where that fails the tables say so
  if (error) why_not_ = error.message();
  WriteStartInfo(home_ + "/host/start_info");
  timeline_ = std::make_unique<ChromeFile>(folder_ + "msprof_", stamp_ + ".json");
}

void Profile::Collect(const std::map<int, uint32_t>& devices) {
  std::lock_guard guard(lock_);
  everything_ = false;
  collected_ = devices;
  for (const auto& [device, what] : devices) {
    ever_ |= what;
    collected_ever_[device] |= what;
  }
}

uint32_t Profile::CollectedOf(int device) const {
  if (everything_) return ~0u;
  const auto found = collected_.find(device);
  return found == collected_.end() ? 0 : found->second;
}

uint32_t Profile::CollectedOfAny() const {
  uint32_t what = everything_ ? ~0u : 0;
  for (const auto& [device, its] : collected_) what |= its;
  return what;
}

// The table is made with its first row, or where it was asked for.
Table& Profile::Opened(std::unique_ptr<Table>& table, const char* name, const char* columns) {
  if (table == nullptr) table = std::make_unique<Table>(folder_ + name + "_" + stamp_ + ".csv", columns);
  return *table;
}

// An iteration is one run of a model. Where in it a training goes from forward to backward nobody says.
void Profile::AddStep(const Row& row) {
  const uint64_t number = ++launches_[{row.device, row.launched}];
  Opened(steps_, "step_trace", kStepColumns)
      .Add(std::to_string(row.device) + "," + std::to_string(number) + ",N/A,N/A," + Us(ToEpoch(row.ended)) +
           "," + Us(row.ended - row.begun) + ",N/A,N/A,N/A," + std::to_string(row.launched));
}

void Profile::Add(const Row& row) {
  const uint64_t start = ToEpoch(row.begun);
  const uint64_t took = row.ended - row.begun;
  const std::string type = TypeOf(row.name), device = std::to_string(row.device),
                    stream = std::to_string(row.stream), task = std::to_string(row.task);
  std::lock_guard guard(lock_);
  const uint32_t collected = CollectedOf(row.device);
  if ((collected & rt::kCollectSteps) != 0 && row.launched >= 0) AddStep(row);
  if ((collected & rt::kCollectTasks) == 0) return;
  collected_ever_[row.device] |= rt::kCollectTasks;
  const bool operands = row.operands != nullptr && (collected & rt::kCollectOperands) != 0;
  OpenTasks();
  tasks_->Add(device + "," + Cell(row.name) + "," + (row.is_operator ? kCore : KindOf(row.kind)) + "," +
              stream + "," + task + "," + Us(took) + "," + Us(start) + "," + Us(start + took));
  timeline_->AddTask({row.device, row.stream, row.model, row.task, row.name,
                      row.is_operator ? kCore : KindOf(row.kind), start, took, row.submitter,
                      ToEpoch(row.submitted)});
  if (!row.is_operator) return;
  operators_->Add(device + "," + std::to_string(row.model) + "," + task + "," + stream + "," +
                  std::string(row.name) + "," + type + "," + kCore + "," + Us(start) + "," + Us(took) + "," +
                  Us(row.waited) + ",1," + (operands ? *row.operands : "N/A,N/A,N/A,N/A,N/A,N/A"));
  types_[{row.device, type}].Add(took);
}

const char* Profile::LevelOf(std::string_view name) {
  if (name.substr(0, 4) == "Hccl") return "Communication";
  return name.substr(0, 3) == "acl" || name.substr(0, 3) == "Acl" ? "AscendCL" : "Runtime";
}

void Profile::AddCall(const char* name, const char* level, uint64_t begun, uint64_t took) {
  std::lock_guard guard(lock_);
  if ((CollectedOfAny() & rt::kCollectCalls) == 0) return;
  CallSum& sum = by_call_[name];
  sum.level = level;
  sum.times.Add(took);
  timeline_->AddCall(name, level, gettid(), ToEpoch(begun), took);
}

void Profile::AddSpan(const Span& span) {
  std::lock_guard guard(lock_);
  if ((CollectedOfAny() & rt::kCollectMarks) == 0) return;
  timeline_->AddSpan(span.message, span.type, span.thread, ToEpoch(span.begun), span.ended - span.begun);
  Opened(spans_, "msprof_tx", kSpanColumns)
      .Add(std::to_string(process_) + "," + std::to_string(span.thread) + ",," + span.type + ",,," +
           Us(ToEpoch(span.begun)) + "," + Us(ToEpoch(span.ended)) + ",," + Cell(span.message) + "," +
           Cell(span.domain));
}

void Profile::Keep(uint64_t executor, const BelayCalls& calls, uint32_t call, const uint64_t* arguments,
                   ObjectWords objects) {
  Columns inputs, outputs;
  EachParam(calls.calls[call], [&](int i, std::string_view name, char letter) {
    if (std::strchr("tloq", letter) == nullptr || arguments[i] == 0 || objects == nullptr) return;
    const std::string words = objects(letter == 't' || letter == 'o' ? 'T' : 'L', arguments[i]);
    const bool written = letter == 'o' || letter == 'q';
    if (written) outputs.Add(words);
    if (!written || name.find("Ref") != std::string_view::npos) inputs.Add(words);
  });
  auto columns = std::make_shared<const std::string>(inputs.Text() + "," + outputs.Text());
  std::lock_guard guard(lock_);
  if (operands_.size() >= kMostOperands) operands_.clear();
  operands_[executor] = std::move(columns);
}

Operands Profile::Find(uint64_t executor) {
  std::lock_guard guard(lock_);
  const auto found = operands_.find(executor);
  return found == operands_.end() ? nullptr : found->second;
}

// What takes most comes first.
std::string Profile::OperatorTable() const {
  std::map<int, uint64_t> all;
  std::vector<const decltype(types_)::value_type*> order;
  for (const auto& entry : types_) {
    all[entry.first.first] += entry.second.sum;
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->second.sum > b->second.sum; });
  std::string rows;
  for (const auto* entry : order) {
    const Tally& tally = entry->second;
    const auto whole = static_cast<double>(std::max<uint64_t>(all[entry->first.first], 1));
    rows += std::to_string(entry->first.first) + "," + entry->first.second + "," + kCore + "," +
            std::to_string(tally.count) + "," + Us(tally.sum) + "," + Us(tally.least) + "," +
            Decimal(tally.mean) + "," + Us(tally.most) + "," +
            Decimal(100.0 * static_cast<double>(tally.sum) / whole) + "\n";
  }
  return rows;
}

std::string Profile::CallTable() const {
  std::vector<const decltype(by_call_)::value_type*> order;
  for (const auto& call : by_call_) order.push_back(&call);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->second.times.sum > b->second.times.sum; });
  std::string rows;
  for (const auto* call : order) {
    const Tally& tally = call->second.times;
    rows += std::string("host,") + call->second.level + "," + std::string(call->first) + "," + Us(tally.sum) +
            "," + std::to_string(tally.count) + "," + Decimal(tally.mean) + "," + Us(tally.least) + "," +
            Us(tally.most) + "," + Decimal(tally.squares / static_cast<double>(tally.count)) + "\n";
  }
  return rows;
}

void Profile::OpenTasks() {
  Opened(operators_, "op_summary", kOperatorColumns);
  Opened(tasks_, "task_time", kTaskColumns);
}

void Profile::Finish() {
  if (process_ != getpid()) return;
  std::lock_guard guard(lock_);
  const uint32_t ever = everything_ ? ~0u : ever_;
  if ((ever & rt::kCollectTasks) != 0) {
    OpenTasks();
    operators_->Flush();
    tasks_->Flush();
    WriteFile(folder_ + "op_statistic_" + stamp_ + ".csv", kTypeColumns, OperatorTable());
  }
  if (spans_ != nullptr) spans_->Flush();
  if (steps_ != nullptr) steps_->Flush();
  if ((ever & rt::kCollectCalls) != 0) {
    WriteFile(folder_ + "api_statistic_" + stamp_ + ".csv", kCallColumns, CallTable());
  }
  timeline_->Finish();
  KeepFiles();
}

// Also where data lies from which msprof exports: readers delete the tables and ask it for them
// (tools/msprof).
void Profile::KeepFiles() {
  std::error_code error;
  for (const auto& [device, its] : collected_ever_) {
    std::filesystem::create_directories(home_ + "/device_" + std::to_string(device) + "/data", error);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
    const std::string kept = home_ + "/host/data/" + file.path().filename().string();
    if (link(file.path().c_str(), kept.c_str()) == 0 || errno == EEXIST) continue;
    std::filesystem::copy_file(file.path(), kept, std::filesystem::copy_options::overwrite_existing, error);
  }
}

}  // namespace belay::trace
