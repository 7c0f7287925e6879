// The picture as text: a line for each node, with the numbers of those it reads from.
#include <fmt/format.h>

#include <algorithm>

#include "belay_graph/picture.h"

namespace belay::graph_tool {
namespace {

std::string Summary(const Picture& picture) {
  if (picture.streams != 0)
    return fmt::format("{}: {} tasks on {} stream{}\n", picture.name, picture.shown.size(), picture.streams,
                       picture.streams == 1 ? "" : "s");
  auto count = [&](Shown::Kind kind) {
    return std::count_if(picture.shown.begin(), picture.shown.end(),
                         [&](const Shown& s) { return s.kind == kind; });
  };
  std::string text = fmt::format(
      "{}: {} nodes, {} inputs, {} outputs, constants {}\n", picture.name.empty() ? "model" : picture.name,
      count(Shown::kNode), count(Shown::kInput), count(Shown::kOutput), TextOfBytes(picture.constant_bytes));
  if (picture.planned) {
    text += fmt::format(
        "work memory {} ({:.2f} x the most that is alive at once)\n", TextOfBytes(picture.work_bytes),
        picture.least_work_bytes == 0
            ? 1.0
            : static_cast<double>(picture.work_bytes) / static_cast<double>(picture.least_work_bytes));
  }
  if (picture.runs > 0) {
    text += fmt::format("{} in one run, node after node (medians of {} runs)\n",
                        TextOfMicroseconds(picture.microseconds), picture.runs);
    const Roof& roof = picture.roof;
    text += fmt::format(
        "the machine's roof: {:.0f} GFLOP/s in products, {:.0f} GB/s from memory, {:.0f} from the nearest cache; nodes "
        "below a third of it are marked <\n",
        roof.flops / 1e9, roof.rates.back().second / 1e9, roof.rates.front().second / 1e9);
  }
  if (!picture.note.empty()) text += picture.note + "\n";
  return text;
}

// Cells of one line; columns are as wide as their widest cell.
using Row = std::vector<std::string>;

std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> width(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], width[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Sources(const Picture& picture, size_t number) {
  std::string text;
  for (const Flow& flow : picture.flows) {
    if (static_cast<size_t>(flow.to) == number) text += (text.empty() ? "" : " ") + std::to_string(flow.from);
  }
  return text;
}

// What a node reaches: GFLOP/s, GB/s, and its share of the roof.
std::vector<std::string> Rates(const Shown& shown) {
  if (!shown.of_roof) return {"", "", ""};
  const double nanoseconds = *shown.microseconds * 1e3;
  return {shown.operations > 0 ? fmt::format("{:.1f}", shown.operations / nanoseconds) : "",
          fmt::format("{:.1f}", static_cast<double>(shown.moved_bytes) / nanoseconds),
          fmt::format("{:.0f} %{}", 100 * *shown.of_roof, *shown.of_roof < kFarFromRoof ? " <" : "")};
}

}  // namespace

std::string WriteText(const Picture& picture) {
  constexpr size_t kNameWidth = 40;
  bool timed = picture.runs > 0;
  std::vector<Row> rows = {{"no", "reads", "node", "name", "result", "size", "memory", "constants"}};
  if (timed) rows[0].insert(rows[0].end(), {"time", "share", "GFLOP/s", "GB/s", "of roof"});
  for (size_t i = 0; i < picture.shown.size(); ++i) {
    const Shown& shown = picture.shown[i];
    bool view = picture.planned && shown.kind == Shown::kNode && shown.kernels == 0;
    rows.push_back({std::to_string(i), Sources(picture, i), shown.type, Shortened(shown.name, kNameWidth),
                    Shortened(shown.result, kNameWidth + 8),
                    shown.result_bytes == 0 ? "" : TextOfBytes(shown.result_bytes),
                    view ? "view" : shown.place,
                    shown.constant_bytes == 0 ? "" : TextOfBytes(shown.constant_bytes)});
    if (!timed) continue;
    double time = shown.microseconds.value_or(0);
    rows.back().push_back(shown.microseconds ? TextOfMicroseconds(time) : "");
    rows.back().push_back(shown.microseconds && picture.microseconds > 0
                              ? fmt::format("{:.1f} %", 100 * time / picture.microseconds)
                              : "");
    for (const std::string& cell : Rates(shown)) rows.back().push_back(cell);
  }
  return Summary(picture) + "\n" + Table(rows);
}

}  // namespace belay::graph_tool
