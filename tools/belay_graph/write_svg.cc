// The picture as SVG, placed by layout.h. Everything that a box has no room for is in its tooltip.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/markup.h"
#include "belay_graph/layout.h"
#include "belay_graph/picture.h"

namespace belay::graph_tool {
namespace {

constexpr double kCharacter = 6.7;  // width of a letter of the font, 11 px
constexpr double kLine = 15;
constexpr double kPadding = 8;
constexpr double kMargin = 20;
constexpr double kHeading = 60;

std::vector<std::string> Lines(const Shown& shown) {
  constexpr size_t kWidest = 34;
  std::vector<std::string> lines = {shown.type, Shortened(shown.name, kWidest)};
  std::string result =
      shown.result.size() <= kWidest ? shown.result : shown.result.substr(0, kWidest - 2) + "..";
  if (!result.empty()) lines.push_back(result);
  std::string sizes = shown.result_bytes == 0 ? "" : TextOfBytes(shown.result_bytes);
  if (shown.constant_bytes != 0)
    sizes += (sizes.empty() ? "" : ", ") + ("constants " + TextOfBytes(shown.constant_bytes));
  if (!sizes.empty()) lines.push_back(sizes);
  if (shown.microseconds) lines.push_back(TextOfTime(shown));
  return lines;
}

std::string Tooltip(const Shown& shown) {
  std::string text =
      shown.type + " " + shown.name + "\nresult: " + shown.result + ", " + TextOfBytes(shown.result_bytes);
  if (!shown.place.empty()) text += "\nin memory: " + shown.place;
  if (shown.workspace_bytes != 0) text += "\nworkspace: " + TextOfBytes(shown.workspace_bytes);
  if (shown.constant_bytes != 0) text += "\nconstants: " + TextOfBytes(shown.constant_bytes);
  if (shown.kernels != 0) text += fmt::format("\nkernels: {}", shown.kernels);
  return text;
}

// From white to red with the share of the time.
std::string Colour(const Shown& shown, double longest) {
  if (shown.kind != Shown::kNode) return "#e4e8ef";
  if (!shown.microseconds || longest <= 0) return "#ffffff";
  double share = std::sqrt(*shown.microseconds / longest);
  auto fade = [&](double to) { return static_cast<int>(std::lround(255 + (to - 255) * share)); };
  return fmt::format("#{:02x}{:02x}{:02x}", fade(245), fade(120), fade(95));
}

// Through all points, vertical at each of them.
std::string Curve(const std::vector<Point>& points) {
  std::string path = fmt::format("M{:.1f} {:.1f}", points[0].x, points[0].y);
  for (size_t i = 1; i < points.size(); ++i) {
    const Point& a = points[i - 1];
    const Point& b = points[i];
    if (std::abs(a.x - b.x) < 0.5) {
      path += fmt::format("L{:.1f} {:.1f}", b.x, b.y);
    } else {
      double middle = (a.y + b.y) / 2;
      path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, middle, b.x, middle, b.x, b.y);
    }
  }
  return path;
}

std::string Title(const std::string& text) { return "<title>" + Escaped(text) + "</title>"; }

std::string Drawn(const Flow& flow, const std::vector<Point>& points) {
  double width =
      flow.bytes == 0 ? 1 : std::clamp(std::log10(static_cast<double>(flow.bytes)) / 2.5, 0.8, 3.2);
  return fmt::format("<path class=\"flow\" stroke-width=\"{:.1f}\" d=\"{}\">{}</path>\n", width,
                     Curve(points), Title(TextOfFlow(flow)));
}

std::string Drawn(const Shown& shown, const Box& box, const Point& at, double longest) {
  std::string text = fmt::format(
      "<g>{}<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
      "fill=\"{}\"/>\n",
      Title(Tooltip(shown)), at.x, at.y, box.width, box.height, Colour(shown, longest));
  double y = at.y + kPadding + kLine - 4;
  bool first = true;
  for (const std::string& line : Lines(shown)) {
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", at.x + box.width / 2, y,
                        first ? " class=\"type\"" : "", Escaped(line));
    y += kLine;
    first = false;
  }
  return text + "</g>\n";
}

std::string Heading(const Picture& picture) {
  std::string second;
  if (picture.planned) second = "work memory " + TextOfBytes(picture.work_bytes) + ", ";
  second += picture.streams == 0 ? "constants " + TextOfBytes(picture.constant_bytes)
                                 : fmt::format("{} tasks on {} stream{}", picture.shown.size(),
                                               picture.streams, picture.streams == 1 ? "" : "s");
  if (picture.runs > 0)
    second += fmt::format(", {} in one run (medians of {})", TextOfMicroseconds(picture.microseconds),
                          picture.runs);
  if (!picture.note.empty()) second += "; " + picture.note;
  return fmt::format(
      "<text x=\"{0}\" y=\"26\" class=\"heading\">{1}</text>\n<text x=\"{0}\" y=\"44\" "
      "class=\"left\">{2}</text>\n",
      kMargin, Escaped(picture.name.empty() ? "model" : picture.name), Escaped(second));
}

Box SizeOf(const Shown& shown) {
  size_t widest = 8;
  std::vector<std::string> lines = Lines(shown);
  for (const std::string& line : lines) widest = std::max(widest, line.size());
  return {static_cast<double>(widest) * kCharacter + 2 * kPadding,
          static_cast<double>(lines.size()) * kLine + 2 * kPadding - 3};
}

}  // namespace

std::string WriteSvg(const Picture& picture) {
  std::vector<Box> boxes;
  std::vector<Edge> edges;
  double longest = 0;
  for (const Shown& shown : picture.shown) {
    boxes.push_back(SizeOf(shown));
    longest = std::max(longest, shown.microseconds.value_or(0));
  }
  for (const Flow& flow : picture.flows) edges.push_back({flow.from, flow.to});
  Layout layout = PlaceBoxes(boxes, edges);
  double width = std::max(layout.width, 520.0) + 2 * kMargin;
  double height = layout.height + kHeading + kMargin;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n"
      "<style>text{{font:11px monospace;text-anchor:middle;fill:#222}} .type{{font-weight:bold}} "
      ".heading{{font:bold 16px sans-serif;text-anchor:start}} .left{{font:12px "
      "sans-serif;text-anchor:start}} "
      "rect{{stroke:#667}} .flow{{fill:none;stroke:#889;marker-end:url(#tip)}}</style>\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"9\" "
      "markerHeight=\"9\" "
      "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
      "fill=\"#667\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\" style=\"stroke:none\"/>\n",
      width, height);
  text += Heading(picture);
  text += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n",
                      kMargin + (width - 2 * kMargin - layout.width) / 2, kHeading);
  for (size_t i = 0; i < edges.size(); ++i) text += Drawn(picture.flows[i], layout.paths[i]);
  for (size_t i = 0; i < boxes.size(); ++i)
    text += Drawn(picture.shown[i], boxes[i], layout.corners[i], longest);
  return text + "</g>\n</svg>\n";
}

}  // namespace belay::graph_tool
