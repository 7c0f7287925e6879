// What belay launch tells its part on another host, over the standard input of that: a job, and later
// signals, a beat now and then, and that the ranks should end because others have. The end of the input, or
// silence, means that the launcher has gone. The part says what happened as its exit code, and by a line
// among its errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/run.h"

namespace belay::tool {

struct LaunchFrame {
  enum Kind : uint32_t { kJob = 1, kSignal, kBeat, kEnd };
  Kind kind = kBeat;
  std::string body;  // kSignal: one byte
};
std::string Encode(const LaunchFrame& frame);

// Frames of what came so far. Throws std::runtime_error for what is none.
class LaunchInbox {
 public:
  void Append(std::string_view bytes) { bytes_ += bytes; }
  std::optional<LaunchFrame> Take();

 private:
  std::string bytes_;
};

struct LaunchJob {
  RunOptions run;
  std::string directory;
  std::string host;     // the part's, as the launcher calls it
  std::string address;  // and where it is, if that is known
  std::string master;   // MASTER_ADDR
  std::string rank_table;
  int port = 0;
  int first = 0;  // of the ranks there
  int here = 0;
  int ranks = 0;
  int group = 0;  // the number of the host
  int groups = 1;
  double grace = 0;
  double lost_after = 0;
  std::vector<std::pair<std::string, std::string>> environment;
};
std::string Encode(const LaunchJob& job);
// Throws std::runtime_error, also for that of another version.
LaunchJob DecodeLaunchJob(const std::string& body);

// A line of the part, for the launcher only: lines of ranks begin otherwise.
std::string FailureNotice(int code, const std::string& who);
bool ReadFailureNotice(const std::string& line, int* code, std::string* who);

}  // namespace belay::tool
