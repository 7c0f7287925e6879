// What the fuzzers share. Each one is a file NAME_fuzz.cc that defines LLVMFuzzerTestOneInput; its line
// "// With: ..." names the sources that it is linked with (rooms by their name, files by their path), and
// tests/fuzz/corpus/NAME holds inputs to start from. `make fuzz` runs them under libFuzzer; the tests of
// every other build feed them the corpus.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuzz {

// What must hold whatever the input is.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
#define FUZZ_REQUIRE(condition) ::fuzz::Require(condition, #condition)

// The input as a file, for functions that take a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(file_ >= 0 && write(file_, data, size) == static_cast<ssize_t>(size), "a file in memory");
    path_ = "/proc/self/fd/" + std::to_string(file_);
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  int file_;
  std::string path_;
};

}  // namespace fuzz
