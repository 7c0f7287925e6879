// A piece of a program: a function that uses some of the interface and frees what it made, also when a call
// has failed on the way. It is run again and again with another allocation failing each time (main.cc).
#pragma once

#include <acl/acl.h>

#include <utility>

#include "failing_allocator.h"

namespace memory_out {

// What one run of a piece has seen. A problem is said on standard error at once.
class Run {
 public:
  // True when the call succeeded. Else the piece returns: its code must be one for memory that ran out, or
  // `own`, which the call has in any case.
  bool Ok(int code, const char* call, int own = 0);
  // The same for calls whose result is null without memory, and for those of GE (0 or GRAPH_FAILED).
  bool Made(const void* object, const char* call);
  bool GeOk(unsigned status, const char* call);
  // The call ends or frees something: one that fails for want of memory has changed nothing, and succeeds
  // when it is repeated with memory.
  template <class Call>
  void Free(Call&& call, const char* text) {
    int code = call();
    if (code == 0) return;
    MayRepeat(code, text);
    if (code = call(); code != 0) Problem(text, code);
  }
  void Right(bool right, const char* what);
  // The program's own C++ code was told that memory is out.
  void CaughtBadAlloc();
  bool failed() const { return failed_; }
  bool problem() const { return problem_; }

 private:
  void MayRepeat(int code, const char* call);
  void Problem(const char* what, long code);
  bool failed_ = false;
  bool problem_ = false;
};

template <class Call>
class AtEnd {
 public:
  AtEnd(Run& run, const char* text, Call call) : run_(run), text_(text), call_(std::move(call)) {}
  ~AtEnd() { run_.Free(call_, text_); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Run& run_;
  const char* text_;
  Call call_;
};

struct Piece {
  const char* name;
  void (*run)(Run& run);
  bool starts;  // it calls aclInit itself, and so runs in a process of its own each time
  Piece* next;
};
Piece* Pieces();
struct Register {
  Register(const char* name, void (*run)(Run& run), bool starts);
  Piece piece;
};

// What a piece needs from outside, made once and with memory.
struct Preparation {
  const char* piece;
  void (*run)();
  Preparation* next;
};
Preparation* Preparations();
struct Prepare {
  Prepare(const char* piece, void (*run)());
  Preparation preparation;
};

}  // namespace memory_out

// PIECE(name) { ... } at the start of a line: CMake makes a test of each.
#define PIECE_WITH(name, starts)                                               \
  static void Piece_##name(::memory_out::Run& run);                            \
  static ::memory_out::Register register_##name(#name, &Piece_##name, starts); \
  static void Piece_##name([[maybe_unused]] ::memory_out::Run& run)
#define PIECE(name) PIECE_WITH(name, false)
#define STARTING_PIECE(name) PIECE_WITH(name, true)
#define PREPARE(name, function) static ::memory_out::Prepare prepare_##name(#name, [] { (void)(function)(); })

#define TRY(call)                       \
  do {                                  \
    if (!run.Ok((call), #call)) return; \
  } while (0)
#define TRY_MADE(object, call)            \
  auto* object = (call);                  \
  do {                                    \
    if (!run.Made(object, #call)) return; \
  } while (0)
#define TRY_GE(call)                      \
  do {                                    \
    if (!run.GeOk((call), #call)) return; \
  } while (0)
#define AT_END_2(call, line) ::memory_out::AtEnd at_end_##line(run, #call, [&] { return call; })
#define AT_END_1(call, line) AT_END_2(call, line)
#define AT_END(call) AT_END_1(call, __LINE__)
#define RIGHT(condition) run.Right((condition), #condition)
