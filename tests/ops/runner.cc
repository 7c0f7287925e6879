#include "runner.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "expected.h"
#include "ops/reference/reference.h"

namespace belay::cases {
namespace {

namespace reference = ops::reference;

std::string LastMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "no message" : text;
}

void* Find(const std::string& name) {
  static void* const library = dlopen("libopapi.so", RTLD_NOW);
  return library == nullptr ? nullptr : dlsym(library, name.c_str());
}

// Everything of one case that lives on the device or behind a handle.
class Session {
 public:
  Session(const Case& c, uint32_t seed) : case_(c), rng_(seed) {
    aclrtCreateStream(&stream_);
    for (Argument& argument : case_.arguments) {
      if (argument.kind == Kind::kTensor) AddMemory(argument);
    }
    for (Argument& argument : case_.arguments) values_.push_back(ValueOf(argument));
  }
  ~Session() {
    DestroyObjects();
    aclrtSynchronizeStream(stream_);
    for (void* address : device_) aclrtFree(address);
    if (workspace_ != nullptr) aclrtFree(workspace_);
    aclrtDestroyStream(stream_);
  }

  std::string Run(How how) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    int code = StageOne(&size, &executor);
    if (code != case_.code) {
      return "stage 1 gave " + std::to_string(code) + ": " + (code != 0 ? LastMessage() : "");
    }
    if (code != 0) return LastMessage() == "no message" ? "refused without a word" : "";
    if (size > 0 && aclrtMalloc(&workspace_, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) return LastMessage();
    // It holds anything: NaN where a kernel reads what it has not written.
    if (size > 0 && aclrtMemset(workspace_, size, 0xFF, size) != 0) return LastMessage();
    std::string failure = how == How::kCaptured ? Capture(size, executor) : Submit(how, size, executor);
    if (!failure.empty()) return failure;
    if (aclrtSynchronizeStream(stream_) != 0) return "synchronise: " + LastMessage();
    return Compare();
  }

 private:
  void AddMemory(Argument& argument) {
    tensor::Tensor& t = argument.tensor;
    size_t bytes = static_cast<size_t>(t.storage_count) * BytesOf(t.dtype);
    std::vector<char> host(bytes + 8);
    t.data = host.data();
    // Bytes that belong to no element must stay as they are.
    std::memset(host.data(), 0x5a, host.size());
    std::uniform_int_distribution<int> pick(-72, 72);
    reference::ForEach(t.shape, [&](const tensor::Shape& i) {
      reference::Real value = pick(rng_) / 8.0L;
      reference::Set(t, i, IsFloat(t.dtype) ? value : std::trunc(value));
    });
    void* device = nullptr;
    if (bytes != 0) {
      aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMemcpy(device, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    }
    device_.push_back(device);
    host_.push_back(std::move(host));
    t.data = host_.back().data();
  }

  aclTensor* MakeTensor(const Argument& argument, void* device) {
    const tensor::Tensor& t = argument.tensor;
    int64_t flat[] = {t.storage_count};
    const int64_t* storage = argument.flat_storage ? flat : t.shape.data();
    auto rank = static_cast<uint64_t>(t.shape.rank());
    aclTensor* made =
        aclCreateTensor(t.shape.data(), rank, static_cast<aclDataType>(t.dtype), t.strides.data(), t.offset,
                        ACL_FORMAT_ND, storage, argument.flat_storage ? 1 : rank, device);
    tensors_.push_back(made);
    return made;
  }

  uint64_t ValueOf(const Argument& argument) {
    switch (argument.kind) {
      case Kind::kTensor:
        return reinterpret_cast<uint64_t>(MakeTensor(argument, device_[tensors_.size()]));
      case Kind::kScalar: {
        char bytes[16] = {};
        double value = argument.number;
        Convert(argument.dtype, bytes, DType::kF64, &value, 1);
        scalars_.push_back(aclCreateScalar(bytes, static_cast<aclDataType>(argument.dtype)));
        return reinterpret_cast<uint64_t>(scalars_.back());
      }
      case Kind::kInts:
        arrays_.push_back(aclCreateIntArray(argument.ints.data(), argument.ints.size()));
        return reinterpret_cast<uint64_t>(arrays_.back());
      case Kind::kDType:
        return static_cast<uint64_t>(static_cast<int64_t>(argument.dtype));
      case Kind::kNumber:
        return static_cast<uint64_t>(static_cast<int64_t>(argument.number));
      case Kind::kNull:
        return 0;
    }
    return 0;
  }

  void DestroyObjects() {
    for (aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    for (aclScalar* scalar : scalars_) aclDestroyScalar(scalar);
    for (aclIntArray* array : arrays_) aclDestroyIntArray(array);
    tensors_.clear(), scalars_.clear(), arrays_.clear();
  }

  // Every argument so far is an integer or a pointer, which all travel the same way.
  int StageOne(uint64_t* size, aclOpExecutor** executor) {
    void* symbol = Find("aclnn" + case_.function + "GetWorkspaceSize");
    if (symbol == nullptr) return -1;
    std::vector<uint64_t> v = values_;
    v.push_back(reinterpret_cast<uint64_t>(size));
    v.push_back(reinterpret_cast<uint64_t>(executor));
    v.resize(8);
    using Function = int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    return reinterpret_cast<Function>(symbol)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
  }

  int StageTwo(uint64_t size, aclOpExecutor* executor) {
    using Function = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
    void* symbol = Find("aclnn" + case_.function);
    return symbol == nullptr ? -1 : reinterpret_cast<Function>(symbol)(workspace_, size, executor, stream_);
  }

  std::string Submit(How how, uint64_t size, aclOpExecutor* executor) {
    if (how == How::kRepeatable && aclSetAclOpExecutorRepeatable(executor) != 0) return LastMessage();
    if (StageTwo(size, executor) != 0) return "stage 2: " + LastMessage();
    DestroyObjects();  // at once, as programs do
    if (how == How::kOnce) return "";
    Restore();
    if (StageTwo(size, executor) != 0) return "stage 2 again: " + LastMessage();
    return aclDestroyAclOpExecutor(executor) != 0 ? LastMessage() : "";
  }

  // The same from a captured model, replayed twice.
  std::string Capture(uint64_t size, aclOpExecutor* executor) {
    aclmdlRI model = nullptr;
    if (aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) != 0) return LastMessage();
    int code = StageTwo(size, executor);
    std::string message = code != 0 ? "stage 2 captured: " + LastMessage() : "";
    DestroyObjects();
    if (aclmdlRICaptureEnd(stream_, &model) != 0) return message + LastMessage();
    for (int i = 0; i < 2 && message.empty(); ++i) {
      Restore();
      if (aclmdlRIExecuteAsync(model, stream_) != 0) message = "replay: " + LastMessage();
    }
    if (aclrtSynchronizeStream(stream_) != 0) message = "replay: " + LastMessage();
    aclmdlRIDestroy(model);
    return message;
  }

  // The device's memory as it was before the first run.
  void Restore() {
    aclrtSynchronizeStream(stream_);
    for (size_t i = 0; i < device_.size(); ++i) {
      size_t bytes = host_[i].size() - 8;
      if (bytes != 0) aclrtMemcpy(device_[i], bytes, host_[i].data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    }
  }

  std::string Compare() {
    ComputeExpected(case_);
    size_t at = 0;
    for (const Argument& argument : case_.arguments) {
      if (argument.kind != Kind::kTensor) continue;
      std::string difference = CompareTensor(argument, at);
      if (!difference.empty()) return difference;
      ++at;
    }
    return "";
  }

  std::string CompareTensor(const Argument& argument, size_t at) {
    const tensor::Tensor& want = argument.tensor;
    size_t bytes = host_[at].size() - 8;
    std::vector<char> result(bytes + 8);
    if (bytes != 0) aclrtMemcpy(result.data(), bytes, device_[at], bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    tensor::Tensor got = want;
    got.data = result.data();
    std::ostringstream wrong;
    double tolerance = argument.written ? case_.tolerance : 0;
    reference::ForEach(want.shape, [&](const tensor::Shape& i) {
      reference::Real x = reference::Get(got, i), y = reference::Get(want, i);
      bool near = x == y || (std::isnan(x) && std::isnan(y)) ||
                  std::fabs(x - y) <= tolerance * std::max(reference::Real{1}, std::fabs(y));
      if (!near && wrong.tellp() == 0) {
        wrong << "argument " << at << " at " << i.ToString() << " is " << x << ", not " << y;
      }
      if (near) reference::Set(got, i, y);
    });
    // What is left over must be untouched.
    if (wrong.tellp() == 0 && std::memcmp(result.data(), host_[at].data(), bytes) != 0) {
      wrong << "argument " << at << ": bytes outside the view were written";
    }
    return wrong.str();
  }

  Case case_;
  std::mt19937 rng_;
  aclrtStream stream_ = nullptr;
  void* workspace_ = nullptr;
  std::vector<void*> device_;            // of each tensor
  std::vector<std::vector<char>> host_;  // the same bytes, and eight more
  std::vector<uint64_t> values_;         // as the function gets them
  std::vector<aclTensor*> tensors_;
  std::vector<aclScalar*> scalars_;
  std::vector<aclIntArray*> arrays_;
};

}  // namespace

std::string RunCase(const Case& c, How how, uint32_t seed) {
  Session session(c, seed);
  return session.Run(how);
}

}  // namespace belay::cases
