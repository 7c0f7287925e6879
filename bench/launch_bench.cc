// Launching: many small tasks on one stream, one task and a synchronise, hops between two streams.
#include <oneapi/tbb.h>
#include <time.h>

#include <memory>

#include "common.h"

namespace {

using bench::NewStream;
using bench::SmallBody;
using bench::SmallTask;
namespace flow = oneapi::tbb::flow;

constexpr int kTasks = 100'000;

void Launch_Belay(benchmark::State& state) {
  aclrtStream stream = NewStream();
  for (auto _ : state) {
    for (int i = 0; i < kTasks; ++i) SmallTask(stream);
    aclrtSynchronizeStream(stream);
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
  aclrtDestroyStream(stream);
}
BENCHMARK(Launch_Belay)->UseRealTime();

void Launch_oneTBB(benchmark::State& state) {
  flow::graph graph;
  flow::function_node<int> node(graph, flow::serial, [](int) {
    SmallBody();
    return flow::continue_msg();
  });
  for (auto _ : state) {
    for (int i = 0; i < kTasks; ++i) node.try_put(i);
    graph.wait_for_all();
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
}
BENCHMARK(Launch_oneTBB)->UseRealTime();

void Launch_StdThread(benchmark::State& state) {
  bench::ThreadStream stream;
  for (auto _ : state) {
    for (int i = 0; i < kTasks; ++i) stream.Push([] { SmallBody(); });
    stream.Synchronize();
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
}
BENCHMARK(Launch_StdThread)->UseRealTime();

void SubmitAndSynchronize_Belay(benchmark::State& state) {
  aclrtStream stream = NewStream();
  for (auto _ : state) {
    SmallTask(stream);
    aclrtSynchronizeStream(stream);
  }
  aclrtDestroyStream(stream);
}
BENCHMARK(SubmitAndSynchronize_Belay)->UseRealTime();

void SubmitAndSynchronize_oneTBB(benchmark::State& state) {
  flow::graph graph;
  flow::function_node<int> node(graph, flow::serial, [](int) {
    SmallBody();
    return flow::continue_msg();
  });
  for (auto _ : state) {
    node.try_put(0);
    graph.wait_for_all();
  }
}
BENCHMARK(SubmitAndSynchronize_oneTBB)->UseRealTime();

void SubmitAndSynchronize_StdThread(benchmark::State& state) {
  bench::ThreadStream stream;
  for (auto _ : state) {
    stream.Push([] { SmallBody(); });
    stream.Synchronize();
  }
}
BENCHMARK(SubmitAndSynchronize_StdThread)->UseRealTime();

void Idle(int64_t ms) {
  timespec t{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&t, nullptr);
}

// The first call after 100 ms without work, beside one wake of a sleeping thread.
void FirstCallAfterIdle_Belay(benchmark::State& state) {
  aclrtStream stream = NewStream();
  for (auto _ : state) {
    state.PauseTiming();
    Idle(100);
    state.ResumeTiming();
    SmallTask(stream);
    aclrtSynchronizeStream(stream);
  }
  aclrtDestroyStream(stream);
}
BENCHMARK(FirstCallAfterIdle_Belay)->UseRealTime()->Iterations(20);

void FirstCallAfterIdle_StdThread(benchmark::State& state) {
  bench::ThreadStream stream;
  for (auto _ : state) {
    state.PauseTiming();
    Idle(100);
    state.ResumeTiming();
    stream.Push([] { SmallBody(); });
    stream.Synchronize();
  }
}
BENCHMARK(FirstCallAfterIdle_StdThread)->UseRealTime()->Iterations(20);

constexpr int kHops = 10'000;

// record on A, wait and task on B, record on B, wait and task on A, ...
void Hop_Belay(benchmark::State& state) {
  aclrtStream streams[2] = {NewStream(), NewStream()};
  aclrtEvent events[2] = {bench::NewEvent(), bench::NewEvent()};
  for (auto _ : state) {
    for (int i = 0; i < kHops; ++i) {
      aclrtRecordEvent(events[i & 1], streams[i & 1]);
      aclrtStreamWaitEvent(streams[~i & 1], events[i & 1]);
      SmallTask(streams[~i & 1]);
    }
    aclrtSynchronizeStream(streams[0]);
    aclrtSynchronizeStream(streams[1]);
  }
  state.SetItemsProcessed(state.iterations() * kHops);
  for (aclrtEvent event : events) aclrtDestroyEvent(event);
  for (aclrtStream stream : streams) aclrtDestroyStream(stream);
}
BENCHMARK(Hop_Belay)->UseRealTime();

void Hop_oneTBB(benchmark::State& state) {
  flow::graph graph;
  using Node = flow::multifunction_node<int, std::tuple<int>>;
  auto body = [](int i, Node::output_ports_type& out) {
    SmallBody();
    if (i < kHops) std::get<0>(out).try_put(i + 1);
  };
  Node a(graph, flow::serial, body), b(graph, flow::serial, body);
  flow::make_edge(flow::output_port<0>(a), b);
  flow::make_edge(flow::output_port<0>(b), a);
  for (auto _ : state) {
    a.try_put(0);
    graph.wait_for_all();
  }
  state.SetItemsProcessed(state.iterations() * kHops);
}
BENCHMARK(Hop_oneTBB)->UseRealTime();

void Hop_StdThread(benchmark::State& state) {
  bench::ThreadStream streams[2];
  constexpr int kFew = 1000;
  for (auto _ : state) {
    std::vector<bench::ThreadEvent> events(kFew);
    for (int i = 0; i < kFew; ++i) {
      streams[i & 1].Push([&events, i] { events[static_cast<size_t>(i)].Set(); });
      streams[~i & 1].Push([&events, i] { events[static_cast<size_t>(i)].Wait(); });
      streams[~i & 1].Push([] { SmallBody(); });
    }
    streams[0].Synchronize();
    streams[1].Synchronize();
  }
  state.SetItemsProcessed(state.iterations() * kFew);
}
BENCHMARK(Hop_StdThread)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
