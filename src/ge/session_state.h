// What stands behind a ge::Session: its graphs, compiled and ready to run on the session's device.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ge/ge_api.h"
#include "ge/options.h"
#include "graph/model.h"

namespace belay::graph_interface {

// By which of two functions, which exclude one another, a graph was given its memory.
enum class WorkGivenAs { kNothing, kWhole, kRefreshable };

// One graph of a session. Its own lock: compiling takes long, and other graphs may run meanwhile.
class SessionGraph {
 public:
  SessionGraph(ge::Graph graph, Options options) : graph_(std::move(graph)), options_(std::move(options)) {}
  SessionGraph(graph::ModelFile file, Options options);
  ~SessionGraph();

  // Compiles with the graph's own sizes, or with those of inputs (empty types: the graph's own).
  void Compile(rt::Device& device, const std::vector<graph::ValueType>& inputs);
  bool compiled();
  void NeedCompiled();
  // Compiled where it was not, and loaded again where the device was reset meanwhile.
  std::shared_ptr<graph::Model> Ready(rt::Device& device);
  // Memory of the program for what lies between operators; executions from now on use it.
  void UseWork(rt::Device& device, graph::Buffer work, WorkGivenAs how);
  // Throws Error when the program gave it before, or it is too small.
  void UseConstants(rt::Device& device, graph::Buffer memory);

 private:
  void Load(rt::Device& device);
  // The model, of a graph that is compiled and whose sizes are known.
  std::shared_ptr<graph::Model> Static(rt::Device& device);

  std::mutex lock_;
  ge::Graph graph_;
  Options options_;
  std::shared_ptr<const graph::ModelFile> file_;  // null: not compiled
  graph::Buffer work_;
  WorkGivenAs work_given_ = WorkGivenAs::kNothing;
  bool has_constants_ = false;
  uint32_t model_ = 0;  // 0: not loaded
};

// Runs what RunGraphAsync queued, one after another, on a thread that starts with the first. Add throws
// where none can be started.
class LaterRuns {
 public:
  ~LaterRuns() { Finish(); }
  void Add(std::function<void()> run);
  // Runs what is left. A callback may call this: then the thread ends by itself.
  void Finish();

 private:
  struct Queue {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> runs;
    bool ending = false;
    void Loop();
  };
  static void* Main(void* queue);
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  bool started_ = false;
  pthread_t thread_{};
};

class SessionState {
 public:
  explicit SessionState(Options options);
  ~SessionState();

  void Add(uint32_t id, std::shared_ptr<SessionGraph> graph);
  void Remove(uint32_t id);
  std::shared_ptr<SessionGraph> Graph(uint32_t id);
  // The session's device, in use from now on.
  rt::Device& Device();
  // The options of a graph: the session's, which its own go before.
  Options With(Options options) const;
  void SetAllocator(const void* stream, ge::AllocatorPtr allocator);
  ge::AllocatorPtr AllocatorOf(const void* stream);
  LaterRuns& later() { return later_; }

 private:
  std::mutex lock_;
  Options options_;
  int device_;
  bool uses_device_ = false;
  std::map<uint32_t, std::shared_ptr<SessionGraph>> graphs_;
  std::map<const void*, ge::AllocatorPtr> allocators_;
  LaterRuns later_;
};

// The engine of the process. Throw Error when GEInitialize was not called.
// `*id` is the session's number, also when it is refused: then FindSession says why.
void OpenSession(Options options, uint64_t* id);
void CloseSession(uint64_t id);
std::shared_ptr<SessionState> FindSession(uint64_t id);

void StartEngine(Options options);
void StopEngine();

}  // namespace belay::graph_interface
