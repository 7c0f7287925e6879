#include "belay/launch_job.h"

#include <cstring>
#include <stdexcept>

#include "base/number.h"

namespace belay::tool {
namespace {

constexpr std::string_view kVersion = "belay launch 1 " BELAY_VERSION;
constexpr std::string_view kNotice = "\001belay launch: failed ";
constexpr uint32_t kMostBytes = uint32_t{1} << 26;

struct Head {
  uint32_t kind;
  uint32_t bytes;
};

constexpr std::pair<const char*, std::string RunOptions::*> kRunTexts[] = {
    {"devices", &RunOptions::devices}, {"device-memory", &RunOptions::device_memory},
    {"soc", &RunOptions::soc},         {"run-mode", &RunOptions::run_mode},
    {"workers", &RunOptions::workers}, {"faults", &RunOptions::faults}};
constexpr std::pair<const char*, std::string LaunchJob::*> kTexts[] = {
    {"directory", &LaunchJob::directory},
    {"host", &LaunchJob::host},
    {"address", &LaunchJob::address},
    {"master", &LaunchJob::master},
    {"rank-table", &LaunchJob::rank_table}};
constexpr std::pair<const char*, int LaunchJob::*> kNumbers[] = {
    {"port", &LaunchJob::port},   {"first", &LaunchJob::first}, {"here", &LaunchJob::here},
    {"ranks", &LaunchJob::ranks}, {"group", &LaunchJob::group}, {"groups", &LaunchJob::groups}};
constexpr std::pair<const char*, double LaunchJob::*> kTimes[] = {{"grace", &LaunchJob::grace},
                                                                  {"lost-after", &LaunchJob::lost_after}};

[[noreturn]] void Refuse(const std::string& what) {
  throw std::runtime_error("standard input is no job of belay launch: " + what);
}

// A text may hold anything but the zero after it.
void Put(std::string* to, std::string_view name, std::string_view value) {
  to->append(name).append("=").append(value).push_back('\0');
}

void PutEnvironment(std::string* to, const LaunchJob& job) {
  for (const auto& [name, value] : job.environment) Put(to, "env", name + "=" + value);
}

std::pair<std::string, std::string> NameAndValue(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) Refuse("'" + text + "' has no value");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

template <class T>
T NumberOf(const std::string& text) {
  const auto number = NumberIn<T>(text);
  if (!number) Refuse("'" + text + "' is no number");
  return *number;
}

void Take(LaunchJob* job, const std::string& name, const std::string& value) {
  for (const auto& [text, member] : kRunTexts) {
    if (name == text) job->run.*member = value;
  }
  for (const auto& [text, member] : kTexts) {
    if (name == text) job->*member = value;
  }
  for (const auto& [text, member] : kNumbers) {
    if (name == text) job->*member = NumberOf<int>(value);
  }
  for (const auto& [text, member] : kTimes) {
    if (name == text) job->*member = NumberOf<double>(value);
  }
  if (name == "preload") job->run.preload = true;
  if (name == "env") job->environment.push_back(NameAndValue(value));
  if (name == "command") job->run.command.push_back(value);
}

}  // namespace

std::string Encode(const LaunchFrame& frame) {
  const Head head{frame.kind, static_cast<uint32_t>(frame.body.size())};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + frame.body;
}

std::optional<LaunchFrame> LaunchInbox::Take() {
  Head head;
  if (bytes_.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes_.data(), sizeof head);
  const bool known = head.kind >= LaunchFrame::kJob && head.kind <= LaunchFrame::kEnd;
  if (!known || head.bytes > kMostBytes || (head.kind == LaunchFrame::kSignal && head.bytes != 1))
    Refuse("only belay launch --hosts starts this");
  if (bytes_.size() < sizeof head + head.bytes) return std::nullopt;
  LaunchFrame frame{static_cast<LaunchFrame::Kind>(head.kind), bytes_.substr(sizeof head, head.bytes)};
  bytes_.erase(0, sizeof head + head.bytes);
  return frame;
}

std::string Encode(const LaunchJob& job) {
  std::string body;
  Put(&body, "version", kVersion);
  for (const auto& [name, member] : kRunTexts) Put(&body, name, job.run.*member);
  for (const auto& [name, member] : kTexts) Put(&body, name, job.*member);
  for (const auto& [name, member] : kNumbers) Put(&body, name, std::to_string(job.*member));
  for (const auto& [name, member] : kTimes) Put(&body, name, std::to_string(job.*member));
  if (job.run.preload) Put(&body, "preload", "");
  PutEnvironment(&body, job);
  for (const std::string& word : job.run.command) Put(&body, "command", word);
  return body;
}

LaunchJob DecodeLaunchJob(const std::string& body) {
  LaunchJob job;
  bool right_version = false;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find('\0', at);
    if (end == std::string::npos) Refuse("it has no end");
    const auto [name, value] = NameAndValue(body.substr(at, end - at));
    if (name == "version") right_version = value == kVersion;
    if (!right_version) {
      throw std::runtime_error("the launcher is another version of Belay (" + value + "; here is " +
                               std::string(kVersion) + "); install the same on all hosts");
    }
    Take(&job, name, value);
    at = end + 1;
  }
  const bool ranks_fit =
      job.first >= 0 && job.here >= 1 && job.here <= job.ranks && job.first <= job.ranks - job.here;
  if (job.run.command.empty() || job.host.empty() || !ranks_fit) Refuse("it is not whole");
  return job;
}

std::string FailureNotice(int code, const std::string& who) {
  return std::string(kNotice) + std::to_string(code) + " " + who + "\n";
}

bool ReadFailureNotice(const std::string& line, int* code, std::string* who) {
  if (!line.starts_with(kNotice) || !line.ends_with('\n')) return false;
  const std::string rest = line.substr(kNotice.size(), line.size() - kNotice.size() - 1);
  const size_t space = rest.find(' ');
  const auto number = NumberIn<int>(rest.substr(0, space), 1, 255);
  if (space == std::string::npos || !number) return false;
  *code = *number;
  *who = rest.substr(space + 1);
  return true;
}

}  // namespace belay::tool
