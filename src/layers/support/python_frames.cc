#include "layers/support/python_frames.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <regex>

#include "layers/support/python_layout.h"
#include "layers/support/thread_cache.h"

namespace belay::layers {
namespace {

template <class F>
F Symbol(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

// What is used of the interpreter. None of it takes its lock or its memory.
struct Interpreter {
  void* (*state)() = Symbol<void* (*)()>("PyGILState_GetThisThreadState");
  void (*dump)(int, void*) = Symbol<void (*)(int, void*)>("_Py_DumpTraceback");
  int (*line)(const void*, int) = Symbol<int (*)(const void*, int)>("PyCode_Addr2Line");
  ssize_t (*length)(const void*) = Symbol<ssize_t (*)(const void*)>("PyUnicode_GetLength");
  uint32_t (*letter)(const void*, ssize_t) = Symbol<uint32_t (*)(const void*, ssize_t)>("PyUnicode_ReadChar");
  const void* code_type = Symbol<const void*>("PyCode_Type");
  std::optional<PythonLayout> layout;

  Interpreter() {
    const auto* version = Symbol<const unsigned long*>("Py_Version");
    if (version == nullptr || !state || !line || !length || !letter || code_type == nullptr) return;
    layout = PythonLayout::Of(*version, Symbol<const void*>("_PyRuntime"));
  }
};
const Interpreter& ThePython() {
  static const Interpreter python;
  return python;
}

// A pipe of the thread that is empty between uses: it takes bytes wherever they lie, and for a file a limit
// of the program's would count (ulimit -f).
class ScratchPipe {
 public:
  ScratchPipe() = default;
  ~ScratchPipe() { Close(); }
  ScratchPipe(const ScratchPipe&) = delete;
  ScratchPipe& operator=(const ScratchPipe&) = delete;

  // What a fork has copied is the parent's.
  void OpenInThisProcess() {
    if (process_ == getpid()) return;
    Close();
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0) process_ = getpid();
  }
  int to() const { return ends_[1]; }
  // Reads what was written, and drops what is more than fits.
  size_t Take(void* at, size_t most) {
    size_t bytes = 0;
    for (ssize_t n; bytes < most && (n = read(ends_[0], static_cast<char*>(at) + bytes, most - bytes)) > 0;)
      bytes += static_cast<size_t>(n);
    for (char rest[512]; read(ends_[0], rest, sizeof rest) > 0;) {
    }
    return bytes;
  }

 private:
  void Close() {
    for (int& end : ends_) {
      if (end >= 0) close(end);
      end = -1;
    }
  }
  pid_t process_ = -1;
  int ends_[2] = {-1, -1};
};
ScratchPipe& Scratch() {
  thread_local ScratchPipe pipe;
  pipe.OpenInThisProcess();
  return pipe;
}

using Word = uintptr_t;

Word Read(Word at) {
  Word word;
  std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
  return word;
}
uint8_t ReadByte(Word at) { return *reinterpret_cast<const uint8_t*>(at); }

// The same where nobody knows yet whether that can be read.
struct CarefulReader {
  bool fine = true;
  Word operator()(Word at, size_t bytes = sizeof(Word)) {
    Word word = 0;
    if (!fine) return 0;
    const ssize_t written = write(Scratch().to(), reinterpret_cast<const void*>(at), bytes);
    fine = Scratch().Take(&word, bytes) == bytes && written == static_cast<ssize_t>(bytes);
    return fine ? word : 0;
  }
};

struct PythonFrame {
  Word code, at;
};

// --- places, each made once

class Places {
 public:
  // With 1 for the program's own, so that it need not be looked up.
  uint64_t NumberOf(const PythonPlace& place) {
    std::lock_guard guard(lock_);
    auto [found, fresh] = numbers_.try_emplace(place, 2 * numbers_.size() + place.own());
    if (fresh) places_.push_back(place);
    return found->second;
  }
  PythonPlace At(uint64_t number) {
    std::lock_guard guard(lock_);
    return places_[number / 2];
  }

 private:
  std::mutex lock_;
  std::map<PythonPlace, uint64_t> numbers_;
  std::deque<PythonPlace> places_;
};
Places& ThePlaces() {
  static Places* const places = new Places;  // also for threads that outlive static objects
  return *places;
}

std::string TextOf(Word object) {
  const Interpreter& python = ThePython();
  const auto* text = reinterpret_cast<const void*>(object);
  std::string words;
  const ssize_t length = python.length(text);
  for (ssize_t i = 0; i < length; ++i) {
    const uint32_t c = python.letter(text, i);
    if (c < 0x80) {
      words += static_cast<char>(c);
    } else if (c < 0x800) {
      words += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      words += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
                static_cast<char>(0x80 | (c & 63))};
    } else {
      words += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
                static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }
  return words;
}

PythonPlace Name(const PythonLayout& layout, const PythonFrame& frame) {
  const auto offset = static_cast<int>(frame.at - frame.code - layout.code_start);
  const int line = ThePython().line(reinterpret_cast<const void*>(frame.code), offset);
  return {TextOf(Read(frame.code + layout.code_file)), line, TextOf(Read(frame.code + layout.code_name))};
}

// A place of a code object, and what tells whether another code object has come to lie where that one was.
struct KnownPlace {
  PythonFrame frame{};
  Word file = 0, name = 0, lines = 0, size_of_lines = 0, first_lines = 0;
  uint64_t number = 0;

  static KnownPlace Look(const PythonLayout& layout, const PythonFrame& frame) {
    const Word lines = Read(frame.code + layout.code_lines);
    constexpr size_t kSize = 16, kBytes = 32;  // of a bytes object
    return {frame,
            Read(frame.code + layout.code_file),
            Read(frame.code + layout.code_name),
            lines,
            Read(lines + kSize),
            Read(lines + kBytes),
            0};
  }
  bool Same(const KnownPlace& o) const {
    return frame.code == o.frame.code && frame.at == o.frame.at && file == o.file && name == o.name &&
           lines == o.lines && size_of_lines == o.size_of_lines && first_lines == o.first_lines;
  }
};
using PlaceCache = std::array<KnownPlace, 2048>;

uint64_t NumberOf(const PythonLayout& layout, const PythonFrame& frame) {
  const Word mixed = (frame.code ^ frame.at * 31) * 0x9e3779b97f4a7c15;
  PlaceCache* cache = ThreadCache<PlaceCache>();
  KnownPlace& known = (*cache)[mixed >> 53];
  KnownPlace now = KnownPlace::Look(layout, frame);
  if (!now.Same(known)) {
    now.number = ThePlaces().NumberOf(Name(layout, frame));
    known = now;
  }
  return known.number;
}

// --- a thread's frames

size_t Walk(const PythonLayout& layout, const void* thread, PythonFrame* frames, size_t most) {
  Word frame = Read(reinterpret_cast<Word>(thread) + layout.thread_frame);
  if (layout.frame_behind != PythonLayout::kNothing && frame != 0) frame = Read(frame + layout.frame_behind);
  size_t count = 0;
  for (; frame != 0 && count < most; frame = Read(frame + layout.frame_previous)) {
    if (ReadByte(frame + layout.frame_owner) == PythonLayout::kOwnedByC) continue;
    frames[count++] = {Read(frame + layout.frame_code), Read(frame + layout.frame_at)};
  }
  return count;
}

// Whether all that Walk is going to read is there and is what it should be; nothing where there is no frame.
std::optional<bool> CanWalk(const PythonLayout& layout, const void* thread) {
  CarefulReader read;
  Word frame = read(reinterpret_cast<Word>(thread) + layout.thread_frame);
  if (layout.frame_behind != PythonLayout::kNothing && frame != 0) frame = read(frame + layout.frame_behind);
  size_t count = 0;
  for (; frame != 0 && read.fine && count < 4 * PythonFrames::kMost; ++count) {
    const auto owner = static_cast<uint8_t>(read(frame + layout.frame_owner, 1));
    constexpr size_t kType = 8;  // of an object
    const Word code = read(frame + layout.frame_code);
    if (owner > PythonLayout::kOwnedByC) return false;
    if (owner != PythonLayout::kOwnedByC) {
      if (read(code + kType) != reinterpret_cast<Word>(ThePython().code_type)) return false;
      const Word at = read(frame + layout.frame_at), from = code + layout.code_start;
      if (at + sizeof(uint16_t) < from || at - from + 2 > (size_t{1} << 24)) return false;
    }
    frame = read(frame + layout.frame_previous);
  }
  if (read.fine && count == 0) return std::nullopt;
  return read.fine;
}

std::string Dump(void* thread) {
  constexpr size_t kMostText = 4096;
  ThePython().dump(Scratch().to(), thread);
  std::string text(kMostText, '\0');
  text.resize(Scratch().Take(text.data(), text.size()));
  text.erase(text.rfind('\n') + 1);  // a line that was cut
  return text;
}

// Whether what is read is what the interpreter says, where it says something.
bool Agrees(const PythonLayout& layout, void* thread) {
  if (ThePython().dump == nullptr) return true;
  const std::vector<PythonPlace> told = ParseTraceback(Dump(thread));
  PythonFrame frames[PythonFrames::kMost];
  const size_t count = Walk(layout, thread, frames, PythonFrames::kMost);
  for (size_t i = 0; i < std::min(count, told.size()); ++i) {
    const PythonPlace read = Name(layout, frames[i]);
    const bool plain = told[i].function.find('\\') == std::string::npos && told[i].function.size() < 400;
    if (told[i].line != read.line || (plain && told[i].function != read.function)) return false;
  }
  return !told.empty();
}

enum class Way : int { kUndecided, kWalk, kWords, kNone };

// Decided at the first frames that are seen.
Way Decide(void* thread) {
  static std::mutex lock;
  static std::atomic<Way> decided{Way::kUndecided};
  if (Way way = decided.load(std::memory_order_acquire); way != Way::kUndecided) [[likely]]
    return way;
  std::lock_guard guard(lock);
  if (decided != Way::kUndecided) return decided;
  const Interpreter& python = ThePython();
  std::optional<bool> walks = false;
  if (python.layout) walks = CanWalk(*python.layout, thread);
  if (!walks) return Way::kUndecided;
  if (*walks) walks = Agrees(*python.layout, thread);
  decided = *walks ? Way::kWalk : python.dump != nullptr ? Way::kWords : Way::kNone;
  return decided;
}

}  // namespace

bool PythonPlace::own() const {
  return !file.starts_with("<") && file.find("/site-packages/") == std::string::npos;
}

std::string PythonPlace::Words() const {
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(line) + " " + function;
}

std::vector<PythonPlace> ParseTraceback(const std::string& text) {
  static const std::regex frame("File \"([^\"]*)\", line ([0-9]+) in (.*)");
  std::vector<PythonPlace> places;
  for (std::sregex_iterator at(text.begin(), text.end(), frame), end; at != end; ++at) {
    places.push_back({(*at)[1], std::atoi((*at)[2].str().c_str()), (*at)[3]});
  }
  return places;
}

PythonPlace PlaceOf(uint64_t number) { return ThePlaces().At(number); }

void PythonFrames::Add(uint64_t number) {
  places_[count_++] = number;
  any_own_ |= (number & 1) != 0;
}

PythonFrames::PythonFrames() {
  const Interpreter& python = ThePython();
  void* thread = python.state == nullptr ? nullptr : python.state();
  if (thread == nullptr) return;
  const Way way = Decide(thread);
  if (way == Way::kWalk) {
    PythonFrame frames[kMost];
    const size_t count = Walk(*python.layout, thread, frames, kMost);
    for (size_t i = 0; i < count; ++i) Add(NumberOf(*python.layout, frames[i]));
  } else if (way == Way::kWords) {
    for (const PythonPlace& place : ParseTraceback(Dump(thread))) {
      if (count_ < kMost) Add(ThePlaces().NumberOf(place));
    }
  }
}

}  // namespace belay::layers
