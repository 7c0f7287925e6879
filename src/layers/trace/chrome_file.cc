#include "layers/trace/chrome_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/quiet_write.h"
#include "layers/trace/microseconds.h"

namespace belay::trace {
namespace {

constexpr size_t kTextInMemory = size_t{1} << 16;
constexpr std::string_view kEnd = "\n]\n";

// As msprof has them: as text, which keeps all digits.
std::string Time(uint64_t ns) { return "\"" + Us(ns) + "\""; }

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char room[8];
      std::snprintf(room, sizeof room, "\\u%04x", static_cast<unsigned>(c));
      quoted += room;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Place(uint64_t group, uint64_t track) {
  return "\"pid\": " + std::to_string(group) + ", \"tid\": " + std::to_string(track);
}

std::string Slice(std::string_view name, uint64_t group, uint64_t track, uint64_t begun, uint64_t took,
                  const std::string& args) {
  return "{\"ph\": \"X\", \"name\": " + Quoted(name) + ", " + Place(group, track) +
         ", \"ts\": " + Time(begun) + ", \"dur\": " + Us(took) + ", \"args\": {" + args + "}}";
}

}  // namespace

ChromeFile::ChromeFile(std::string begin, std::string end, size_t most)
    : begin_(std::move(begin)), end_(std::move(end)), most_(most) {
  Open();
}

void ChromeFile::Open() {
  const std::string path = begin_ + (slice_ == 0 ? "" : "slice_" + std::to_string(slice_) + "_") + end_;
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  stopped_ = file_ < 0;
  if (stopped_)
    std::fprintf(stderr, "belay trace: cannot write to %s: %s\n", path.c_str(), std::strerror(errno));
  text_ = "[";
  first_ = true;
  written_ = 0;
}

void ChromeFile::BeginSliceIfFull() {
  if (written_ + text_.size() < most_ || stopped_) return;
  Finish();
  if (stopped_) return;
  close(file_);
  named_.clear();
  ++slice_;
  Open();
}

ChromeFile::~ChromeFile() {
  if (file_ >= 0) close(file_);
}

void ChromeFile::Add(const std::string& event) {
  text_.append(first_ ? "\n" : ",\n").append(event);
  first_ = false;
  if (text_.size() >= kTextInMemory) Flush();
}

void ChromeFile::Flush() {
  if (!stopped_ && !WriteAllQuietly(file_, text_.data(), text_.size())) {
    stopped_ = true;
    std::fprintf(stderr, "belay trace: cannot write a timeline: %s; the program goes on\n",
                 std::strerror(errno));
  }
  written_ += text_.size();
  text_.clear();
}

void ChromeFile::Finish() {
  text_ += kEnd;
  Flush();
  if (!stopped_) lseek(file_, -static_cast<off_t>(kEnd.size()), SEEK_CUR);
}

uint64_t ChromeFile::Group(Layer layer, int device) {
  const uint64_t group = static_cast<uint64_t>(getpid()) << 10 | layer << 6 | static_cast<uint64_t>(device);
  if (!named_.emplace(group, ~uint64_t{0}).second) return group;
  const char* name = layer == kApplication ? "application" : layer == kCann ? "CANN" : "Ascend Hardware";
  const std::string label = layer == kHardware ? "NPU " + std::to_string(device) : "CPU";
  const auto tell = [&](const char* what, const std::string& args) {
    Add(std::string("{\"ph\": \"M\", \"name\": \"") + what + "\", " + Place(group, 0) + ", \"args\": {" +
        args + "}}");
  };
  tell("process_name", "\"name\": " + Quoted(name));
  tell("process_labels", "\"labels\": " + Quoted(label));
  tell("process_sort_index", "\"sort_index\": " + std::to_string(layer));
  return group;
}

void ChromeFile::Name(uint64_t group, uint64_t track, const std::string& name) {
  if (!named_.emplace(group, track).second) return;
  Add("{\"ph\": \"M\", \"name\": \"thread_name\", " + Place(group, track) +
      ", \"args\": {\"name\": " + Quoted(name) + "}}");
}

void ChromeFile::AddTask(const Task& task) {
  BeginSliceIfFull();
  const uint64_t hardware = Group(kHardware, task.device);
  Name(hardware, task.stream, "Stream " + std::to_string(task.stream));
  std::string args = "\"Model Id\": " + std::to_string(task.model) + ", \"Task Type\": " + Quoted(task.type) +
                     ", \"Stream Id\": " + std::to_string(task.stream) +
                     ", \"Task Id\": " + std::to_string(task.task) +
                     ", \"Batch Id\": 0, \"Subtask Id\": 4294967295";
  if (task.submitter == 0) return Add(Slice(task.name, hardware, task.stream, task.begun, task.took, args));
  const uint64_t cann = Group(kCann, 0), thread = static_cast<uint64_t>(task.submitter);
  Name(cann, thread, "Thread " + std::to_string(thread));
  const std::string arrow = std::to_string(++arrows_);
  const auto end = [&](const char* what, const std::string& place, uint64_t time) {
    Add(std::string("{\"ph\": \"") + what + "\", \"cat\": \"HostToDevice\", \"name\": \"HostToDevice" +
        arrow + "\", \"id\": \"" + arrow + "\", " + place + ", \"ts\": " + Time(time) + "}");
  };
  args += ", \"connection_id\": " + arrow;
  Add(Slice(task.name, hardware, task.stream, task.begun, task.took, args));
  end("s", Place(cann, thread), task.submitted);
  end("f\", \"bp\": \"e", Place(hardware, task.stream), task.begun);
}

void ChromeFile::AddCall(std::string_view name, const char* level, pid_t thread, uint64_t begun,
                         uint64_t took) {
  BeginSliceIfFull();
  const uint64_t cann = Group(kCann, 0), track = static_cast<uint64_t>(thread);
  Name(cann, track, "Thread " + std::to_string(thread));
  Add(Slice(std::string(level) + "@" + std::string(name), cann, track, begun, took,
            "\"Thread Id\": " + std::to_string(thread) + ", \"level\": " + Quoted(level)));
}

void ChromeFile::AddSpan(std::string_view message, const char* type, pid_t thread, uint64_t begun,
                         uint64_t took) {
  BeginSliceIfFull();
  const uint64_t application = Group(kApplication, 0), track = static_cast<uint64_t>(thread);
  Name(application, track, "Thread " + std::to_string(thread));
  Add(Slice(message, application, track, begun, took, std::string("\"event_type\": ") + Quoted(type)));
}

}  // namespace belay::trace
