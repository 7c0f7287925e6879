#include "layers/numbers/numbers.h"

#include <optional>
#include <vector>

#include "layers/numbers/scan.h"
#include "layers/support/report.h"
#include "runtime/stream.h"

namespace belay::numbers {

// What an operator reads and writes of elements that may be NaN.
struct Numbers::Operands final : rt::RangeVisitor {
  struct Piece {
    const char* argument;
    tensor::DType type;
    const char* first;  // of the argument's elements, as they lie in memory
    const char* begin;
    size_t bytes;
  };

  explicit Operands(const rt::Task& task) {
    if (task.type->ranges != nullptr) task.type->ranges(task.payload, *this);
  }

  void Argument(const char* name, tensor::DType of) override {
    argument = name;
    type = of;
    first = nullptr;
  }
  void Reads(const void* begin, size_t bytes) override {
    reads_any |= argument != nullptr;
    Add(&read, begin, bytes);
  }
  void Writes(void* begin, size_t bytes) override { Add(&written, begin, bytes); }
  // What it leaves as it was must not be taken for a result.
  void WritesWithin(void* begin, size_t bytes) override {
    Add(&read, begin, bytes);
    Add(&written, begin, bytes);
  }

  void Add(std::vector<Piece>* pieces, const void* begin, size_t bytes) {
    const auto* at = static_cast<const char*>(begin);
    if (argument == nullptr || BytesOfScanned(type) == 0) return;
    if (first == nullptr) first = at;
    pieces->push_back({argument, type, first, at, bytes});
  }

  bool reads_any = false;  // of whatever type; one that reads nothing makes NaN because it is told to
  std::vector<Piece> read, written;

 private:
  const char* argument = nullptr;
  tensor::DType type = tensor::DType::kUndefined;
  const char* first = nullptr;
};

void Numbers::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  if (!Looks(task)) return;
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  submitted_[{&stream, position}] = stack;
}

void Numbers::Captured(const rt::Stream&, uint32_t model, uint32_t node, const rt::Task& task) {
  if (!Looks(task)) return;
  const layers::Stack stack = layers::ThisStack();
  std::lock_guard guard(lock_);
  captured_[{model, node}] = stack;
}

void Numbers::Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  if (Looks(task)) Begin({&stream, kNoModel, position}, task);
}

void Numbers::Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
                    const rt::TaskFailure* failure) {
  if (!Looks(task)) return;
  End({&stream, kNoModel, position}, task, failure != nullptr);
  // With those before it that were dropped.
  std::lock_guard guard(lock_);
  submitted_.erase(submitted_.lower_bound({&stream, 0}), submitted_.upper_bound({&stream, position}));
}

void Numbers::NodeStarted(const rt::Stream& stream, uint32_t, uint32_t model, uint32_t node,
                          const rt::Task& task) {
  if (Looks(task)) Begin({&stream, model, node}, task);
}

void Numbers::NodeEnded(const rt::Stream& stream, uint32_t, uint32_t model, uint32_t node,
                        const rt::Task& task, const rt::TaskFailure* failure) {
  if (Looks(task)) End({&stream, model, node}, task, failure != nullptr);
}

void Numbers::Begin(const Place& place, const rt::Task& task) {
  const Operands operands(task);
  if (!operands.reads_any || operands.written.empty()) return;
  Begun begun{nullptr};
  for (const Operands::Piece& piece : operands.read) {
    const Values values = Scan(core_.view(piece.begin, piece.bytes), piece.bytes, piece.type);
    if (values.nan != Values::kNone) return;
    if (values.infinity && begun.infinite == nullptr) begun.infinite = piece.argument;
  }
  std::lock_guard guard(lock_);
  begun_[place] = begun;
}

void Numbers::End(const Place& place, const rt::Task& task, bool failed) {
  std::optional<Begun> begun;
  {
    std::lock_guard guard(lock_);
    if (auto found = begun_.extract(place)) begun = found.mapped();
  }
  if (!begun || failed) return;
  const Operands operands(task);
  for (const Operands::Piece& piece : operands.written) {
    const Values values = Scan(core_.view(piece.begin, piece.bytes), piece.bytes, piece.type);
    if (values.nan == Values::kNone) continue;
    const size_t element =
        static_cast<size_t>(piece.begin - piece.first) / BytesOfScanned(piece.type) + values.nan;
    std::string what = "writes a NaN to " + std::string(piece.argument) + ", element " +
                       std::to_string(element) + " in memory, and reads none";
    if (begun->infinite != nullptr) what += ", but an infinity in " + std::string(begun->infinite);
    return Tell(place, task, what);
  }
}

layers::Stack Numbers::StackOf(const Place& place) const {
  const auto& [stream, model, number] = place;
  std::lock_guard guard(lock_);
  if (model == kNoModel) {
    const auto found = submitted_.find({stream, number});
    return found == submitted_.end() ? layers::Stack() : found->second;
  }
  const auto found = captured_.find({static_cast<uint32_t>(model), static_cast<uint32_t>(number)});
  return found == captured_.end() ? layers::Stack() : found->second;
}

void Numbers::Tell(const Place& place, const rt::Task& task, const std::string& what) {
  const auto& [stream, model, number] = place;
  std::string name;
  if (task.type->describe != nullptr) task.type->describe(task.payload, name);
  std::string role = name + ", ";
  if (model != kNoModel)
    role += "node " + std::to_string(number) + " of model " + std::to_string(model) + ", ";
  role += "stream " + std::to_string(stream->id()) + ", by " + core_.call_name(task.call);
  const bool told =
      layers::Tell({"first-nan",
                    name + " " + what,
                    {{role, StackOf(place)}},
                    "look at what it is given there: a logarithm or a root of what is negative, a division "
                    "of zero by zero, a difference of infinities"});
  if (told) told_.store(true, std::memory_order_relaxed);
}

}  // namespace belay::numbers
