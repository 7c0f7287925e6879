// What a task says that it touches and waits for, in the race layer's words.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layers/race/race.h"
#include "layers/support/thread_cache.h"
#include "runtime/progress.h"
#include "runtime/stream.h"

namespace belay::race {

struct Race::Room {
  std::vector<Access> accesses, some;
  std::array<Holder, 16> holders{};  // by an address that was looked for
};

inline const Race::Holder& Race::HolderOf(const void* p, Room* room) const {
  constexpr uint64_t kTurn = 0x9e3779b97f4a7c15;
  const auto at = reinterpret_cast<uintptr_t>(p);
  Holder& known = room->holders[at * kTurn >> 60];
  if (at < known.begin || at >= known.end || known.frees != frees_.load(std::memory_order_acquire))
    known = FindHolder(p);
  return known;
}

// What a task touches of memory whose life is known, and what it waits for.
struct Race::Touches final : rt::RangeVisitor {
  Touches(const Race& r, const rt::Task& task)
      : race(r),
        task_class(task.type->task_class),
        room(*layers::ThreadCache<Room>()),
        accesses(room.accesses),
        some(room.some) {
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, *this);
    if (race.aliases_.any()) AddInMemory();
    // Within a launch a wait may stand between its accesses.
    if (task_class == rt::TaskClass::kLaunch && WaitsForFlags()) open = true;
    collective = task_class == rt::TaskClass::kProgress;
    if (collective) StandInLines(*task.body<rt::ProgressTask>().work);
    if (open && !collective) ForgetAccesses();  // words that order others, not data
  }
  ~Touches() {
    for (std::vector<Access>* list : {&accesses, &some}) {
      list->clear();
      if (list->capacity() > kMostRoom) *list = {};
    }
  }
  Touches(const Touches&) = delete;
  Touches& operator=(const Touches&) = delete;

  void Reads(const void* begin, size_t bytes) override { Add(begin, bytes, false); }
  void Writes(void* begin, size_t bytes) override { Add(begin, bytes, true); }
  void ReadsWithin(const void*, size_t) override { partly = true; }
  void Hints(const void*, size_t) override {}
  void WritesWithin(void* begin, size_t bytes) override {
    partly = true;
    const bool followed = race.follows_writes_ || race.sources_.any();
    const uint64_t block = followed ? race.SerialOf(begin) : 0;
    const auto at = reinterpret_cast<uintptr_t>(begin);
    if (block != 0) maybe_written.push_back({block, at, at + bytes});
  }
  void ReadsSome(const void* begin, size_t bytes) override {
    ReadsWithin(begin, bytes);
    AddSome(begin, bytes, false);
  }
  void WritesSome(void* begin, size_t bytes) override {
    WritesWithin(begin, bytes);
    AddSome(begin, bytes, true);
  }
  void TakesGroup(uint64_t handle) override { accesses.push_back({GroupBytes(handle), false, false}); }
  void ReplacesGroup(uint64_t handle) override { accesses.push_back({GroupBytes(handle), true, false}); }
  void RunsModel(uint64_t model) override {
    accesses.push_back({ModelBytes(model), IsLoadedModel(model), false});
  }
  void UsesCommunicator(uint64_t handle) override {
    if (handle != 0) accesses.push_back({CommunicatorBytes(handle), false, false});
  }
  void WaitsFor(const rt::Stream& source, uint64_t position) override {
    waits.emplace_back(&source, position);
  }
  void WaitsForUnknown() override { open = true; }
  void WaitsForNumber(const uint64_t* word, uint64_t least) override {
    if (!race.any_records_.load(std::memory_order_acquire)) return WaitsForUnknown();
    InRecords().numbers.emplace_back(word, least);
  }
  void WaitsForFlag(const void* word) override { InRecords().flags.push_back(word); }
  void SetsFlag(const void* word) override {
    Signals(word);
    InRecords().sets.push_back(word);
  }
  void PartUntil(const uint64_t* word, uint64_t least) override {
    InRecords().parts.push_back({word, least, accesses.size(), some.size()});
    latest_read = latest_write = SIZE_MAX;
  }
  void Signals(const void*) override { signals = true; }
  void TouchesUnknown() override { unknown = true; }
  // In a launch nothing tells when it begins.
  void CallsAndGoesOn() override { unknown = true, goes_on = task_class == rt::TaskClass::kHostCall; }

  void Add(const void* begin, size_t bytes, bool writes) {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    if (bytes == 0) return;
    // What goes on where the latest ended, or is the same again, as nodes of a launch have it.
    size_t& latest = writes ? latest_write : latest_read;
    if (latest < accesses.size()) {
      Bytes& known = accesses[latest].bytes;
      if (known.begin <= at && at < known.end) {
        if (at + bytes <= known.end) return;
        known.end = at + bytes;
        return;
      }
    }
    const Holder& holder = race.HolderOf(begin, &room);
    const auto [block, of_host] = holder.held;
    if (block == 0) return;
    // Into the next of a range that was mapped piece by piece.
    const size_t rest = holder.end != 0 && at + bytes > holder.end ? at + bytes - holder.end : 0;
    bytes -= rest;
    if (latest < accesses.size() && accesses[latest].bytes.block == block &&
        accesses[latest].bytes.end == at) {
      accesses[latest].bytes.end = at + bytes;
    } else {
      latest = accesses.size();
      host |= of_host;
      accesses.push_back({{block, at, at + bytes}, writes, of_host});
    }
    if (rest != 0) Add(reinterpret_cast<const void*>(at + bytes), rest, writes);
  }

  // Of a range that was mapped piece by piece nothing is noted where it goes on in the next.
  void AddSome(const void* begin, size_t bytes, bool writes) {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    const Holder& holder = race.HolderOf(begin, &room);
    const auto [block, of_host] = holder.held;
    if (block != 0 && at + bytes <= holder.end) some.push_back({{block, at, at + bytes}, writes, of_host});
  }

  // An order that nobody has set may be another one on another rank.
  void StandInLines(const rt::Progress& work) {
    std::vector<uint64_t> lines;
    work.Lines(&lines);
    for (uint64_t line : lines) accesses.push_back({{kLine | line, 0, 1}, true, false});
    latest_read = latest_write = SIZE_MAX;
  }

  static Bytes GroupBytes(uint64_t handle) { return {kGroup | (handle & (kGroup - 1)), 0, 1}; }

  // The same once more where it lies in memory that other addresses show, too.
  void AddInMemory() {
    for (std::vector<Access>* list : {&accesses, &some}) {
      for (size_t i = 0, count = list->size(); i < count; ++i) {
        const Access access = (*list)[i];
        const Bytes bytes = race.aliases_.InMemory(access.bytes);
        if (bytes.block != 0) list->push_back({bytes, access.writes, false});
      }
    }
    if (records != nullptr) records->parts.clear();  // they lie behind all of them
  }

  void ForgetAccesses() {
    for (const Access& access : accesses) {
      if (access.writes) maybe_written.push_back(access.bytes);
    }
    accesses.clear();
    some.clear();
  }

  static constexpr size_t kMostRoom = 4096;

  const Race& race;
  const rt::TaskClass task_class;
  Room& room;
  std::vector<Access>& accesses;                           // in that room
  std::vector<Access>& some;                               // of which it touches one byte at least, in it too
  size_t latest_read = SIZE_MAX, latest_write = SIZE_MAX;  // in that list
  std::vector<Bytes> maybe_written;
  Waits waits;
  // Of records within launches and of notifies, which few tasks have to do with.
  struct Part {
    const uint64_t* word;
    uint64_t least;
    size_t accesses, some;  // where those of the part begin in the lists
  };
  struct Records {
    std::vector<std::pair<const uint64_t*, uint64_t>> numbers;  // that it waits for
    std::vector<const void*> flags;                             // of notifies that it waits for
    std::vector<const void*> sets;                              // and that it sets
    Knowledge by_flags;
    std::vector<const Knowledge*> learned;  // by those, when they are resolved
    std::vector<Part> parts;                // of a launch
  };
  Records& InRecords() {
    if (records == nullptr) records = std::make_unique<Records>();
    return *records;
  }
  bool WaitsForNumbers() const { return records != nullptr && !records->numbers.empty(); }
  bool WaitsForFlags() const { return records != nullptr && !records->flags.empty(); }
  bool SetsFlags() const { return records != nullptr && !records->sets.empty(); }
  bool HasParts() const { return records != nullptr && !records->parts.empty(); }
  std::unique_ptr<Records> records;
  bool host = false;     // some accesses are to memory of the host
  bool partly = false;   // some accesses are decided by data
  bool open = false;     // it waits for what has no position
  bool unknown = false;  // nothing is known of what it touches
  bool goes_on = false;  // with a function of the program that it has called
  bool signals = false;  // others may learn without a call that it was there
  // It waits for other ranks while it runs, so that nobody knows what comes before that which follows it. Its
  // own accesses may come at once.
  bool collective = false;
};

}  // namespace belay::race
