#include "layers/race/window.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "layers/support/history.h"
#include "layers/support/report_file.h"
#include "layers/support/this_thread.h"

namespace belay::race {
namespace {

std::string_view NameOf(Event::Kind kind) {
  constexpr std::string_view kNames[] = {"task", "record", "wait", "learned", "host"};
  return kNames[static_cast<size_t>(kind)];
}

uint32_t ThisThread() { return static_cast<uint32_t>(layers::ThisThread()); }

}  // namespace

Window::Window(const std::vector<Site>& sites)
    : sites_(sites), events_(layers::HistoryWanted() ? kBefore : 0) {}

void Window::AddTask(Event::Kind kind, const Spot& spot, uint32_t site, std::vector<Spot> after) {
  Add({kind, spot, site, ThisThread(), std::move(after)});
}

Spot Window::AddHost(Event::Kind kind, uint32_t site, std::vector<Spot> after) {
  const Spot spot{'t', ThisThread(), next_};
  Add({kind, spot, site, spot.number, std::move(after)});
  return spot;
}

void Window::Add(Event event) {
  events_[next_ % kBefore] = std::move(event);
  ++next_;
  if (next_ <= until_) {
    WriteEvent(events_[(next_ - 1) % kBefore], next_ - 1);
    written_ = next_;
  }
}

void Window::Write() {
  written_ = std::max(written_, next_ - std::min<uint64_t>(next_, kBefore));
  for (; written_ < next_; ++written_) WriteEvent(events_[written_ % kBefore], written_);
  until_ = next_ + kBehind;
}

void Window::WriteNode(const Spot& spot, uint64_t number, uint32_t site, const std::vector<Spot>& after) {
  WriteEvent({Event::Kind::kTask, spot, site, ThisThread(), after}, number);
}

void Window::WriteEvent(const Event& event, uint64_t number) {
  if (full_) return;
  if (written_sites_.insert(event.site).second) WriteSite(event.site, event.kind);
  std::string line;
  layers::AddWords(&line, {"event", std::to_string(getpid()), event.spot.Words(), std::to_string(number),
                           std::to_string(event.site), std::to_string(event.thread)});
  for (const Spot& spot : event.after) layers::AddWord(&line, spot.Words());
  full_ = full_ || !layers::AddHistory(line + '\n');
}

void Window::WriteSite(uint32_t number, Event::Kind kind) {
  const Site& site = sites_[number];
  std::string lines;
  layers::AddLine(
      &lines, {"site", std::to_string(getpid()), std::to_string(number), NameOf(kind), site.name, site.call});
  for (const layers::Frame& frame : layers::FramesOf(site.stack))
    layers::AddLine(&lines, {"frame", frame.file, std::to_string(frame.line), frame.function});
  full_ = !layers::AddHistory(lines);
}

}  // namespace belay::race
