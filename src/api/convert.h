// Handles of the interface and the objects behind them.
#pragma once

#include <optional>
#include <type_traits>

#include "base/codes.h"
#include "base/error_about.h"
#include "base/handle_table.h"
#include "collective/communicator.h"
#include "runtime/context.h"
#include "runtime/event.h"
#include "runtime/memory_virtual.h"
#include "runtime/model_ri.h"
#include "runtime/notify.h"
#include "runtime/task_group.h"
#include "tensor/description.h"
#include "tensor/objects.h"

namespace belay::graph {
struct AippParameters;
struct Dataset;
struct ExecConfig;
struct ModelConfig;
struct ModelDescription;
struct OpAttributes;
struct OpHandle;
}  // namespace belay::graph

namespace belay::api {

template <class Handle>
HandleBits BitsOf(Handle handle) {
  return reinterpret_cast<HandleBits>(handle);
}
template <class Handle>
Handle AsHandle(HandleBits bits) {
  return reinterpret_cast<Handle>(bits);
}

// The same of what has just been made, and the program has to destroy.
template <class Handle>
Handle AsNewHandle(HandleBits bits) {
  if (bits != 0 && rt::Observers::any()) [[unlikely]]
    rt::TellCreated(bits);
  return AsHandle<Handle>(bits);
}

// Of which kind the handles of a table are; for decltype.
template <class T, HandleKind kKind, uint32_t kMaxSlots>
std::integral_constant<HandleKind, kKind> KindIn(const HandleTable<T, kKind, kMaxSlots>& table);

// What a kind of object is called, and where its handles are looked up.
template <class T>
struct ObjectTraits;
template <>
struct ObjectTraits<rt::Stream> {
  static constexpr const char* kName = "a stream";
  static constexpr HandleKind kKind = HandleKind::kStream;
  static rt::Stream* Find(HandleBits h) { return &rt::ResolveStream(h, "stream"); }
};
#define BELAY_OBJECT(Type, table, name)                                 \
  template <>                                                           \
  struct ObjectTraits<Type> {                                           \
    static constexpr const char* kName = name;                          \
    static constexpr HandleKind kKind = decltype(KindIn(table))::value; \
    static Type* Find(HandleBits h) { return table.Find(h); }           \
  };
BELAY_OBJECT(rt::Event, rt::Events(), "an event")
BELAY_OBJECT(rt::Context, rt::Contexts(), "a context")
BELAY_OBJECT(rt::Notify, rt::g_notifies, "a notify")
BELAY_OBJECT(rt::ModelRI, rt::Models(), "a model instance")
BELAY_OBJECT(rt::ModelTask, rt::ModelTasks(), "a task of a model")
BELAY_OBJECT(rt::TaskGroup, rt::TaskGroups(), "a task group")
BELAY_OBJECT(rt::PhysicalMemory, rt::PhysicalMemories(), "physical memory")
BELAY_OBJECT(coll::Communicator, coll::g_communicators, "a communicator")
BELAY_OBJECT(tensor::Tensor, tensor::g_tensors, "a tensor")
BELAY_OBJECT(tensor::Scalar, tensor::g_scalars, "a scalar")
BELAY_OBJECT(tensor::IntArray, tensor::g_int_arrays, "an array of integers")
BELAY_OBJECT(tensor::FloatArray, tensor::g_float_arrays, "an array of floats")
BELAY_OBJECT(tensor::BoolArray, tensor::g_bool_arrays, "an array of booleans")
BELAY_OBJECT(tensor::TensorList, tensor::g_tensor_lists, "a list of tensors")
BELAY_OBJECT(tensor::ScalarList, tensor::g_scalar_lists, "a list of scalars")
BELAY_OBJECT(tensor::DataBuffer, tensor::g_data_buffers, "a data buffer")
BELAY_OBJECT(tensor::TensorDesc, tensor::g_tensor_descs, "a tensor description")
#undef BELAY_OBJECT
// Looked up in graph_objects.cc, so that not every file that converts a handle reads what a graph is.
#define BELAY_GRAPH_OBJECT(Type, kind, name)              \
  template <>                                             \
  struct ObjectTraits<Type> {                             \
    static constexpr const char* kName = name;            \
    static constexpr HandleKind kKind = HandleKind::kind; \
    static Type* Find(HandleBits h);                      \
  };
BELAY_GRAPH_OBJECT(graph::Dataset, kDataset, "a dataset")
BELAY_GRAPH_OBJECT(graph::ModelDescription, kModelDescription, "a model description")
BELAY_GRAPH_OBJECT(graph::ModelConfig, kModelConfig, "a configuration for loading")
BELAY_GRAPH_OBJECT(graph::ExecConfig, kExecConfig, "a configuration for execution")
BELAY_GRAPH_OBJECT(graph::OpAttributes, kOpAttributes, "a set of attributes")
BELAY_GRAPH_OBJECT(graph::AippParameters, kAippParameters, "parameters of AIPP")
BELAY_GRAPH_OBJECT(graph::OpHandle, kOpHandle, "a handle of an operator")
#undef BELAY_GRAPH_OBJECT

// What is told of is the object that there was: nothing, where the number is another kind's.
[[noreturn, gnu::cold]] inline void RefuseHandle(const char* what, const char* argument, HandleBits handle,
                                                 int code, std::optional<HandleKind> kind = {}) {
  const bool was_one = kind && KindOf(handle) == static_cast<uint8_t>(*kind);
  FailAbout(was_one ? reinterpret_cast<const void*>(handle) : nullptr, code, "handle",
            "{} = {:#x} is not {}: it was destroyed, or never was one", argument, handle, what);
}

// An argument that stays alive for as long as the call, whoever destroys it meanwhile.
template <class T>
class Pinned {
 public:
  explicit Pinned(T& object) : object_(object) {}
  ~Pinned() { object_.Unref(); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  operator T&() const { return object_; }
  T* operator->() const { return &object_; }

 private:
  T& object_;
};

// The object behind a handle: a T&, or a Pinned<T> when objects of this kind are counted.
template <class T, class Handle>
decltype(auto) Need(Handle handle, const char* argument) {
  using Traits = ObjectTraits<std::remove_const_t<T>>;
  HandleBits bits = BitsOf(handle);
  T* object = Traits::Find(bits);
  if (object == nullptr) [[unlikely]]
    RefuseHandle(Traits::kName, argument, bits, codes::kRtInvalidHandle, Traits::kKind);
  if constexpr (requires { object->TryRef(); }) {
    if (!object->TryRef()) [[unlikely]]
      RefuseHandle(Traits::kName, argument, bits, codes::kRtInvalidHandle, Traits::kKind);
    // What was counted may be the next object in this slot.
    if (Traits::Find(bits) != object) [[unlikely]] {
      object->Unref();
      RefuseHandle(Traits::kName, argument, bits, codes::kRtInvalidHandle, Traits::kKind);
    }
    return Pinned<T>(*object);
  } else {
    return static_cast<T&>(*object);
  }
}

template <class T, class Handle>
T* Optional(Handle handle, const char* argument) {
  return BitsOf(handle) == 0 ? nullptr : &Need<T>(handle, argument);
}

template <class Handle>
rt::Stream& StreamArg(Handle handle, const char* argument) {
  return rt::ResolveStream(BitsOf(handle), argument);
}

}  // namespace belay::api
