// A device for the tests of what runs on one.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "graph/instance.h"
#include "graph/single_op.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/process.h"

namespace belay::graph::samples {

using Bytes = std::vector<std::byte>;

// A device of a runtime with one worker or several.
class Runtime {
 public:
  explicit Runtime(const char* workers) {
    setenv("BELAY_WORKERS", workers, 1);
    rt::Start(-1);
    rt::SetCurrentContext(device().Use());
  }
  ~Runtime() {
    ForgetPreparedOps();
    device().Release(true);
    rt::Stop();
    unsetenv("BELAY_WORKERS");
  }
  static rt::Device& device() { return rt::DeviceAt(0); }

  static Buffer BufferOf(const Constant& value) {
    Buffer buffer{rt::AllocateDevice(0, {.bytes = value->bytes()}), value->bytes()};
    std::memcpy(rt::View(buffer.data, buffer.bytes), value->data(), buffer.bytes);
    return buffer;
  }

  // The first output of an instance, and zeros behind it.
  static Bytes Execute(Instance& instance, const std::vector<Constant>& inputs) {
    std::vector<Buffer> in;
    for (const Constant& input : inputs) in.push_back(BufferOf(input));
    constexpr size_t kMost = 1 << 16;
    auto output = std::make_shared<HostTensor>(DType::kU8, Shape{kMost});
    std::memset(output->mutable_data(), 0, kMost);
    std::vector<Buffer> out;
    for (size_t i = 0; i < instance.outputs().size(); ++i) out.push_back(BufferOf(output));
    rt::Stream& stream = device().default_context()->default_stream();
    instance.Execute(stream, in, out);
    while (!stream.Idle()) std::this_thread::yield();
    const auto* first = static_cast<const std::byte*>(rt::View(out[0].data, kMost));
    Bytes bytes(first, first + kMost);
    for (const Buffer& buffer : in) rt::FreeDevice(buffer.data);
    for (const Buffer& buffer : out) rt::FreeDevice(buffer.data);
    return bytes;
  }
};

}  // namespace belay::graph::samples
