// Replaying graphs: a chain, layers with three edges each, fork and join; small nodes, and nodes of about
// a microsecond beside two plain threads that split the same bodies.
#include <oneapi/tbb.h>

#include <atomic>
#include <barrier>
#include <memory>

#include "common.h"

namespace {

using bench::Dag;
namespace flow = oneapi::tbb::flow;

// Bytes of a copy that takes about a microsecond in cache.
constexpr size_t kMicrosecond = 96 << 10;

struct Shape {
  Dag dag;
  int streams;
  // Which stream carries node i.
  int (*stream_of)(int node);
};
Shape ShapeOf(int64_t which) {
  switch (which) {
    case 0:
      return {bench::Chain(), 1, [](int) { return 0; }};
    case 1:
      return {bench::Layered(), 32, [](int n) { return n % 32; }};
    default:
      return {bench::ForkJoin(), 63, [](int n) { return n % 64 == 63 ? 0 : n % 64; }};
  }
}

void CopyNode(int node, size_t bytes, aclrtStream stream) {
  bench::Device& d = bench::Device::Get();
  // Each node of a layer has its own lines, as real operators have.
  size_t at =
      bytes > 4096 ? (static_cast<size_t>(node) % 8) * kMicrosecond : (static_cast<size_t>(node) % 64) * 64;
  aclrtMemcpyAsync(d.to + at, bytes, d.from + at, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}
void CopyBody(int node, size_t bytes) {
  bench::Device& d = bench::Device::Get();
  size_t at =
      bytes > 4096 ? (static_cast<size_t>(node) % 8) * kMicrosecond : (static_cast<size_t>(node) % 64) * 64;
  std::memcpy(d.to + at, d.from + at, bytes);
  benchmark::ClobberMemory();
}

// Captures the graph: node i on its stream, an event for each node that another stream needs.
aclmdlRI Capture(const Shape& shape, size_t bytes, std::vector<aclrtStream>& streams,
                 std::vector<aclrtEvent>& events) {
  for (int i = 0; i < shape.streams; ++i) streams.push_back(bench::NewStream());
  for (int i = 0; i < shape.dag.nodes + 1; ++i) events.push_back(bench::NewEvent());
  std::vector<std::vector<int>> before(static_cast<size_t>(shape.dag.nodes));
  for (auto [from, to] : shape.dag.edges) before[static_cast<size_t>(to)].push_back(from);
  CHECK_ACL(aclmdlRICaptureBegin(streams[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  aclrtEvent start = events.back();
  CHECK_ACL(aclrtRecordEvent(start, streams[0]));
  for (int i = 1; i < shape.streams; ++i)
    CHECK_ACL(aclrtStreamWaitEvent(streams[static_cast<size_t>(i)], start));
  for (int n = 0; n < shape.dag.nodes; ++n) {
    int s = shape.stream_of(n);
    aclrtStream stream = streams[static_cast<size_t>(s)];
    for (int b : before[static_cast<size_t>(n)]) {
      if (shape.stream_of(b) != s) CHECK_ACL(aclrtStreamWaitEvent(stream, events[static_cast<size_t>(b)]));
    }
    CopyNode(n, bytes, stream);
    CHECK_ACL(aclrtRecordEvent(events[static_cast<size_t>(n)], stream));
  }
  for (int i = 1; i < shape.streams; ++i) {
    CHECK_ACL(aclrtRecordEvent(start, streams[static_cast<size_t>(i)]));
    CHECK_ACL(aclrtStreamWaitEvent(streams[0], start));
  }
  aclmdlRI model;
  CHECK_ACL(aclmdlRICaptureEnd(streams[0], &model));
  return model;
}

void Replay_Belay(benchmark::State& state) {
  Shape shape = ShapeOf(state.range(0));
  std::vector<aclrtStream> streams;
  std::vector<aclrtEvent> events;
  auto bytes = static_cast<size_t>(state.range(1));
  aclmdlRI model = Capture(shape, bytes, streams, events);
  for (auto _ : state) {
    aclmdlRIExecuteAsync(model, streams[0]);
    aclrtSynchronizeStream(streams[0]);
  }
  state.SetItemsProcessed(state.iterations() * shape.dag.nodes);
  aclmdlRIDestroy(model);
  for (aclrtEvent event : events) aclrtDestroyEvent(event);
  for (aclrtStream stream : streams) aclrtDestroyStream(stream);
}

void Replay_oneTBB(benchmark::State& state) {
  Shape shape = ShapeOf(state.range(0));
  auto bytes = static_cast<size_t>(state.range(1));
  using Node = flow::continue_node<flow::continue_msg>;
  flow::graph graph;
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < shape.dag.nodes; ++i) {
    nodes.push_back(
        std::make_unique<Node>(graph, [i, bytes](const flow::continue_msg&) { CopyBody(i, bytes); }));
  }
  std::vector<int> in(nodes.size());
  for (auto [from, to] : shape.dag.edges) {
    flow::make_edge(*nodes[static_cast<size_t>(from)], *nodes[static_cast<size_t>(to)]);
    ++in[static_cast<size_t>(to)];
  }
  for (auto _ : state) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (in[i] == 0) nodes[i]->try_put(flow::continue_msg());
    }
    graph.wait_for_all();
  }
  state.SetItemsProcessed(state.iterations() * shape.dag.nodes);
}

// The ideal: two threads that run half of each layer and meet at a spinning barrier after it.
void Replay_TwoThreads(benchmark::State& state) {
  Shape shape = ShapeOf(state.range(0));
  auto bytes = static_cast<size_t>(state.range(1));
  // Depth of each node: nodes of one depth are independent.
  std::vector<int> depth(static_cast<size_t>(shape.dag.nodes), 0);
  int deepest = 0;
  for (auto [from, to] : shape.dag.edges) {
    auto t = static_cast<size_t>(to);
    depth[t] = std::max(depth[t], depth[static_cast<size_t>(from)] + 1);
  }
  std::vector<std::vector<int>> layers;
  for (int n = 0; n < shape.dag.nodes; ++n) {
    deepest = std::max(deepest, depth[static_cast<size_t>(n)]);
    layers.resize(static_cast<size_t>(deepest) + 1);
    layers[static_cast<size_t>(depth[static_cast<size_t>(n)])].push_back(n);
  }
  std::atomic<int64_t> go{0}, met[2] = {0, 0};
  std::atomic<bool> stop{false};
  auto half = [&](int me, int64_t round) {
    int64_t meeting = round * static_cast<int64_t>(layers.size());
    for (const std::vector<int>& layer : layers) {
      for (size_t i = static_cast<size_t>(me); i < layer.size(); i += 2) CopyBody(layer[i], bytes);
      met[me].store(++meeting, std::memory_order_release);
      while (met[1 - me].load(std::memory_order_acquire) < meeting) {
      }
    }
  };
  std::thread other([&] {
    for (int64_t round = 0;; ++round) {
      while (go.load(std::memory_order_acquire) <= round) {
        if (stop.load()) return;
      }
      half(1, round);
    }
  });
  int64_t round = 0;
  for (auto _ : state) {
    go.store(round + 1, std::memory_order_release);
    half(0, round++);
  }
  stop.store(true);
  other.join();
  state.SetItemsProcessed(state.iterations() * shape.dag.nodes);
}

void Small(benchmark::internal::Benchmark* b) {
  for (int shape = 0; shape < 3; ++shape) b->Args({shape, 32});
  b->ArgNames({"chain_layered_forkjoin", "bytes"})->UseRealTime();
}
void Microsecond(benchmark::internal::Benchmark* b) {
  for (int shape = 1; shape < 3; ++shape) b->Args({shape, kMicrosecond});
  b->ArgNames({"chain_layered_forkjoin", "bytes"})->UseRealTime();
}
BENCHMARK(Replay_Belay)->Apply(Small)->Apply(Microsecond);
BENCHMARK(Replay_oneTBB)->Apply(Small)->Apply(Microsecond);
BENCHMARK(Replay_TwoThreads)->Apply(Microsecond);

}  // namespace

BENCHMARK_MAIN();
