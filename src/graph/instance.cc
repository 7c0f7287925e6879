#include "graph/instance.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "graph/codes.h"
#include "graph/described.h"
#include "graph/interpreter.h"
#include "graph/specialise.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/thread_engine.h"

namespace belay::graph {

namespace {

char* ViewOf(const Buffer& buffer) { return static_cast<char*>(rt::View(buffer.data, buffer.bytes)); }

// What the graph touches of a buffer.
Buffer Used(const Buffer& buffer, const ModelPort& port) {
  return {buffer.data, port.type.concrete() ? std::min(buffer.bytes, port.bytes) : buffer.bytes,
          buffer.read_now};
}

// The bytes of the outputs in the order of their addresses. Models may have thousands.
class WrittenBytes {
 public:
  WrittenBytes(std::span<const Buffer> outputs, const std::vector<ModelPort>& ports) {
    pieces_.reserve(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Buffer used = Used(outputs[i], ports[i]);
      const auto begin = reinterpret_cast<uintptr_t>(used.data);
      if (used.bytes != 0) pieces_.push_back({begin, begin + used.bytes, i});
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    CheckApart(ports);
  }

  bool Overlap(const Buffer& buffer) const {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.data);
    const uintptr_t end = begin + buffer.bytes;
    auto behind = std::partition_point(pieces_.begin(), pieces_.end(),
                                       [&](const Piece& piece) { return piece.begin < end; });
    return buffer.bytes != 0 && behind != pieces_.begin() && std::prev(behind)->end > begin;
  }

 private:
  struct Piece {
    uintptr_t begin, end;
    size_t output;
  };

  // Where two overlap, two neighbours do.
  void CheckApart(const std::vector<ModelPort>& ports) const {
    for (size_t i = 1; i < pieces_.size(); ++i) {
      if (pieces_[i - 1].end <= pieces_[i].begin) continue;
      auto [a, b] = std::minmax(pieces_[i - 1].output, pieces_[i].output);
      Fail(codes::kInvalidParam, "model-outputs-overlap",
           "the buffers of outputs {} ('{}') and {} ('{}') overlap in memory; give each memory of its own", a,
           ports[a].name, b, ports[b].name);
    }
  }

  std::vector<Piece> pieces_;
};

}  // namespace

// What one execution works on, from its call until it is over. Inputs that lie where outputs do are read from
// copies, which are made when the execution begins.
class InstanceArguments final : public rt::LaunchArguments {
 public:
  InstanceArguments(std::shared_ptr<Instance> instance, std::span<const Buffer> inputs,
                    std::span<const Buffer> outputs, const WrittenBytes& written,
                    std::shared_ptr<DynamicResult> result, const Loan& loan)
      : instance_(std::move(instance)),
        inputs_(inputs.begin(), inputs.end()),
        outputs_(outputs.begin(), outputs.end()),
        result_(std::move(result)),
        loan_(loan) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Buffer input = Used(inputs_[i], instance_->inputs()[i]);
      if (!input.read_now && !written.Overlap(input)) continue;
      copies_.push_back({i, input.bytes, std::make_unique_for_overwrite<char[]>(input.bytes)});
      if (input.read_now) Read(copies_.back());
    }
  }

  void Bind() noexcept override {
    for (const Copy& copy : copies_) {
      if (!inputs_[copy.input].read_now) Read(copy);
    }
    instance_->Bind(inputs_, outputs_, result_);
  }

  // Inputs that lie where outputs do are read as the execution begins, all others while it lasts.
  void Ranges(rt::RangeVisitor& visit) const override {
    if (loan_.model != 0) visit.RunsModel(loan_.model);
    if (loan_.work.bytes != 0) visit.Writes(loan_.work.data, loan_.work.bytes);
    if (loan_.weights.bytes != 0) visit.Reads(loan_.weights.data, loan_.weights.bytes);
    if (loan_.choice.bytes != 0) visit.Reads(loan_.choice.data, loan_.choice.bytes);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Buffer used = Used(inputs_[i], instance_->inputs()[i]);
      if (used.bytes != 0 && !used.read_now) visit.Reads(used.data, used.bytes);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Buffer used = Used(outputs_[i], instance_->outputs()[i]);
      if (used.bytes != 0) visit.Writes(used.data, used.bytes);
    }
  }

 private:
  struct Copy {
    size_t input;
    size_t bytes;
    std::unique_ptr<char[]> memory;
  };
  void Read(const Copy& copy) noexcept {
    Buffer& input = inputs_[copy.input];
    if (copy.bytes != 0) std::memcpy(copy.memory.get(), ViewOf(input), copy.bytes);
    input.data = copy.memory.get();
  }
  std::shared_ptr<Instance> instance_;
  std::vector<Buffer> inputs_, outputs_;
  std::vector<Copy> copies_;
  std::shared_ptr<DynamicResult> result_;
  const Loan loan_;
};

namespace {

rt::CaptureNode NodeBehind(rt::Task task, std::vector<uint32_t> after) {
  rt::CaptureNode node{};
  node.kind = rt::CaptureNode::Kind::kTask;
  node.task = task;
  node.task.call = 0;  // the call that loads the model does not run it
  node.after = std::move(after);
  return node;
}

// Device memory of the instance; it may go with the device before the instance does.
class OwnMemory {
 public:
  OwnMemory() = default;
  OwnMemory(int device, size_t bytes)
      : data_(rt::AllocateDevice(device, {.bytes = bytes})), serial_(rt::BlockSerial(data_)) {}
  OwnMemory(OwnMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), serial_(other.serial_) {}
  OwnMemory& operator=(OwnMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(serial_, other.serial_);
    return *this;
  }
  ~OwnMemory() {
    if (data_ != nullptr && rt::BlockSerial(data_) == serial_) rt::FreeDevice(data_);
  }
  void* data() const { return data_; }
  bool lost() const { return data_ != nullptr && rt::BlockSerial(data_) != serial_; }

 private:
  void* data_ = nullptr;
  uint64_t serial_ = 0;
};

class StaticInstance final : public Instance {
 public:
  StaticInstance(rt::Device& device, const Graph& graph, Buffer work) : Instance(device), program_(graph) {
    inputs_ = program_.inputs();
    outputs_ = program_.outputs();
    bases_.resize(program_.base_count());
    if (work.bytes < program_.work_bytes()) {
      memory_ = OwnMemory(device.id(), program_.work_bytes());
      work = {memory_.data(), program_.work_bytes()};
    }
    bases_[kWorkBase] = ViewOf(work);
    std::vector<rt::CaptureNode> nodes;
    for (const Kernel& kernel : program_.kernels()) {
      nodes.push_back(NodeBehind(rt::MakeTask(KernelTask{this, &kernel}, kernel.plan->cost()), kernel.after));
    }
    Finish(std::move(nodes));
  }

  uint64_t work_bytes() const override { return program_.work_bytes(); }
  uint64_t weight_bytes() const override { return program_.weight_bytes(); }
  bool dynamic() const override { return false; }
  const Program* program() const override { return &program_; }
  bool alive() const override { return !memory_.lost(); }

 private:
  struct KernelTask {
    static constexpr const char* kName = "operator";
    StaticInstance* instance;
    const Kernel* kernel;
    void Run() const {
      if (instance->has_listener()) [[unlikely]]
        return instance->RunListened(*kernel);
      Program::Run(*kernel, instance->bases_.data());
    }
    // Within the instance; the launch says what it touches of the program's memory.
    void Ranges(rt::RangeVisitor& visit) const { visit.TouchesUnknown(); }
    void Describe(std::string& out) const { out = kernel->type + " " + kernel->name; }
  };

  void RunListened(const Kernel& kernel) {
    const std::shared_ptr<OpListener> told = listener();
    const int64_t begin = NowNs();
    Program::Run(kernel, bases_.data());
    if (told != nullptr) told->Ran(kernel.name, kernel.type, begin, NowNs());
  }

  void Bind(std::span<const Buffer> inputs, std::span<const Buffer> outputs,
            const std::shared_ptr<DynamicResult>&) override {
    auto at = bases_.begin() + kFirstPortBase;
    for (const Buffer& buffer : inputs) *at++ = ViewOf(buffer);
    for (const Buffer& buffer : outputs) *at++ = ViewOf(buffer);
  }

  Program program_;
  OwnMemory memory_;
  std::vector<char*> bases_;
};

class DynamicInstance final : public Instance {
 public:
  DynamicInstance(rt::Device& device, Graph graph, std::span<const ValueType> described)
      : Instance(device),
        graph_(std::move(graph)),
        interpreter_(graph_),
        described_(described.begin(), described.end()) {
    inputs_ = InputPorts(graph_);
    outputs_ = OutputPorts(graph_);
    weights_ = ConstantBytes(graph_);
    std::vector<rt::CaptureNode> nodes;
    nodes.push_back(NodeBehind(rt::MakeTask(InterpretTask{this}, 1'000'000), {}));
    Finish(std::move(nodes));
  }

  uint64_t work_bytes() const override { return 0; }
  uint64_t weight_bytes() const override { return weights_; }
  bool dynamic() const override { return true; }
  const Program* program() const override { return nullptr; }
  bool alive() const override { return true; }

 private:
  struct InterpretTask {
    static constexpr const char* kName = "dynamic model";
    DynamicInstance* instance;
    void Run() const { instance->Run(); }
    void Ranges(rt::RangeVisitor& visit) const { visit.TouchesUnknown(); }
  };

  void Bind(std::span<const Buffer> inputs, std::span<const Buffer> outputs,
            const std::shared_ptr<DynamicResult>& result) override {
    bound_inputs_.assign(inputs.begin(), inputs.end());
    bound_outputs_.assign(outputs.begin(), outputs.end());
    result_ = result;
  }

  void Run() {
    std::vector<Constant> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const ValueType& type = inputs_[i].type;
      inputs.push_back(
          std::make_shared<HostTensor>(type.dtype, type.shape, ViewOf(bound_inputs_[i]), nullptr));
    }
    const std::shared_ptr<OpListener> told = has_listener() ? listener() : nullptr;
    std::vector<OutputRoom> rooms;
    for (const Buffer& buffer : bound_outputs_)
      rooms.push_back({buffer.data == nullptr ? nullptr : ViewOf(buffer), buffer.bytes});
    std::vector<Constant> outputs = interpreter_.Run(inputs, told.get(), rooms);
    for (size_t i = 0; i < described_.size(); ++i)
      NeedAsDescribed(graph_.name, described_, i,
                      {outputs[i]->dtype(), Format::kND, true, outputs[i]->shape()});
    for (size_t i = 0; i < outputs.size(); ++i) Deliver(i, *outputs[i]);
    if (result_ != nullptr) result_->outputs = Detached(std::move(outputs), inputs);
    result_ = nullptr;
  }

  void Deliver(size_t i, const HostTensor& value) {
    if (value.members() != nullptr)
      Fail(kGraphInvalid, "graph-sequence", "output {} ('{}') is a sequence, but outputs are tensors", i,
           outputs_[i].name);
    const Buffer& buffer = bound_outputs_[i];
    if (buffer.data == nullptr) return;
    if (buffer.bytes < value.bytes()) {
      Fail(kShapeInvalid, "model-output-short",
           "output {} ('{}') became {} bytes ({}), but its buffer has {}; give a larger one, or none", i,
           outputs_[i].name, value.bytes(), value.shape().ToString(), buffer.bytes);
    }
    std::byte* const to = reinterpret_cast<std::byte*>(ViewOf(buffer));
    if (value.data() != to) std::memcpy(to, value.data(), value.bytes());
  }

  // The caller's input buffers may go before the result does. An input is copied once, however many outputs
  // it is.
  static std::vector<Constant> Detached(std::vector<Constant> outputs, const std::vector<Constant>& inputs) {
    std::unordered_map<const void*, size_t> bytes;
    for (const Constant& input : inputs) {
      size_t& most = bytes[input->data()];
      most = std::max(most, input->bytes());
    }
    std::unordered_map<const void*, std::shared_ptr<HostTensor>> copies;
    for (Constant& output : outputs) {
      auto found = bytes.find(output->data());
      if (found == bytes.end() || output->bytes() == 0) continue;
      std::shared_ptr<HostTensor>& copy = copies[found->first];
      if (copy == nullptr) {
        copy = std::make_shared<HostTensor>(DType::kU8, Shape{static_cast<int64_t>(found->second)});
        std::memcpy(copy->mutable_data(), found->first, found->second);
      }
      output = std::make_shared<HostTensor>(output->dtype(), output->shape(), copy);
    }
    return outputs;
  }

  const Graph graph_;
  Interpreter interpreter_;
  std::vector<ValueType> described_;  // then the graph is one operator, and called as its type
  uint64_t weights_ = 0;
  std::vector<Buffer> bound_inputs_, bound_outputs_;
  std::shared_ptr<DynamicResult> result_;
};

void CheckBuffers(std::span<const Buffer> buffers, const std::vector<ModelPort>& ports, const char* what) {
  if (buffers.size() != ports.size()) {
    Fail(codes::kInvalidParam, "model-buffer-count", "the model has {} {}s, but {} buffers were given",
         ports.size(), what, buffers.size());
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    if (buffers[i].data == nullptr && buffers[i].bytes != 0) {
      Fail(codes::kInvalidParam, "model-buffer-null",
           "{} {} ('{}', {}) is a null pointer with {} bytes; give it memory from aclrtMalloc", what, i,
           ports[i].name, ports[i].type.ToString(), buffers[i].bytes);
    }
    if (!ports[i].type.concrete() || buffers[i].bytes >= ports[i].bytes) continue;
    Fail(codes::kInvalidParam, "model-buffer-short", "{} {} ('{}', {}) needs {} bytes, but its buffer has {}",
         what, i, ports[i].name, ports[i].type.ToString(), ports[i].bytes, buffers[i].bytes);
  }
}

// For a program or, where only the data decides shapes, for the interpreter.
Specialised Prepared(const Graph& graph, std::span<const ValueType> inputs, const BuildOptions* optimise) {
  Specialised specialised = Specialise(graph, inputs, Purpose::kTypes);  // the program makes the plans
  if (specialised.dynamic_at.empty() && optimise != nullptr) OptimiseFor(*optimise, specialised.graph);
  return specialised;
}

}  // namespace

Instance::Instance(rt::Device& device) : device_(device) {
  HandleBits handle = rt::Models().Create(device, ~0u);
  if (handle == 0)
    Fail(codes::kRtNoModelResource, "model-limit", "too many models are loaded; unload some of them");
  model_.reset(rt::Models().Find(handle));
}

void Instance::Finish(std::vector<rt::CaptureNode> nodes) {
  rt::ThreadEngine* engine = rt::TheThreadEngine();
  model_->Finish(
      std::make_unique<rt::TaskGraph>(std::move(nodes), engine == nullptr ? 1 : engine->workers()));
}

void Instance::Listen(std::shared_ptr<OpListener> listener) {
  std::lock_guard guard(listener_lock_);
  has_listener_.store(listener != nullptr, std::memory_order_relaxed);
  listener_ = std::move(listener);
}

std::shared_ptr<OpListener> Instance::listener() {
  std::lock_guard guard(listener_lock_);
  return listener_;
}

void Instance::Execute(rt::Stream& stream, std::span<const Buffer> inputs, std::span<const Buffer> outputs,
                       std::shared_ptr<DynamicResult> result, const Loan& loan) {
  if (!alive()) {
    Fail(codes::kGeLoadModel, "model-memory-gone",
         "the device was reset since the model was loaded, and its memory is gone; load it again");
  }
  CheckBuffers(inputs, inputs_, "input");
  CheckBuffers(outputs, outputs_, "output");
  const WrittenBytes written(outputs, outputs_);
  model_->Execute(stream, std::make_unique<InstanceArguments>(shared_from_this(), inputs, outputs, written,
                                                              std::move(result), loan));
}

Needs NeedsOf(const Graph& graph, std::span<const ValueType> inputs, const BuildOptions* optimise) {
  Specialised specialised = Prepared(graph, inputs, optimise);
  if (!specialised.dynamic_at.empty()) return {0, ConstantBytes(specialised.graph)};
  Program program(specialised.graph);
  return {program.work_bytes(), program.weight_bytes()};
}

std::shared_ptr<Instance> MakeInstance(rt::Device& device, const Graph& graph,
                                       std::span<const ValueType> inputs, const InstanceOptions& options) {
  Specialised specialised = Prepared(graph, inputs, options.optimise);
  const std::vector<ModelPort> outputs = OutputPorts(specialised.graph);
  for (size_t i = 0; i < options.described.size(); ++i)
    NeedAsDescribed(graph.name, options.described, i, outputs[i].type);
  if (specialised.dynamic_at.empty()) {
    return std::make_shared<StaticInstance>(device, specialised.graph, options.work);
  }
  BeginSequences(specialised.graph);
  return std::make_shared<DynamicInstance>(device, std::move(specialised.graph), options.described);
}

}  // namespace belay::graph
