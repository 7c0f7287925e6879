#include "scene.h"

#include <acl/acl_op_compiler.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_softmax.h>
#include <aclnnop/aclnn_sort.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <new>

#include "codes.h"
#include "peer.h"
#include "weather.h"

// A call of the interface: its code is noted, and true is success. The weather is Belay's only inside.
#define DO(call)                   \
  Ok(#call, [&] {                  \
    ::chaos::Inside inside;        \
    return static_cast<int>(call); \
  }())

namespace chaos {
namespace {

constexpr size_t kFloats = 64;
constexpr int kPatience = 30'000;  // milliseconds in which any piece of work ends

bool IsDocumented(int code) {
  return std::find(std::begin(kDocumentedCodes), std::end(kDocumentedCodes), code) !=
         std::end(kDocumentedCodes);
}

// The same for a function that gives a handle.
template <class Body>
auto Made(Body body) {
  Inside inside;
  return body();
}

// GE's functions that allocate in their headers may throw in the program.
template <class Body>
int GeStatus(Body body) {
  try {
    return static_cast<int>(body());
  } catch (const std::bad_alloc&) {
    return ACL_ERROR_BAD_ALLOC;
  }
}

}  // namespace

void Die(const std::string& words) {
  MarkAsOurs();
  std::fprintf(stderr, "chaos: %s\n", words.c_str());
  std::fflush(nullptr);
  std::abort();
}

const std::vector<Scene::Piece>& Scene::Pieces() {
  static const std::vector<Piece> pieces = {&Scene::Copies,          &Scene::Captures,  &Scene::Callbacks,
                                            &Scene::Notifies,        &Scene::Operators, &Scene::Sorts,
                                            &Scene::SingleOperators, &Scene::Models,    &Scene::Sessions,
                                            &Scene::Blocks,          &Scene::Exports,   &Scene::Nonsense};
  return pieces;
}

// Those that make processes, which is slow.
const std::vector<Scene::Piece>& Scene::SlowPieces() {
  static const std::vector<Piece> pieces = {
    &Scene::Peers,
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    &Scene::Forks,  // a sanitizer's own locks may be held at the fork, and stay so in the child
#endif
  };
  return pieces;
}

void Scene::Act() {
  const std::vector<Piece>& pieces = Random(100) == 0 ? SlowPieces() : Pieces();
  Do(pieces[Random(pieces.size())]);
}

void Scene::ActAll() {
  for (Piece piece : Pieces()) Do(piece);
  for (Piece piece : SlowPieces()) Do(piece);
}

void Scene::Do(Piece piece) {
  (this->*piece)();
  CleanUp();
}

void Scene::Begin(const char* piece) {
  piece_ = piece;
  failed_ = false;
  stage_.pieces.fetch_add(1, std::memory_order_relaxed);
  DO(aclrtSetDevice(0));
}

// Under any weather; what cannot be destroyed goes with the device.
void Scene::CleanUp() {
  Inside inside;
  for (aclTensor* tensor : own_.tensors) aclDestroyTensor(tensor);
  for (aclDataBuffer* buffer : own_.buffers) aclDestroyDataBuffer(buffer);
  for (aclrtStream stream : own_.streams) aclrtDestroyStreamForce(stream);
  for (aclrtEvent event : own_.events) aclrtDestroyEvent(event);
  for (aclrtNotify notify : own_.notifies) aclrtDestroyNotify(notify);
  for (void* block : own_.blocks) aclrtFree(block);
  own_ = {};
}

// A function that gives a handle gave none.
void Scene::Lost() { Ok("a function that makes something", ACL_ERROR_BAD_ALLOC); }

void* Scene::NewBlock(size_t bytes) {
  void* block = nullptr;
  if (DO(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST))) own_.blocks.push_back(block);
  return block;
}
aclrtStream Scene::NewStream() {
  aclrtStream stream = nullptr;
  if (DO(aclrtCreateStream(&stream))) own_.streams.push_back(stream);
  return stream;
}
aclrtEvent Scene::NewEvent() {
  aclrtEvent event = nullptr;
  if (DO(aclrtCreateEvent(&event))) own_.events.push_back(event);
  return event;
}
aclrtNotify Scene::NewNotify() {
  aclrtNotify notify = nullptr;
  if (DO(aclrtCreateNotify(&notify, 0))) own_.notifies.push_back(notify);
  return notify;
}
aclTensor* Scene::NewTensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                            aclDataType type, void* data) {
  if (data == nullptr) return nullptr;
  const size_t rank = sizes.size();
  aclTensor* tensor = Made([&] {
    return aclCreateTensor(sizes.data(), rank, type, strides.data(), 0, ACL_FORMAT_ND, sizes.data(), rank,
                           data);
  });
  tensor == nullptr ? Lost() : own_.tensors.push_back(tensor);
  return tensor;
}
// By a call: another thread may export a block beside this one, and what a program itself writes then is
// lost.
void Scene::Write(float* to, const std::vector<float>& values) {
  const size_t bytes = values.size() * sizeof(float);
  DO(aclrtMemcpy(to, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}
aclDataBuffer* Scene::NewBuffer(void* data, size_t bytes) {
  aclDataBuffer* buffer = Made([&] { return aclCreateDataBuffer(data, bytes); });
  buffer == nullptr ? Lost() : own_.buffers.push_back(buffer);
  return buffer;
}

bool Scene::Ok(const char* call, int code) {
  if (code == ACL_SUCCESS) return true;
  const char* text = aclGetRecentErrMsg();
  const std::string words = std::string(piece_) + ": " + call + " gave " + std::to_string(code) + ": " +
                            (text == nullptr ? "no message" : text);
  if (stage_.fair.load()) Die("nothing was taken away, and " + words);
  if (!IsDocumented(code) || code == ACL_ERROR_INTERNAL_ERROR) Die(words);
  stage_.failed_calls.fetch_add(1, std::memory_order_relaxed);
  failed_ = true;
  return false;
}

void Scene::Expect(bool right, const char* what) {
  if (!failed_ && !right) Die(std::string(piece_) + ": no call has failed, and yet not " + what);
}

void Scene::Settle(aclrtStream stream) {
  const int code = Made([&] { return aclrtSynchronizeStreamWithTimeout(stream, kPatience); });
  if (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
    const char* text = aclGetRecentErrMsg();
    Die(std::string(piece_) + ": a stream stands still: " + (text == nullptr ? "" : text));
  }
  Ok("aclrtSynchronizeStreamWithTimeout", code);
}

// --- pieces of work

void Scene::Copies() {
  Begin("copies");
  const size_t bytes = 1 + Random(1 << (4 + Random(16)));
  std::vector<uint8_t> in(bytes, static_cast<uint8_t>(Random(256))), out(bytes);
  void* const a = NewBlock(bytes);
  void* const b = NewBlock(bytes);
  aclrtStream const first = NewStream();
  aclrtStream const second = NewStream();
  aclrtEvent const event = NewEvent();
  if (failed_) return;
  DO(aclrtMemcpyAsync(a, bytes, in.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, first));
  DO(aclrtRecordEvent(event, first));
  if (!failed_) DO(aclrtStreamWaitEvent(second, event));
  DO(aclrtMemcpyAsync(b, bytes, a, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, second));
  DO(aclrtMemcpyAsync(out.data(), bytes, b, bytes, ACL_MEMCPY_DEVICE_TO_HOST, second));
  Settle(first);
  Settle(second);
  Expect(in == out, "every byte has arrived");
}

void Scene::Captures() {
  Begin("captures");
  constexpr size_t kBytes = 4096;
  void* const a = NewBlock(kBytes);
  void* const b = NewBlock(kBytes);
  aclrtStream const first = NewStream();
  aclrtStream const second = NewStream();
  aclrtEvent const fork = NewEvent();
  aclrtEvent const join = NewEvent();
  if (failed_) return;
  const auto value = static_cast<uint8_t>(Random(256));
  aclmdlRI model = nullptr;
  if (!DO(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL))) return Settle(first);
  DO(aclrtMemsetAsync(a, kBytes, value, kBytes, first));
  if (DO(aclrtRecordEvent(fork, first)) && DO(aclrtStreamWaitEvent(second, fork))) {
    DO(aclrtMemcpyAsync(b, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, second));
    DO(aclrtRecordEvent(join, second)) && DO(aclrtStreamWaitEvent(first, join));
  }
  DO(aclrtMemsetAsync(a, kBytes, value + 1, kBytes / 2, first));
  if (DO(aclmdlRICaptureEnd(first, &model))) {
    for (int i = 0; i < 3; ++i) DO(aclmdlRIExecuteAsync(model, i == 1 ? second : first));
    Settle(first);
    Settle(second);
  }
  std::vector<uint8_t> seen(kBytes);
  DO(aclrtMemcpy(seen.data(), kBytes, b, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  Expect(seen == std::vector<uint8_t>(kBytes, value), "the replay has written its value");
  if (model != nullptr) DO(aclmdlRIDestroy(model));
}

void Scene::Callbacks() {
  Begin("callbacks");
  aclrtStream const stream = NewStream();
  if (failed_) return;
  std::atomic<int> calls{0};
  int wanted = 0;
  for (uint64_t i = 1 + Random(20); i > 0; --i) {
    wanted += DO(aclrtLaunchHostFunc(
        stream, [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &calls));
  }
  Settle(stream);
  Expect(calls == wanted, "every callback was called");
}

void Scene::Notifies() {
  Begin("notifies");
  aclrtStream const waits = NewStream();
  aclrtStream const records = NewStream();
  aclrtNotify const notify = NewNotify();
  if (failed_) return;
  const bool waiting = DO(aclrtWaitAndResetNotify(notify, waits, 0));
  // It is recorded whatever fails: what waits must go on.
  while (waiting && !DO(aclrtRecordNotify(notify, records))) {
  }
  Settle(records);
  Settle(waits);
}

void Scene::Operators() {
  Begin("operators");
  const auto n = static_cast<int64_t>(1 + Random(5000));
  float* data[3] = {};
  aclTensor* tensors[3] = {};
  for (int i = 0; i < 3; ++i) {
    data[i] = static_cast<float*>(NewBlock(static_cast<size_t>(n) * sizeof(float)));
    tensors[i] = NewTensor({n}, {1}, ACL_FLOAT, data[i]);
  }
  float two = 2;
  aclScalar* alpha = Made([&] { return aclCreateScalar(&two, ACL_FLOAT); });
  aclrtStream const stream = NewStream();
  if (alpha == nullptr) return Lost();
  if (failed_) {
    DO(aclDestroyScalar(alpha));
    return;
  }
  for (int i : {0, 1}) Write(data[i], std::vector<float>(static_cast<size_t>(n), i == 0 ? 1.0f : 3.0f));
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (DO(aclnnAddGetWorkspaceSize(tensors[0], tensors[1], alpha, tensors[2], &bytes, &executor)))
    DO(aclnnAdd(nullptr, 0, executor, stream));
  Settle(stream);
  Expect(std::count(data[2], data[2] + n, 7.0f) == n, "1 + 2 x 3 is 7");
  if (!failed_ && DO(aclnnSoftmaxGetWorkspaceSize(tensors[2], 0, tensors[2], &bytes, &executor))) {
    void* workspace = bytes > 0 ? NewBlock(bytes) : nullptr;
    if (!failed_) DO(aclnnSoftmax(workspace, bytes, executor, stream));
    Settle(stream);
    Expect(failed_ || std::abs(data[2][n / 2] * static_cast<float>(n) - 1) < 1e-4f, "equals share evenly");
  }
  DO(aclDestroyScalar(alpha));
}

void Scene::Sorts() {
  Begin("sorts");
  const auto rows = static_cast<int64_t>(1 + Random(64)), columns = static_cast<int64_t>(2 + Random(500));
  const auto count = static_cast<size_t>(rows * columns), step = static_cast<size_t>(rows);
  aclTensor* tensors[3] = {};
  void* data[3] = {};
  for (int i = 0; i < 3; ++i) {
    data[i] = NewBlock(count * sizeof(int64_t));
    tensors[i] = NewTensor({rows, columns}, {1, rows}, i == 2 ? ACL_INT64 : ACL_FLOAT, data[i]);
  }
  aclrtStream const stream = NewStream();
  if (failed_) return;
  std::vector<float> from(count);
  for (float& value : from) value = static_cast<float>(Random(1000));
  Write(static_cast<float*>(data[0]), from);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (!DO(aclnnSortGetWorkspaceSize(tensors[0], true, 1, false, tensors[1], tensors[2], &bytes, &executor)))
    return;
  void* workspace = bytes > 0 ? NewBlock(bytes) : nullptr;
  if (failed_) return;
  DO(aclnnSort(workspace, bytes, executor, stream));
  Settle(stream);
  const auto* to = static_cast<const float*>(data[1]);
  for (size_t i = 0; i + step < count && !failed_; ++i) Expect(to[i] <= to[i + step], "each row is in order");
}

void Scene::SingleOperators() {
  Begin("single operators");
  const int64_t n = static_cast<int64_t>(1 + Random(8));  // a new shape is compiled, a known one is not
  std::vector<aclDataBuffer*> buffers;
  float* y = nullptr;
  for (int i = 0; i < 3; ++i) {
    y = static_cast<float*>(NewBlock(64));
    if (y != nullptr) Write(y, std::vector<float>(16, 1.5f));
    buffers.push_back(NewBuffer(y, static_cast<size_t>(n) * sizeof(float)));
  }
  aclrtStream const stream = NewStream();
  aclTensorDesc* const desc = Made([&] { return aclCreateTensorDesc(ACL_FLOAT, 1, &n, ACL_FORMAT_ND); });
  if (desc == nullptr) return Lost();
  if (!failed_) {
    const aclTensorDesc* descs[2] = {desc, desc};
    DO(aclopCompileAndExecute("Add", 2, descs, buffers.data(), 1, descs, &buffers[2], nullptr, ACL_ENGINE_SYS,
                              ACL_COMPILE_SYS, nullptr, stream));
    Settle(stream);
    Expect(y[n - 1] == 3.0f, "1.5 + 1.5 is 3");
  }
  aclDestroyTensorDesc(desc);
}

void Scene::Models() {
  Begin("models");
  uint32_t model = 0;
  if (!DO(aclmdlLoadFromMem(stage_.model.data(), stage_.model.size(), &model))) return;
  float* data[2] = {};
  aclmdlDataset* sets[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i] = static_cast<float*>(NewBlock(kFloats * sizeof(float)));
    sets[i] = Made([] { return aclmdlCreateDataset(); });
    if (sets[i] == nullptr) Lost();
    aclDataBuffer* const buffer = NewBuffer(data[i], kFloats * sizeof(float));
    if (!failed_) DO(aclmdlAddDatasetBuffer(sets[i], buffer));
  }
  aclrtStream const stream = NewStream();
  if (!failed_) {
    Write(data[0], std::vector<float>(kFloats, 2.0f));
    DO(aclmdlExecute(model, sets[0], sets[1]));
    Expect(data[1][kFloats - 1] == 3.0f, "2 + 1 is 3");
    DO(aclmdlExecuteAsync(model, sets[0], sets[1], stream));
    Settle(stream);
  }
  DO(aclmdlUnload(model));
  for (aclmdlDataset* set : sets) {
    if (set != nullptr) aclmdlDestroyDataset(set);
  }
}

void Scene::Sessions() {
  Begin("sessions");
  const std::vector<float> values(kFloats, -3.0f);
  const ge::TensorDesc desc(ge::Shape({static_cast<int64_t>(kFloats)}), ge::FORMAT_ND, ge::DT_FLOAT);
  const std::vector<ge::Tensor> in = {
      ge::Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), kFloats * 4)};
  std::vector<ge::Tensor> out;
  DO(GeStatus([&] {
    ge::Session session(std::map<ge::AscendString, ge::AscendString>{});
    ge::Status status = session.AddGraph(7, stage_.graphs[0]);
    if (status == ge::SUCCESS) status = session.RunGraph(7, in, out);
    return status == ge::SUCCESS ? 0 : ACL_ERROR_BAD_ALLOC;
  }));
  Expect(failed_ || (out.size() == 1 && reinterpret_cast<const float*>(out[0].GetData())[5] == 0.0f),
         "relu(1 - 3) is 0");
}

void Scene::Blocks() {
  Begin("blocks");
  for (uint64_t i = Random(40); i > 0; --i) {
    const size_t bytes = 1 + Random(uint64_t{1} << (6 + Random(18)));
    auto* block = static_cast<uint8_t*>(NewBlock(bytes));
    if (block == nullptr) continue;
    block[bytes - 1] = 1;
    std::vector<void*>& kept = own_.blocks;
    std::swap(kept[Random(kept.size())], kept.back());
    if (Random(2) == 0 && DO(aclrtFree(kept.back()))) kept.pop_back();
  }
  void* host = nullptr;
  if (DO(aclrtMallocHost(&host, 1 + Random(1 << 20)))) DO(aclrtFreeHost(host));
}

// Blocks move while tasks of other threads write beside them, and these keep what is in them.
void Scene::Exports() {
  Begin("exports");
  struct Block {
    uint8_t* at;
    size_t bytes;
    int value;
  };
  std::vector<Block> blocks;
  aclrtStream const stream = NewStream();
  for (uint64_t i = 1 + Random(6); i > 0 && !failed_; --i) {
    const size_t bytes = 1 + Random(uint64_t{1} << (6 + Random(14)));
    const auto value = static_cast<int>(Random(256));
    blocks.push_back({static_cast<uint8_t*>(NewBlock(bytes)), bytes, value});
    if (!failed_) DO(aclrtMemsetAsync(blocks.back().at, bytes, value, bytes, stream));
    char key[65] = {};
    if (failed_ || Random(2) == 0) continue;
    DO(aclrtIpcMemGetExportKey(blocks.back().at, bytes, key, sizeof key, 1));
    if (!failed_ && Random(2) == 0) DO(aclrtIpcMemClose(key));
  }
  if (stream != nullptr) Settle(stream);
  for (const Block& block : blocks) {
    Expect(failed_ ||
               std::count(block.at, block.at + block.bytes, block.value) == static_cast<long>(block.bytes),
           "what a task wrote is in an exported block");
    if (!failed_ && DO(aclrtFree(block.at))) std::erase(own_.blocks, block.at);
  }
}

// Calls that are wrong give a documented code in any weather, and success in none.
void Scene::Nonsense() {
  Begin("nonsense");
  void* nowhere = reinterpret_cast<void*>(Random(2) == 0 ? 0x11fffff100000000u : Random(UINT64_MAX));
  auto wrong = [&](const char* call, int code) {
    if (code == ACL_SUCCESS || !IsDocumented(code))
      Die(std::string(call) + " of nonsense gave " + std::to_string(code));
  };
  Inside inside;
  wrong("aclrtDestroyStream", aclrtDestroyStream(nowhere));
  wrong("aclrtDestroyEvent", aclrtDestroyEvent(nowhere));
  wrong("aclrtSynchronizeStream", aclrtSynchronizeStream(nowhere));
  wrong("aclrtFree", aclrtFree(nowhere));
  wrong("aclmdlUnload", aclmdlUnload(static_cast<uint32_t>(Random(1u << 31)) | 1u << 31));
  wrong("aclmdlRIExecuteAsync", aclmdlRIExecuteAsync(nowhere, nullptr));
  wrong("aclrtStreamWaitEvent", aclrtStreamWaitEvent(nullptr, nowhere));
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  wrong("aclnnSoftmax", aclnnSoftmaxGetWorkspaceSize(nullptr, 0, nullptr, &bytes, &executor));
  wrong("aclmdlLoadFromMem", [&] {
    uint32_t model;
    return aclmdlLoadFromMem(stage_.program.data(), stage_.program.size(), &model);
  }());
}

// A child that starts afresh, in a weather of its own.
void Scene::Forks() {
  Begin("forks");
  Weather weather;
  if (!stage_.fair.load()) weather = RandomWeather(Random(UINT64_MAX));
  weather.signal_us = 0;  // they are the alarm's
  const pid_t child = fork();
  if (child == 0) {
    SetWeather(weather);
    signal(SIGALRM, SIG_DFL);
    alarm(60);
    int code = 0;
    {
      Inside inside;
      code = aclInit(nullptr);
      if (code == 0) code = aclrtSetDevice(0);
    }
    if (code == 0) Copies();
    if (code != 0 && (stage_.fair.load() || !IsDocumented(code))) _exit(3);
    Inside inside;
    aclFinalize();
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) Die("a forked child ended with status " + std::to_string(status));
}

// Another process uses this one's memory and notify, and is killed at any moment.
void Scene::Peers() {
  Begin("peers");
  char block_key[65] = {}, notify_key[65] = {};
  void* const block = NewBlock(4096);
  aclrtNotify const notify = NewNotify();
  aclrtStream const stream = NewStream();
  if (failed_) return;
  DO(aclrtIpcMemGetExportKey(block, 4096, block_key, sizeof block_key, 1));
  DO(aclrtNotifyGetExportKey(notify, notify_key, sizeof notify_key, 1));
  if (failed_) return;
  Peer peer(stage_.program, block_key, notify_key);
  DO(aclrtWaitAndResetNotify(notify, stream, 1));
  usleep(static_cast<useconds_t>(Random(60'000)));
  peer.Kill();
  // The wait has been met, or has come to its limit: which of the two is the peer's affair.
  Inside inside;
  aclrtSynchronizeStreamWithTimeout(stream, kPatience);
}

}  // namespace chaos
