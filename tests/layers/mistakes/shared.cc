// Memory of another process.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "mistakes.h"

using namespace mistakes;

extern char** environ;

namespace {

struct Key {
  char text[65] = {};
};

// A process that exports a block and keeps it until it is told that it is not needed any more.
class Exporter {
 public:
  Exporter() {
    int commands[2], answers[2];
    OK(pipe(commands) + pipe(answers));
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, commands[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, answers[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&files, commands[1]);
    char name[] = "mistakes", mode[] = "export";
    char* words[] = {name, mode, nullptr};
    OK(posix_spawn(&process_, "/proc/self/exe", &files, nullptr, words, environ));
    posix_spawn_file_actions_destroy(&files);
    close(commands[0]);
    close(answers[1]);
    OK(read(answers[0], key.text, sizeof key.text) != sizeof key.text);
    close(answers[0]);
    end_ = commands[1];
  }
  ~Exporter() {
    close(end_);
    int status = 0;
    waitpid(process_, &status, 0);
    OK(status);
  }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  Key key;

 private:
  pid_t process_ = 0;
  int end_ = -1;
};

}  // namespace

int mistakes::Export() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  void* block = NewBlock();
  Key key;
  OK(aclrtIpcMemGetExportKey(block, kBytes, key.text, sizeof key.text, 1));
  std::fwrite(key.text, 1, sizeof key.text, stdout);
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  OK(aclrtIpcMemClose(key.text));
  Free(block);
  OK(aclrtResetDevice(0));
  return aclFinalize();
}

MISTAKE(ClosedWhileACopyRuns, "free-while-used") {
  const Exporter other;
  void* theirs = nullptr;
  OK(aclrtIpcMemImportByKey(&theirs, other.key.text, 1));
  Copy(x, theirs, a);  // [2]
  if (mended) Wait(a);
  OK(aclrtIpcMemClose(other.key.text));  // [1]
  Wait(a);
}

MISTAKE(TwoStreamsUseWhatIsImported, "race") {
  const Exporter other;
  void* theirs = nullptr;
  OK(aclrtIpcMemImportByKey(&theirs, other.key.text, 1));
  Fill(theirs, a);  // [1]
  if (mended) Link(a, b);
  Copy(x, theirs, b);  // [2]
  OK(aclrtSynchronizeDevice());
  OK(aclrtIpcMemClose(other.key.text));
}
