#include "peer.h"

#include <acl/acl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "scene.h"

extern char** environ;

namespace chaos {

Peer::Peer(const std::string& program, const char* block_key, const char* notify_key) {
  char* arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>("--peer"),
                       const_cast<char*>(block_key), const_cast<char*>(notify_key), nullptr};
  if (posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environ) != 0) pid_ = 0;
}

void Peer::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

// Whether the other side still has what the keys name is not this process's to know: no code is looked at.
int PeerMain(int argc, char** argv) {
  if (argc < 4) return 2;
  alarm(60);
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 1;
  aclrtStream stream = nullptr;
  aclrtCreateStream(&stream);
  for (;;) {
    void* block = nullptr;
    aclrtNotify notify = nullptr;
    if (aclrtIpcMemImportByKey(&block, argv[2], 0) == 0) {
      aclrtMemsetAsync(block, 4096, 7, 4096, stream);
      aclrtSynchronizeStream(stream);
      aclrtIpcMemClose(argv[2]);
    }
    if (aclrtNotifyImportByKey(&notify, argv[3], 0) == 0) {
      aclrtRecordNotify(notify, stream);
      aclrtSynchronizeStream(stream);
      aclrtDestroyNotify(notify);
    }
  }
}

}  // namespace chaos
