// The picture for graphviz.
#include <fmt/format.h>

#include "belay_graph/picture.h"

namespace belay::graph_tool {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Label(const Shown& shown) {
  std::string text = shown.type + "\n" + Shortened(shown.name, 40) + "\n" + shown.result;
  if (shown.result_bytes != 0)
    text += "\n" + TextOfBytes(shown.result_bytes) + (shown.place.empty() ? "" : " at " + shown.place);
  if (shown.constant_bytes != 0) text += "\nconstants " + TextOfBytes(shown.constant_bytes);
  if (shown.microseconds) text += "\n" + TextOfTime(shown);
  return text;
}

}  // namespace

std::string WriteDot(const Picture& picture) {
  std::string text = fmt::format(
      "digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
      "fontname=\"sans-serif\"];\n",
      Quoted(picture.name.empty() ? "model" : picture.name));
  for (size_t i = 0; i < picture.shown.size(); ++i) {
    const Shown& shown = picture.shown[i];
    const char* colour = shown.kind == Shown::kNode ? "white" : "lightgrey";
    text += fmt::format("  n{} [label={}, fillcolor={}];\n", i, Quoted(Label(shown)), colour);
  }
  for (const Flow& flow : picture.flows) {
    text += fmt::format("  n{} -> n{} [tooltip={}];\n", flow.from, flow.to, Quoted(TextOfFlow(flow)));
  }
  return text + "}\n";
}

}  // namespace belay::graph_tool
