// A graph that can run on a device for one set of input shapes: a compiled program with its memory and its
// replay engine, or, where only the data decides shapes, the graph and the interpreter.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "graph/build_model.h"
#include "graph/op_listener.h"
#include "graph/program.h"
#include "runtime/model_ri.h"

namespace belay::graph {

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
  bool read_now = false;  // the call reads it, so what it holds may change before the execution
};

// Memory of the caller that an execution works on, beside its inputs and outputs, and the loaded model that
// it is one of.
struct Loan {
  Buffer work, weights;
  Buffer choice = {};  // of sizes, which a card reads
  uint32_t model = 0;  // its number; 0: it is none's
};

// What an execution of a dynamic graph leaves: its outputs, when the task has run. Those that were given a
// buffer may lie there.
struct DynamicResult {
  std::vector<Constant> outputs;
};

class Instance : public std::enable_shared_from_this<Instance> {
 public:
  virtual ~Instance() = default;

  const std::vector<ModelPort>& inputs() const { return inputs_; }
  const std::vector<ModelPort>& outputs() const { return outputs_; }
  virtual uint64_t work_bytes() const = 0;
  virtual uint64_t weight_bytes() const = 0;
  virtual bool dynamic() const = 0;
  // Null for dynamic ones.
  virtual const Program* program() const = 0;
  // False: the device was reset, and the memory of the instance went with it.
  virtual bool alive() const = 0;

  // Queues one execution. The buffers are as large as the ports say; what they hold is copied, not they.
  // Outputs may lie where inputs lie.
  // Executions of one instance run one after another. An output of a dynamic graph without data is only
  // left in `result`.
  void Execute(rt::Stream& stream, std::span<const Buffer> inputs, std::span<const Buffer> outputs,
               std::shared_ptr<DynamicResult> result = nullptr, const Loan& loan = {});

  // Is told of each operator that runs from now on; null: nobody.
  void Listen(std::shared_ptr<OpListener> listener);

 protected:
  friend class InstanceArguments;
  explicit Instance(rt::Device& device);
  void Finish(std::vector<rt::CaptureNode> nodes);
  // The memory of the execution that begins.
  virtual void Bind(std::span<const Buffer> inputs, std::span<const Buffer> outputs,
                    const std::shared_ptr<DynamicResult>& result) = 0;

  bool has_listener() const { return has_listener_.load(std::memory_order_relaxed); }
  std::shared_ptr<OpListener> listener();

  struct ModelDeleter {
    void operator()(rt::ModelRI* model) const { rt::ModelRI::Destroy(*model); }
  };
  rt::Device& device_;
  std::vector<ModelPort> inputs_, outputs_;
  std::unique_ptr<rt::ModelRI, ModelDeleter> model_;

 private:
  std::atomic<bool> has_listener_{false};
  std::mutex listener_lock_;
  std::shared_ptr<OpListener> listener_;  // under that lock
};

struct InstanceOptions {
  Buffer work = {};  // memory of the caller that is large enough; otherwise the instance has its own
  std::span<const ValueType> described = {};  // a single operator's outputs, as its caller will read them
  const BuildOptions* optimise =
      nullptr;  // for a graph that was not optimised yet, since its sizes were open
};

// What a graph takes on a device when it runs with these types.
struct Needs {
  uint64_t work_bytes = 0;
  uint64_t weight_bytes = 0;  // packed ones as they are packed
};
Needs NeedsOf(const Graph& graph, std::span<const ValueType> inputs, const BuildOptions* optimise);

// Specialises the graph for these types and makes it ready to run.
std::shared_ptr<Instance> MakeInstance(rt::Device& device, const Graph& graph,
                                       std::span<const ValueType> inputs,
                                       const InstanceOptions& options = {});

}  // namespace belay::graph
