#include "layers/support/stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <regex>
#include <string_view>

#ifdef BELAY_HAS_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace belay::layers {
namespace {

constexpr int kMostFrames = 48;
constexpr size_t kMostPython = 4096;

// The interpreter's own account of the calling thread, which needs no lock of it. It writes to a descriptor.
std::string PythonFrames() {
  using State = void* (*)();
  using Dump = void (*)(int, void*);
  static const auto state = reinterpret_cast<State>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  static const auto dump = reinterpret_cast<Dump>(dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
  if (state == nullptr || dump == nullptr) return {};
  void* thread = state();
  if (thread == nullptr) return {};
  thread_local const int file = memfd_create("belay-python", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0) return {};
  lseek(file, 0, SEEK_SET);
  dump(file, thread);
  std::string text(kMostPython, '\0');
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  text.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
  return text;
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

#ifdef BELAY_HAS_LIBDW
// "file.cc:12 function" by what debuggers read; empty where there is nothing.
std::string Line(void* address) {
  static const Dwfl_Callbacks callbacks{&dwfl_linux_proc_find_elf, &dwfl_standard_find_debuginfo, nullptr,
                                        nullptr};
  static Dwfl* const session = dwfl_begin(&callbacks);
  if (session == nullptr) return {};
  dwfl_report_begin(session);
  if (dwfl_linux_proc_report(session, getpid()) != 0) return {};
  dwfl_report_end(session, nullptr, nullptr);
  const auto at = reinterpret_cast<Dwarf_Addr>(address);
  Dwfl_Module* module = dwfl_addrmodule(session, at);
  if (module == nullptr) return {};
  const char* function = dwfl_module_addrname(module, at);
  int line = 0;
  Dwfl_Line* found = dwfl_module_getsrc(module, at);
  const char* file =
      found == nullptr ? nullptr : dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr);
  std::string text;
  if (file != nullptr) text = std::string(NameOf(file)) + ":" + std::to_string(line) + " ";
  return function == nullptr ? text : text + Demangled(function);
}
#else
std::string Line(void*) { return {}; }
#endif

std::string DescribeFrame(void* frame) {
  Dl_info info{};
  void* call = static_cast<char*>(frame) - 1;  // the frame's address is where the call returns to
  if (dladdr(call, &info) == 0 || info.dli_fname == nullptr || !IsOfProgram(info)) return {};
  std::string line = Line(call);
  if (!line.empty()) return line;
  const std::string where(NameOf(info.dli_fname));
  return info.dli_sname != nullptr ? Demangled(info.dli_sname) + " (" + where + ")" : where;
}

// "  File "train.py", line 41 in step" of each frame.
void AddPython(const std::string& text, std::vector<std::string>* lines) {
  static const std::regex frame("File \"([^\"]*)\", line ([0-9]+) in (.*)");
  for (std::sregex_iterator at(text.begin(), text.end(), frame), end; at != end; ++at) {
    const std::string path = (*at)[1];
    if (path.find("/site-packages/") != std::string::npos || path.starts_with("<")) continue;
    lines->push_back(std::string(NameOf(path)) + ":" + (*at)[2].str() + " " + (*at)[3].str());
  }
}

}  // namespace

size_t StackHash::operator()(const Stack& stack) const noexcept {
  size_t hash = std::hash<std::string_view>()(stack.python);
  for (void* frame : stack.frames) hash = hash * 1'000'003 ^ reinterpret_cast<uintptr_t>(frame);
  return hash;
}

Stack ThisStack() {
  Stack stack;
  stack.frames.resize(kMostFrames);
  stack.frames.resize(static_cast<size_t>(backtrace(stack.frames.data(), kMostFrames)));
  stack.python = PythonFrames();
  return stack;
}

std::vector<std::string> Describe(const Stack& stack) {
  static std::mutex lock;  // the reader of debug information knows no threads
  std::lock_guard guard(lock);
  std::vector<std::string> lines;
  AddPython(stack.python, &lines);
  if (!lines.empty()) return lines;
  for (void* frame : stack.frames) {
    std::string line = DescribeFrame(frame);
    if (line.empty()) continue;
    lines.push_back(std::move(line));
    if (lines.back() == "main" || lines.back().ends_with(" main")) break;
  }
  return lines;
}

}  // namespace belay::layers
