// The timeline that msprof writes beside its tables (msprof_*.json), as a list of events in Chrome's format:
// what the program marks, its calls, and the tasks of each device with arrows from the calls that submitted
// them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace belay::trace {

class ChromeFile {
 public:
  // Times are nanoseconds since 1970.
  struct Task {
    int device;
    uint32_t stream;
    uint64_t model, task;
    std::string_view name, type;
    uint64_t begun, took;
    pid_t submitter;     // the thread; 0: not known
    uint64_t submitted;  // when
  };

  static constexpr size_t kMostBytes = size_t{200} << 20;  // from where on msprof slices, for viewers
  // Of a file's name what comes first and last; between them comes "slice_1_" of the second file, and so on,
  // which begin where the one before has so many bytes.
  explicit ChromeFile(std::string begin, std::string end = "", size_t most = kMostBytes);
  ~ChromeFile();
  ChromeFile(const ChromeFile&) = delete;
  ChromeFile& operator=(const ChromeFile&) = delete;

  void AddTask(const Task& task);
  void AddCall(std::string_view name, const char* level, pid_t thread, uint64_t begun, uint64_t took);
  void AddSpan(std::string_view message, const char* type, pid_t thread, uint64_t begun, uint64_t took);
  // The file is whole then; more may come.
  void Finish();

 private:
  enum Layer : uint64_t { kApplication = 1, kCann = 2, kHardware = 3 };
  // The number of a layer's track group, which is announced when it is first used.
  uint64_t Group(Layer layer, int device);
  void Name(uint64_t group, uint64_t track, const std::string& name);
  void Add(const std::string& event);
  void Flush();
  void Open();
  // Before what belongs together: events of one file have nothing to do with those of another.
  void BeginSliceIfFull();

  const std::string begin_, end_;
  const size_t most_;
  size_t slice_ = 0, written_ = 0;  // of this file
  int file_ = -1;
  bool stopped_ = false, first_ = true;
  std::string text_;
  std::set<std::pair<uint64_t, uint64_t>> named_;  // group and track; the group alone is track -1
  uint64_t arrows_ = 0;
};

}  // namespace belay::trace
