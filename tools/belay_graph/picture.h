// What is drawn of a compiled graph: its inputs, its nodes as they run, its outputs, and what flows
// between them. The writers of each format know only this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay_graph/roof.h"
#include "graph/ir.h"

namespace belay::graph_tool {

struct Shown {
  enum Kind { kInput, kNode, kOutput };
  Kind kind = kNode;
  std::string type;  // of the operator, with what was fused into it; "input", "output"
  std::string name;
  std::string result;  // "f32 [1, 64, 56, 56]", several with "; "
  uint64_t result_bytes = 0;
  uint64_t constant_bytes = 0;  // of weights and other constants that it reads
  std::string place;            // of its result: "work memory 0x1200", "an output"; "" when nothing runs
  uint64_t workspace_bytes = 0;
  int kernels = 0;                     // 0: only another view of its input
  std::optional<double> microseconds;  // of all its kernels, in a run
  double operations = 0;               // multiplications and additions of its products
  uint64_t moved_bytes = 0;            // that its kernels read and write
  std::optional<double> of_roof;  // the least time that the machine would need for them, of the time taken
};

struct Flow {
  int from = 0;  // numbers of what is shown
  int to = 0;
  std::string type;  // "f32 [1, 64, 56, 56]"; of a capture "stream 3 to stream 5"
  uint64_t bytes = 0;
};

struct Picture {
  std::string name;
  std::vector<Shown> shown;  // what is needed comes before what needs it
  std::vector<Flow> flows;
  int streams = 0;       // of a capture, which has tasks and neither inputs nor outputs
  bool planned = false;  // there is a plan of the memory
  uint64_t work_bytes = 0;
  uint64_t least_work_bytes = 0;  // the most that is alive at once
  uint64_t constant_bytes = 0;
  std::string note;  // why something is not known
  int runs = 0;
  double microseconds = 0;  // of one run, all kernels
  Roof roof;                // of the machine, where it was run
};

constexpr double kFarFromRoof = 1.0 / 3;  // a share of the roof below which a node is marked

struct RunOptions {
  int runs = 0;           // 0: do not run
  std::string roof_path;  // where the machine's roof is kept; "": nowhere
};

// The graph as it is compiled for inputs of these types.
Picture MakePicture(const graph::Graph& graph, const std::vector<graph::ValueType>& inputs,
                    const RunOptions& options);

std::string TextOfBytes(uint64_t bytes);              // "1.5 MiB"
std::string TextOfMicroseconds(double microseconds);  // "12.3 us", "1.20 ms"
std::string TextOfFlow(const Flow& flow);             // "f32 [2, 3], 24 B"
std::string TextOfTime(const Shown& shown);           // "12.3 us, 45 % of the roof"
std::string Shortened(const std::string& text,
                      size_t length);  // the end matters more than the beginning

std::string WriteText(const Picture& picture);
std::string WriteDot(const Picture& picture);
std::string WriteSvg(const Picture& picture);

}  // namespace belay::graph_tool
