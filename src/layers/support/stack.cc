#include "layers/support/stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/thread.h"
#include "layers/support/guard.h"
#include "layers/support/python_frames.h"
#include "layers/support/thread_cache.h"
#include "layers/support/unwind.h"

#ifdef BELAY_HAS_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace belay::layers {
namespace {

// Every stack, once.
class Depot {
 public:
  struct Record {
    bool python;
    std::vector<uint64_t> words;  // places, or addresses
    uint32_t number;

    bool Is(bool p, std::span<const uint64_t> w) const { return python == p && std::ranges::equal(words, w); }
  };

  const Record* Find(size_t hash, bool python, std::span<const uint64_t> words) {
    std::lock_guard guard(lock_);
    const auto [first, last] = known_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      if (at->second->Is(python, words)) return at->second;
    }
    const auto number = static_cast<uint32_t>(records_.size() + 1);
    const Record* made = &records_.emplace_back(Record{python, {words.begin(), words.end()}, number});
    known_.emplace(hash, made);
    return made;
  }
  const Record* At(uint32_t number) {
    std::lock_guard guard(lock_);
    return number == 0 ? nullptr : &records_[number - 1];
  }

 private:
  std::mutex lock_;
  std::deque<Record> records_;
  std::unordered_multimap<size_t, const Record*> known_;
};
Depot& TheDepot() {
  static Depot* const depot = new Depot;  // also for threads that outlive static objects
  return *depot;
}

using StackCache = std::array<const Depot::Record*, 1024>;

Stack Keep(bool python, std::span<const uint64_t> words) {
  size_t hash = words.size() * 2 + python;
  for (uint64_t word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15 ^ hash >> 32;
  const Depot::Record*& known = (*ThreadCache<StackCache>())[hash >> 54];
  if (known == nullptr || !known->Is(python, words)) known = TheDepot().Find(hash, python, words);
  return {known->number};
}

std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }
std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Belay's own libraries lie in one folder; frames below main and of the C++ library say nothing either.
bool IsOfProgram(const Dl_info& info) {
  static const std::string own = [] {
    Dl_info self{};
    return dladdr(reinterpret_cast<void*>(&ThisStack), &self) != 0 ? std::string(FolderOf(self.dli_fname))
                                                                   : "";
  }();
  const std::string_view path = info.dli_fname;
  const std::string_view name = NameOf(path);
  return FolderOf(path) != own && !name.starts_with("libc.so") && !name.starts_with("libstdc++") &&
         !name.starts_with("libpython") && !name.starts_with("libgcc_s") && !name.starts_with("libasan") &&
         !name.starts_with("libtsan") && !name.starts_with("ld-linux");
}

std::string Demangled(const char* name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                              &std::free);
  std::string whole = status == 0 ? text.get() : name;
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (size_t at; (at = whole.find(kUnnamed)) != std::string::npos;) whole.erase(at, kUnnamed.size());
  return whole.substr(0, whole.find('('));
}

// What debuggers read; empty where there is nothing.
Frame Line([[maybe_unused]] void* address) {
  Frame frame;
#ifdef BELAY_HAS_LIBDW
  static const Dwfl_Callbacks callbacks{&dwfl_linux_proc_find_elf, &dwfl_standard_find_debuginfo, nullptr,
                                        nullptr};
  static Dwfl* const session = dwfl_begin(&callbacks);
  if (session == nullptr) return frame;
  dwfl_report_begin(session);
  if (dwfl_linux_proc_report(session, getpid()) != 0) return frame;
  dwfl_report_end(session, nullptr, nullptr);
  const auto at = reinterpret_cast<Dwarf_Addr>(address);
  Dwfl_Module* module = dwfl_addrmodule(session, at);
  if (module == nullptr) return frame;
  if (const char* function = dwfl_module_addrname(module, at)) frame.function = Demangled(function);
  Dwfl_Line* found = dwfl_module_getsrc(module, at);
  const char* file =
      found == nullptr ? nullptr : dwfl_lineinfo(found, nullptr, &frame.line, nullptr, nullptr, nullptr);
  if (file == nullptr) return frame;
  const char* folder = *file == '/' ? nullptr : dwfl_line_comp_dir(found);
  frame.file = folder == nullptr ? file : std::string(folder) + "/" + file;
#endif
  return frame;
}

// Empty for frames of others.
Frame FrameAt(void* address) {
  Dl_info info{};
  void* call = static_cast<char*>(address) - 1;  // the frame's address is where the call returns to
  if (dladdr(call, &info) == 0 || info.dli_fname == nullptr || !IsOfProgram(info)) return {};
  Frame frame = Line(call);
  if (!frame.file.empty() || !frame.function.empty()) return frame;
  const std::string where(NameOf(info.dli_fname));
  frame.function = info.dli_sname != nullptr ? Demangled(info.dli_sname) + " (" + where + ")" : where;
  return frame;
}

}  // namespace

Stack ThisStack() {
  const PythonFrames python;
  if (python.any_own()) return Keep(true, python.places());
  const Unwound unwound;
  if (unwound.number() == 0) unwound.number() = Keep(false, unwound.frames()).number;
  return {unwound.number()};
}

std::string Frame::Words() const {
  return file.empty() ? function : std::string(NameOf(file)) + ":" + std::to_string(line) + " " + function;
}

namespace {

std::vector<Frame> PythonFramesOf(const Depot::Record& record) {
  std::vector<Frame> frames;
  for (uint64_t word : record.words) {
    PythonPlace place = PlaceOf(word);
    if (place.own()) frames.push_back({std::move(place.file), place.line, std::move(place.function)});
  }
  return frames;
}

std::vector<Frame> MachineFramesOf(const Depot::Record& record) {
  static std::mutex lock;  // the reader of debug information knows no threads
  std::lock_guard guard(lock);
  std::vector<Frame> frames;
  for (uint64_t word : record.words) {
    Frame frame = FrameAt(reinterpret_cast<void*>(word));
    if (frame.function.empty() && frame.file.empty()) continue;
    frames.push_back(std::move(frame));
    if (frames.back().function == "main") break;
  }
  return frames;
}

// Debug information is read with much stack, which the program's threads need not have.
std::vector<Frame> OnStackOfItsOwn(const Depot::Record& record) {
  struct Reading {
    const Depot::Record& record;
    std::vector<Frame> frames;
  } reading{record, {}};
  const auto read = [](void* raw) -> void* {
    auto& reading = *static_cast<Reading*>(raw);
    Guarded([&] { reading.frames = MachineFramesOf(reading.record); });
    return nullptr;
  };
  pthread_t thread;
  if (!StartThread(&thread, "belay-frames", read, &reading)) return {};
  pthread_join(thread, nullptr);
  return std::move(reading.frames);
}

}  // namespace

std::vector<Frame> FramesOf(const Stack& stack) {
  constexpr uint64_t kEnough = 1 << 20;
  const Depot::Record* record = TheDepot().At(stack.number);
  if (record == nullptr) return {};
  if (record->python) return PythonFramesOf(*record);
  return StackLeft() < kEnough ? OnStackOfItsOwn(*record) : MachineFramesOf(*record);
}

bool IsInMain(const Stack& stack) {
  const std::vector<Frame> frames = FramesOf(stack);
  return std::any_of(frames.begin(), frames.end(),
                     [](const Frame& f) { return f.function == "main" || f.file.ends_with(".py"); });
}

}  // namespace belay::layers
