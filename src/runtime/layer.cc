#include "runtime/layer.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/library.h"
#include "runtime/callback_pool.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/explain_wait.h"
#include "runtime/model_ri.h"
#include "runtime/pinned_door.h"
#include "runtime/profiler.h"
#include "runtime/stream.h"
#include "tensor/objects.h"

namespace belay::rt {
namespace {

int DeviceOf(const Stream& stream) noexcept { return stream.context().device().id(); }
uint32_t CurrentCall() noexcept { return t_current_call; }
const void* ViewOf(const void* p, size_t bytes) noexcept { return View(p, bytes); }
ParkPlace ParkedAt(const Stream& stream) {
  return const_cast<Stream&>(stream).parked_at();
}  // it takes a lock

constexpr size_t kMostItems = 8;

template <class Items, class F>
std::string ListWords(const Items& items, F words) {
  std::string list = "[";
  for (size_t i = 0; i < items.size() && i < kMostItems; ++i) list += (i == 0 ? "" : ", ") + words(items[i]);
  return list + (items.size() > kMostItems ? ", ...]" : "]");
}

std::string TableWords(uint64_t handle) {
  const tensor::Tensor* object = tensor::g_tensors.Find(handle);
  if (object == nullptr) return "";
  std::string words;
  for (int i = 0; i < object->shape.rank(); ++i) {
    words += (i == 0 ? "" : ",") + std::to_string(object->shape[i]);
  }
  const auto bare = [](const char* name, std::string_view prefix) {
    const std::string_view text = name == nullptr ? "UNDEFINED" : name;
    return std::string(text.substr(0, prefix.size()) == prefix ? text.substr(prefix.size()) : text);
  };
  words += "|" + bare(tensor::NameOf(object->dtype), "ACL_");
  return words + "|" + bare(tensor::NameOf(object->format), "ACL_FORMAT_");
}

std::string ObjectWords(char letter, uint64_t handle) {
  if (letter == 't') {
    const tensor::Tensor* object = tensor::g_tensors.Find(handle);
    return object == nullptr ? "" : object->ToString();
  }
  if (letter == 'c') {
    const tensor::Scalar* object = tensor::g_scalars.Find(handle);
    return object == nullptr ? "" : object->ToString();
  }
  if (letter == 'n') {
    const tensor::IntArray* object = tensor::g_int_arrays.Find(handle);
    if (object == nullptr) return "";
    return ListWords(object->items, [](int64_t item) { return std::to_string(item); });
  }
  if (letter == 'T') return TableWords(handle);
  const tensor::TensorList* object = tensor::g_tensor_lists.Find(handle);
  if (object == nullptr) return "";
  if (letter == 'L') {
    std::string lines;
    for (HandleBits item : object->items) lines += TableWords(item) + "\n";
    return lines;
  }
  return ListWords(object->items, [](HandleBits item) { return ObjectWords('t', item); });
}

constexpr CoreFacts kCore{&Lookup,        &CallName,        &InAwaitedCallback, &DeviceOf,
                          &CurrentCall,   &ParkedAt,        &WaitWords,         &ObjectWords,
                          &UsePinnedDoor, &SetPinnedClosed, &ModelOfLaunch,     &ViewOf};

// What the layer exports by that name; null with the reason.
void* FindInLayer(const std::string& layer, const char* name, std::string* why) {
  constexpr size_t kRoom = size_t{8} << 20;
  void* library =
      LoadBeside(("libbelay_layer_" + layer + ".so").c_str(), SymbolsOf::kProgramFirst, kRoom, why);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr && why->empty()) *why = "it is no layer";
  return found;
}

void Load(const std::string& name) {
  std::string why;
  auto make = reinterpret_cast<MakeLayer>(FindInLayer(name, "belay_make_layer", &why));
  if (make == nullptr) {
    std::fprintf(
        stderr,
        "belay: the layer '%s' of BELAY_LAYERS cannot be loaded (%s); the program goes on without it\n",
        name.c_str(), why.c_str());
    return;
  }
  if (Observer* observer = make(kCore); observer != nullptr) Observers::Add(*observer);
}

// Those that are opened from now on look for themselves.
void WatchOpenStreams() {
  g_streams.ForEach([](Stream& stream) { stream.BeginToWatch(); });
}

}  // namespace

Profiler* LoadProfiler(std::string* why) {
  auto make = reinterpret_cast<MakeProfiler>(FindInLayer("trace", "belay_make_profiler", why));
  if (make == nullptr) return nullptr;
  const MadeProfiler made = make(kCore);
  if (made.observer != nullptr) {
    Observers::Add(*made.observer);
    WatchOpenStreams();
  }
  return made.profiler;
}

void LoadLayers() {
  const char* list = std::getenv("BELAY_LAYERS");
  if (list == nullptr || Observers::any()) return;
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!name.empty()) Load(std::string(name));
  }
}

}  // namespace belay::rt
