// Another process, which uses what this one shares until it is killed.
#pragma once

#include <sys/types.h>

#include <string>

namespace chaos {

class Peer {
 public:
  Peer(const std::string& program, const char* block_key, const char* notify_key);
  ~Peer() { Kill(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  void Kill();

 private:
  pid_t pid_ = 0;
};

}  // namespace chaos
