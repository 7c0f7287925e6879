// Many objects: streams that are created, used once and destroyed; events.
#include "common.h"

namespace {

// The card's limit of 1984 streams a device holds; 1,000 live ones fit.
void Streams_1000Live_Belay(benchmark::State& state) {
  constexpr int kStreams = 1000;
  bench::Device::Get();
  std::vector<aclrtStream> streams(kStreams);
  for (auto _ : state) {
    for (aclrtStream& stream : streams) aclrtCreateStream(&stream);
    for (aclrtStream stream : streams) bench::SmallTask(stream);
    for (aclrtStream stream : streams) aclrtSynchronizeStream(stream);
    for (aclrtStream stream : streams) aclrtDestroyStream(stream);
  }
  state.SetItemsProcessed(state.iterations() * kStreams);
}
BENCHMARK(Streams_1000Live_Belay)->UseRealTime();

void Streams_OneAfterAnother_Belay(benchmark::State& state) {
  bench::Device::Get();
  for (auto _ : state) {
    aclrtStream stream;
    aclrtCreateStream(&stream);
    bench::SmallTask(stream);
    aclrtSynchronizeStream(stream);
    aclrtDestroyStream(stream);
  }
}
BENCHMARK(Streams_OneAfterAnother_Belay)->UseRealTime()->Iterations(10'000);

void Streams_OneAfterAnother_StdThread(benchmark::State& state) {
  bench::Device::Get();
  for (auto _ : state) {
    bench::ThreadStream stream;
    stream.Push([] { bench::SmallBody(); });
    stream.Synchronize();
  }
}
BENCHMARK(Streams_OneAfterAnother_StdThread)->UseRealTime();

void Events_Belay(benchmark::State& state) {
  bench::Device::Get();
  for (auto _ : state) {
    aclrtEvent event;
    aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC);
    aclrtDestroyEvent(event);
  }
}
BENCHMARK(Events_Belay)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
