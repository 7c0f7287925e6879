// What the kept set of small wrong programs shares. Each has a mended twin, which differs by what was wrong:
//
//   MISTAKE(ReadBeforeTheWrite, "race") {
//     Fill(x, a);           // [1]
//     if (mended) Link(a, b);
//     Copy(y, x, b);        // [2]
//   }
//
// Each twin runs in a process of its own, under `belay check` (run.py): the wrong one must be told of once,
// as this kind, with the marked lines as the first places of the report in this order; of the other nothing
// may be told. What is told only with an option is run with it. A second kind is one that the wrong twin is
// told of besides.
//
// Under `belay explore` (explore.py) each runs alone, and what the blocks hold at the end is compared.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace mistakes {

inline constexpr size_t kBytes = 4096;

struct Mistake {
  const char* name;
  const char* kind;
  const char* file;
  int line;
  void (*run)();
};
std::vector<Mistake>& All();
struct Entry {
  explicit Entry(const Mistake& mistake) { All().push_back(mistake); }
};
#define MISTAKE(name, kind)                                                              \
  static void name();                                                                    \
  static const ::mistakes::Entry entry_##name({#name, kind, __FILE__, __LINE__, &name}); \
  static void name()

// --- what each begins with, and what is taken away after it

extern bool mended;
extern aclrtStream a, b, c;
extern void *x, *y, *z;  // blocks of kBytes on device 0, filled
extern void* pinned;     // the same, of the host
extern char host[kBytes];
extern std::string model_file;        // takes six floats six times
extern std::string image_model_file;  // the same of an image of 2 x 2 by dynamic AIPP
extern std::string sized_model_file;  // the same of one, two or four rows of three

// Ends the process when the call does not succeed.
#define OK(call) ::mistakes::Succeed(call, #call, __FILE__, __LINE__)
void Succeed(int code, const char* call, const char* file, int line);
// What only the wrong twin is refused.
#define TWIN(call) ::mistakes::Differ(call, #call, __FILE__, __LINE__)
void Differ(int code, const char* call, const char* file, int line);

// --- calls

void Fill(void* block, aclrtStream stream, size_t bytes = kBytes);
void Copy(void* to, const void* from, aclrtStream stream, size_t bytes = kBytes);
void Read(const void* from, size_t bytes = kBytes);  // to the host, at once
void Link(aclrtStream from, aclrtStream to);         // by an event
void Wait(aclrtStream stream);
// By a function of the stream, which returns when `open` is true.
void HoldUp(aclrtStream stream, std::atomic<bool>* open);
aclrtEvent NewEvent();
void Record(aclrtEvent event, aclrtStream stream);
void Await(aclrtStream stream, aclrtEvent event);
void* NewBlock(size_t bytes = kBytes);
void* NewPinned();
void Free(void* block);
aclrtStream NewStream();
void End(aclrtStream stream);
void InThread(const std::function<void()>& body);
void Begin(aclrtStream stream);  // a capture
aclmdlRI Finish(aclrtStream stream);
void Launch(aclmdlRI model, aclrtStream stream);
void End(aclmdlRI model, aclrtStream stream);     // when the stream is done
void Replay(aclmdlRI model, aclrtStream stream);  // once, and ends it

// The other process of those that share memory: exports a block, writes its key, and goes when its input
// ends.
int Export();

// --- operators on floats

struct View {
  void* block;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
};
inline View Vector(void* block, int64_t size = kBytes / 4) { return {block, {size}, {1}}; }
aclTensor* Tensor(const View& view);
int Add(const View& left, const View& right, const View& out, aclrtStream stream);  // out = left + right
// The same, of which it is known that the call succeeds.
void Sum(const View& left, const View& right, const View& out, aclrtStream stream);
// Sorts x into y; the first stage.
aclOpExecutor* PrepareSort(uint64_t* workspace);

}  // namespace mistakes
