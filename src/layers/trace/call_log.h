// A line for each call: when, which thread, the function with its arguments, what it gave and how long it
// took.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "layers/calls/calls.h"

namespace belay::trace {

// What is known of the object of a handle; empty: nothing (runtime/layer.h).
using ObjectWords = std::string (*)(char letter, uint64_t handle);

// "107000 ACL_ERROR_RT_PARAM_INVALID"
std::string StatusWords(const BelayCalls& calls, int status);

// "aclrtMalloc(devPtr=0x7ffe10 -> 0x100000000000, size=64, policy=ACL_MEM_MALLOC_HUGE_FIRST) = 0". Texts,
// results and objects are looked at where the call gave no error, addresses alone are shown otherwise.
std::string CallWords(const BelayCalls& calls, uint32_t call, uint64_t result, const uint64_t* arguments,
                      ObjectWords objects);

// The file, at any moment a text that can be read, whatever ends the process. Lines go into a piece of it
// that is mapped into memory; what is not used of a piece is spaces and the end of a line.
class CallLog {
 public:
  static constexpr size_t kPiece = size_t{1} << 16;
  struct When {
    uint64_t begun;
    uint64_t ended;
    pid_t thread;
  };

  // Adds to a file to which other processes may be writing.
  explicit CallLog(std::string path);
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  void Write(const When& when, std::string_view words);
  // The rest of the piece is given back where it is the file's last. Another call begins another one.
  void Trim();

 private:
  bool Claim();
  void Stop();
  void Unmap();

  const std::string path_;
  const int file_;
  const pid_t process_;  // a child of fork has the object, but not the file
  uint64_t start_;
  std::mutex lock_;
  bool stopped_ = false;
  uint64_t at_ = 0;      // of the piece in the file
  char* map_ = nullptr;  // the page that it begins in
  char* piece_ = nullptr;
  size_t used_ = 0;
};

}  // namespace belay::trace
