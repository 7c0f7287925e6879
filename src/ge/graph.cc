#include "graph/graph.h"

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"

namespace ge {

using belay::Fail;
using belay::graph_interface::kBadArgument;

GraphImpl& GraphImpl::Of(Graph& graph) {
  if (graph.impl_ == nullptr) graph.impl_ = std::make_shared<GraphImpl>("");
  return *graph.impl_;
}

const GraphImpl& GraphImpl::Of(const Graph& graph) {
  if (graph.impl_ == nullptr) Fail(kBadArgument, "ge-graph-empty", "the graph is empty; construct it with a name and fill it first");
  return *graph.impl_;
}

void GraphImpl::Adopt(belay::graph::Graph read) {
  if (name.empty()) name = read.name;
  read_ = std::make_shared<const belay::graph::Graph>(std::move(read));
}

belay::graph::Graph GraphImpl::Lower() const {
  if (read_ == nullptr) Fail(kBadArgument, "ge-graph-empty", "graph '{}' has no operator", name);
  return *read_;
}

Graph::Graph(const char_t* name) : impl_(std::make_shared<GraphImpl>(name == nullptr ? "" : name)) {}

}  // namespace ge
