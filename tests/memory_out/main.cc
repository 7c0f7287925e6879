// Runs pieces of programs with the n-th allocation failing, for n = 1, 2, ... until a run in which none
// failed: each time the calls say so by their codes, nothing crashes, hangs or leaks, and the next run, with
// memory, is right.
//
//   memory_out [piece...]
//   memory_out addresses piece...   instead: processes that use the piece's libraries for the first time,
//   with
//                                   few addresses left
//   memory_out spared piece...      what oneDNN asks for is always there
//   BELAY_MEMORY_OUT_AT=n   only that n, and without a way to catch a crash (for a debugger)
//   BELAY_MEMORY_OUT=all    every n; else, beyond the first few hundred, the longest pieces skip some, and so
//                           do, beyond the first twenty, runs in a process of their own
#include <execinfo.h>
#include <hccl/hccl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "piece.h"

namespace memory_out {
namespace {

constinit Piece* g_pieces = nullptr;
constinit Preparation* g_preparations = nullptr;
constinit const char* g_piece = "";
constinit int64_t g_n = 0;
constinit Mode g_mode = Mode::kOne;
constexpr unsigned kPatience = 60;  // seconds of one run; it takes milliseconds

const char* Words(Mode mode) { return mode == Mode::kOne ? "only" : "all from"; }

void SayWhere() {
  char line[200];
  int bytes = std::snprintf(line, sizeof line, "  in %s, %s allocation %ld failing; it was asked for at\n",
                            g_piece, Words(g_mode), static_cast<long>(g_n));
  if (write(STDERR_FILENO, line, static_cast<size_t>(bytes)) < 0) return;
  PrintWhereItFailed();
}

void OnFatal(int signal) {
  const char* what = signal == SIGALRM ? "HANGS\n" : "CRASHES\n";
  if (write(STDERR_FILENO, what, std::strlen(what)) < 0) _exit(3);
  SayWhere();
  const char* here = "  and the thread is at\n";
  if (write(STDERR_FILENO, here, std::strlen(here)) < 0) _exit(3);
  void* frames[48];
  backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
  _exit(3);
}

void WatchForDeath() {
  struct sigaction action = {};
  action.sa_handler = &OnFatal;
  action.sa_flags = SA_NODEFER | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) sigaction(signal, &action, nullptr);
}

bool SaysMemory(int code) {
  switch (code) {
    case ACL_ERROR_BAD_ALLOC:             // 200000: the host's
    case ACL_ERROR_RT_MEMORY_ALLOCATION:  // 207001: the device's, and of tasks
    case 561001:                          // aclnn: could not make an object
    case HCCL_E_MEMORY:
    case HCCL_E_SYSCALL:  // a thread could not be started
    case 207005:          // a thread could not be started
      return true;
    default:
      return false;
  }
}

}  // namespace

Piece* Pieces() { return g_pieces; }
Register::Register(const char* name, void (*run)(Run& run), bool starts)
    : piece{name, run, starts, g_pieces} {
  g_pieces = &piece;
}

Preparation* Preparations() { return g_preparations; }
Prepare::Prepare(const char* piece, void (*run)()) : preparation{piece, run, g_preparations} {
  g_preparations = &preparation;
}

bool Run::Ok(int code, const char* call, int own) {
  if (code == own) return true;
  failed_ = true;
  if (!HasFailed() || !SaysMemory(code)) Problem(call, code);
  return false;
}

bool Run::Made(const void* object, const char* call) {
  if (object != nullptr) return true;
  failed_ = true;
  if (!HasFailed()) Problem(call, 0);
  return false;
}

bool Run::GeOk(unsigned status, const char* call) {
  if (status == 0) return true;
  failed_ = true;
  if (!HasFailed()) Problem(call, static_cast<long>(status));
  return false;
}

void Run::MayRepeat(int code, const char* call) {
  failed_ = true;
  if (!HasFailed() || !SaysMemory(code)) Problem(call, code);
  Disarm();
}

void Run::Right(bool right, const char* what) {
  if (!right) Problem(what, 0);
}

void Run::CaughtBadAlloc() {
  failed_ = true;
  if (!HasFailed()) Problem("std::bad_alloc", 0);
}

void Run::Problem(const char* what, long code) {
  Disarm();
  Exempt exempt;
  problem_ = true;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "PROBLEM: %s gave %ld: %s\n", what, code, text == nullptr ? "no message" : text);
  SayWhere();
}

namespace {

void RunOnce(const Piece& piece, Run& run) {
  try {
    piece.run(run);
  } catch (const std::bad_alloc&) {
    run.CaughtBadAlloc();
  }
}

// The n-th allocation fails, then none. True when there was an n-th.
bool TryAt(const Piece& piece, int64_t n, Mode mode, int* problems) {
  g_n = n;
  g_mode = mode;
  alarm(kPatience);
  Run out;
  Arm(n, mode);
  RunOnce(piece, out);
  bool had = Disarm();
  aclGetRecentErrMsg();
  Run with;
  RunOnce(piece, with);
  if (with.failed() && !with.problem()) std::fprintf(stderr, "PROBLEM: the run with memory has failed\n");
  aclGetRecentErrMsg();
  if (out.problem() || with.problem() || with.failed()) {
    std::fprintf(stderr, "PROBLEM in %s, %s allocation %ld failing\n", piece.name, Words(mode),
                 static_cast<long>(n));
    ++*problems;
  }
  return had;
}

// What a run keeps is a cache when the next of the same kind keeps nothing more.
bool Leaks(const Piece& piece, int64_t n, Mode mode, int* problems) {
  int64_t before = LiveBlocks();
  for (int i = 0; i < 4; ++i) {
    TryAt(piece, n, mode, problems);
    int64_t now = LiveBlocks();
    if (now <= before) return false;
    before = now;
  }
  std::fprintf(stderr, "PROBLEM: LEAKS at every run\n");
  SayWhere();
  ++*problems;
  return true;
}

// To the next n. The first `each` are tried one by one, then so many for each doubling, about.
int64_t Step(int64_t n, int64_t each) {
  const char* all = std::getenv("BELAY_MEMORY_OUT");
  return n < each || (all != nullptr && std::strcmp(all, "all") == 0) ? 1 : 1 + n / each;
}

int Scan(const Piece& piece, Mode mode) {
  int problems = 0;
  for (int64_t n = 1; problems < 5; n += Step(n, 300)) {
    int64_t before = LiveBlocks();
    if (!TryAt(piece, n, mode, &problems)) return problems;
    if (LiveBlocks() > before) Leaks(piece, n, mode, &problems);
  }
  return problems;
}

int RunWarm(const Piece& piece) {
  WatchForDeath();
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  int problems = 0;
  if (const char* at = std::getenv("BELAY_MEMORY_OUT_AT")) {
    for (Mode mode : {Mode::kOne, Mode::kAllFrom}) {
      TryAt(piece, std::atol(at), mode, &problems);
      Leaks(piece, std::atol(at), mode, &problems);
    }
  } else {
    for (Mode mode : {Mode::kOne, Mode::kAllFrom}) problems += Scan(piece, mode);
  }
  alarm(0);  // the processes of RunCold have their own
  if (aclFinalize() != ACL_SUCCESS) return 1;
  std::fprintf(stderr, "%s: up to %ld allocations, %d problems\n", piece.name, static_cast<long>(g_n),
               problems);
  return problems;
}

// The piece in a process that has just begun. True when there was an n-th allocation.
bool TryInNewProcess(const Piece& piece, int64_t n, Mode mode, int* problems) {
  WatchForDeath();
  if (piece.starts) return TryAt(piece, n, mode, problems);
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) _exit(1);
  const bool had = TryAt(piece, n, mode, problems);
  if (aclFinalize() != ACL_SUCCESS) _exit(1);
  return had;
}

// Each run in a process of its own: all that is made once is made in it.
int RunCold(const Piece& piece) {
  int problems = 0;
  for (Mode mode : {Mode::kOne, Mode::kAllFrom}) {
    for (int64_t n = 1; problems < 5; n += Step(n, mode == Mode::kOne ? 20 : 10)) {
      pid_t child = fork();
      if (child == 0) {
        int own = 0;
        const bool had = TryInNewProcess(piece, n, mode, &own);
        _exit(own > 0 ? 1 : had ? 0 : 42);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 42) break;
      if (status != 0) ++problems;
      g_n = n;
    }
  }
  std::fprintf(stderr, "%s: up to %ld allocations, %d problems\n", piece.name, static_cast<long>(g_n),
               problems);
  return problems;
}

enum class End { kRan, kRefused, kProblem };

End TryInLittleRoom(const Piece& piece, int64_t bytes) {
  g_n = bytes;
  const pid_t child = fork();
  if (child == 0) {
    WatchForDeath();
    alarm(kPatience);
    mallopt(M_ARENA_MAX, 1);  // a thread's own would take addresses at any moment, 128 MiB at a time
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) _exit(1);
    Run out, with;
    ArmAddressSpace(bytes);
    RunOnce(piece, out);
    Disarm();
    RunOnce(piece, with);
    _exit(out.problem() || with.problem() || with.failed() ? 1 : out.failed() ? 42 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return End::kRan;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 42) return End::kRefused;
  std::fprintf(stderr, "PROBLEM: %s with %ld bytes ended with status %d\n", piece.name,
               static_cast<long>(bytes), status);
  return End::kProblem;
}

int RunInLittleRoom(const Piece& piece) {
  constexpr int64_t kStep = int64_t{3} << 20, kMost = 32;
  int problems = 0, refused = 0;
  for (int64_t i = 0; i < kMost; ++i) {
    const End end = TryInLittleRoom(piece, i * kStep);
    refused += end == End::kRefused;
    problems += end == End::kProblem;
  }
  if (refused == 0 || TryInLittleRoom(piece, int64_t{16} << 30) != End::kRan) ++problems;
  std::fprintf(stderr, "%s: refused with %d of %d limits, %d problems\n", piece.name, refused,
               static_cast<int>(kMost), problems);
  return problems;
}

}  // namespace
}  // namespace memory_out

int main(int argc, char** argv) {
  using namespace memory_out;
  int problems = 0;
  const bool addresses = argc > 1 && std::strcmp(argv[1], "addresses") == 0;
  if (argc > 1 && std::strcmp(argv[1], "spared") == 0) SpareOneDnn();
  for (const Piece* piece = Pieces(); piece != nullptr; piece = piece->next) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], piece->name) == 0;
    if (!wanted) continue;
    g_piece = piece->name;
    for (const Preparation* each = Preparations(); each != nullptr; each = each->next) {
      if (std::strcmp(each->piece, piece->name) == 0) each->run();
    }
    if (addresses) {
      problems += RunInLittleRoom(*piece);
      continue;
    }
    if (!piece->starts) problems += RunWarm(*piece);
    problems += RunCold(*piece);
  }
  return problems == 0 ? 0 : 1;
}
