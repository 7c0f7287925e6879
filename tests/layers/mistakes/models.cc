// Loaded models whose inputs come too late, whose results are read too early, and whose buffers are not
// theirs.
#include <mutex>
#include <thread>

#include "acl/acl_mdl.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr size_t kModelBytes = 24;  // six floats in, six out

// What a model reads and writes.
struct Buffers {
  aclmdlDataset* input = aclmdlCreateDataset();
  aclmdlDataset* output = aclmdlCreateDataset();
  Buffers(void* from, void* to) {
    OK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(from, kModelBytes)));
    OK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(to, kModelBytes)));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (aclmdlDataset* dataset : {input, output}) {
      OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, 0)));
      OK(aclmdlDestroyDataset(dataset));
    }
  }
};

// The model with these buffers, and with memory of the program's own if it gives some.
struct Loaded : Buffers {
  uint32_t id = 0;
  Loaded(void* from, void* to, void* work = nullptr, void* weights = nullptr) : Buffers(from, to) {
    OK(aclmdlLoadFromFileWithMem(model_file.c_str(), &id, work, work == nullptr ? 0 : kBytes, weights,
                                 weights == nullptr ? 0 : kBytes));
  }
  ~Loaded() {
    OK(aclrtSynchronizeDevice());
    Unload();
  }
  void Unload() {
    if (id != 0) OK(aclmdlUnload(id));
    id = 0;
  }
  int Execute(aclrtStream stream) const { return Execute(*this, stream); }
  int Execute(const Buffers& on, aclrtStream stream) const {
    return aclmdlExecuteAsync(id, on.input, on.output, stream);
  }
};

}  // namespace

MISTAKE(AModelRunsAheadOfItsInput, "race") {
  Loaded model(x, y);
  Fill(x, a);  // [1]
  if (mended) Link(a, b);
  OK(model.Execute(b));  // [2]
}

MISTAKE(TheResultOfAModelIsReadTooEarly, "race") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [1]
  if (mended) Wait(a);
  Read(y, kModelBytes);  // [2]
}

MISTAKE(TheInputOfAModelIsReplacedTooEarly, "race") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [1]
  if (mended) Link(a, b);
  Copy(x, pinned, b);  // [2]
}

// One model behind the other.
MISTAKE(TwoModelsShareABuffer, "race") {
  Loaded first(x, y), second(y, z);
  OK(first.Execute(a));  // [1]
  if (mended) Link(a, b);
  OK(second.Execute(b));  // [2]
}

// A call that waits waits for its own work.
MISTAKE(AModelThatWaitsReadsWhatIsBeingWritten, "race") {
  Loaded model(x, y);
  Fill(x, a);  // [1]
  if (mended) Wait(a);
  OK(aclmdlExecute(model.id, model.input, model.output));  // [2]
}

MISTAKE(TheInputOfAModelIsFreed, "use-after-free") {
  void* block = NewBlock();  // [3]
  Loaded model(block, y);
  if (!mended) Free(block);  // [2]
  TWIN(model.Execute(a));    // [1]
  Wait(a);
  if (mended) Free(block);
}

MISTAKE(TheInputOfAModelIsFreedWhileItRuns, "free-while-used") {
  void* block = NewBlock();
  Loaded model(block, y);
  OK(model.Execute(a));  // [2]
  if (mended) Wait(a);
  Free(block);  // [1]
}

MISTAKE(AModelIsGivenHostMemory, "host-memory-on-device") {
  Loaded model(mended ? x : host, y);
  TWIN(model.Execute(a));  // [1]
}

MISTAKE(AModelIsUnloadedWhileItRuns, "destroy-while-used") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [2]
  if (mended) Wait(a);
  model.Unload();  // [1]
}

// Of another stream than the one that it runs on.
MISTAKE(AModelIsUnloadedBehindTheWrongWait, "destroy-while-used") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [2]
  Wait(mended ? a : b);
  model.Unload();  // [1]
}

MISTAKE(AModelIsUnloadedByAnotherThread, "destroy-while-used") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [2]
  InThread([&] {
    if (mended) Wait(a);
    model.Unload();  // [1]
  });
}

// With buffers of their own, and yet both work in what the model has.
MISTAKE(ALoadedModelOnTwoStreams, "race") {
  Loaded model(x, y);
  Buffers others(z, static_cast<char*>(z) + 512);
  OK(model.Execute(a));  // [1]
  if (mended) Link(a, b);
  OK(model.Execute(others, b));  // [2]
}

MISTAKE(ALoadedModelByTwoCalls, "race") {
  Loaded model(x, y);
  Buffers others(z, static_cast<char*>(z) + 512);
  OK(model.Execute(a));  // [1]
  if (mended) Wait(a);
  OK(aclmdlExecute(model.id, others.input, others.output));  // [2]
}

// Weights may be shared, as they are only read.
MISTAKE(TwoModelsShareWorkMemory, "race") {
  void *work = NewBlock(), *weights = NewBlock();
  {
    Loaded first(x, y, work, weights), second(z, static_cast<char*>(z) + 512, work, weights);
    OK(first.Execute(a));                // [1]
    OK(second.Execute(mended ? a : b));  // [2]
  }
  Free(work), Free(weights);
}

MISTAKE(TheWorkMemoryOfAModelIsFilled, "race") {
  void* work = NewBlock();
  {
    Loaded model(x, y, work);
    OK(model.Execute(a));  // [1]
    if (mended) Link(a, b);
    Fill(work, b);  // [2]
  }
  Free(work);
}

MISTAKE(TheWorkMemoryOfAModelIsFreedWhileItRuns, "free-while-used") {
  void* work = NewBlock();
  Loaded model(x, y, work);
  OK(model.Execute(a));  // [2]
  if (mended) Wait(a);
  Free(work);  // [1]
}

MISTAKE(TheWeightsOfAModelAreFreedWhileItRuns, "free-while-used") {
  void* weights = NewBlock();
  Loaded model(x, y, nullptr, weights);
  OK(model.Execute(a));  // [2]
  if (mended) Wait(a);
  Free(weights);  // [1]
}

MISTAKE(TheWorkMemoryOfAModelIsGone, "use-after-free") {
  void* work = NewBlock();  // [3]
  Loaded model(x, y, work);
  if (!mended) Free(work);  // [2]
  TWIN(model.Execute(a));   // [1]
  Wait(a);
  if (mended) Free(work);
}

MISTAKE(TheWeightsOfAModelAreGone, "use-after-free") {
  void* weights = NewBlock();  // [3]
  Loaded model(x, y, nullptr, weights);
  if (!mended) Free(weights);  // [2]
  TWIN(model.Execute(a));      // [1]
  Wait(a);
  if (mended) Free(weights);
}

MISTAKE(DatasetsAreLeftBehind, "never-destroyed") {
  for (int i = 0; i < 3; ++i) {
    aclmdlDataset* dataset = aclmdlCreateDataset();  // [1]
    if (mended) OK(aclmdlDestroyDataset(dataset));
  }
}

MISTAKE(ADataBufferIsLeftBehind, "never-destroyed") {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  aclDataBuffer* buffer = aclCreateDataBuffer(x, kBytes);  // [1]
  OK(aclmdlAddDatasetBuffer(dataset, buffer));
  OK(aclmdlDestroyDataset(dataset));  // not what is in it
  if (mended) OK(aclDestroyDataBuffer(buffer));
}

MISTAKE(AModelIsLeftBehind, "never-destroyed") {
  uint32_t id = 0;
  OK(aclmdlLoadFromFile(model_file.c_str(), &id));  // [1]
  if (mended) OK(aclmdlUnload(id));
}

MISTAKE(SettingsOfAnExecutionAreLeftBehind, "never-destroyed") {
  aclmdlExecConfigHandle* settings = aclmdlCreateExecConfigHandle();  // [1]
  if (mended) OK(aclmdlDestroyExecConfigHandle(settings));
}

MISTAKE(DescriptionsAreLeftBehind, "never-destroyed") {
  const int64_t sizes[] = {2, 3};
  aclTensorDesc* tensor = aclCreateTensorDesc(ACL_FLOAT, 2, sizes, ACL_FORMAT_ND);  // [1]
  aclmdlDesc* model = aclmdlCreateDesc();
  OK(aclmdlDestroyDesc(model));
  if (mended) aclDestroyTensorDesc(tensor);
}

// --- models among operators, graphs and each other

MISTAKE(AnOperatorReadsAModelsResultTooEarly, "race") {
  Loaded model(x, y);
  OK(model.Execute(a));  // [1]
  if (mended) Link(a, b);
  Sum(Vector(y), Vector(z), Vector(z), b);  // [2]
}

MISTAKE(AnOperatorFeedsAModelTooLate, "race") {
  Loaded model(x, y);
  Sum(Vector(z), Vector(z), Vector(x), a);  // [1]
  if (mended) Link(a, b);
  OK(model.Execute(b));  // [2]
}

MISTAKE(AReplayFeedsAModelTooLate, "race") {
  Begin(a);
  Copy(x, z, a);
  aclmdlRI graph = Finish(a);
  {
    Loaded model(x, y);
    Launch(graph, a);  // [1]
    if (mended) Link(a, b);
    OK(model.Execute(b));  // [2]
  }
  End(graph, a);
}

// The record is made before what it should tell of.
MISTAKE(AModelIsRecordedTooEarly, "race") {
  Loaded model(x, y);
  aclrtEvent done = NewEvent();
  if (!mended) Record(done, a);
  OK(model.Execute(a));  // [1]
  if (mended) Record(done, a);
  Await(b, done);
  Copy(z, y, b);  // [2]
}

MISTAKE(WeightsAreFilledUnderTwoModels, "race") {
  void* weights = NewBlock();
  {
    Loaded first(x, y, nullptr, weights), second(z, static_cast<char*>(z) + 512, nullptr, weights);
    OK(first.Execute(a));
    OK(second.Execute(b));  // [1]
    Link(a, c);
    if (mended) Link(b, c);
    Fill(weights, c);  // [2]
  }
  Free(weights);
}

MISTAKE(TheResultOfAModelIsTheWorkMemoryOfAnother, "race") {
  Loaded first(x, y), second(z, static_cast<char*>(z) + 512, y);
  OK(first.Execute(a));  // [1]
  if (mended) Link(a, b);
  OK(second.Execute(b));  // [2]
}

// Two slots, and three steps.
MISTAKE(ASlotOfInputsComesRoundTooEarly, "race") {
  void* others = static_cast<char*>(x) + 1024;
  Loaded model(x, y), next(others, z);
  Copy(x, pinned, b, kModelBytes);
  Link(b, a);
  OK(model.Execute(a));  // [1]
  Copy(others, pinned, b, kModelBytes);
  Link(b, a);
  OK(next.Execute(a));
  if (mended) Link(a, b);
  Copy(x, pinned, b, kModelBytes);  // [2]
}

// One of two streams is waited for.
MISTAKE(AModelIsUnloadedBehindOneOfItsStreams, "destroy-while-used") {
  Loaded model(x, y);
  OK(model.Execute(a));
  Link(a, b);
  OK(model.Execute(b));  // [2]
  Wait(mended ? b : a);
  model.Unload();  // [1]
}

MISTAKE(AModelIsUnloadedAfterAnEventBeforeIt, "destroy-while-used") {
  Loaded model(x, y);
  aclrtEvent event = NewEvent();
  if (!mended) Record(event, a);
  OK(model.Execute(a));  // [2]
  if (mended) Record(event, a);
  OK(aclrtSynchronizeEvent(event));
  model.Unload();  // [1]
}

// Each with buffers of its own. The lock holds other threads off until the model is done.
MISTAKE(TwoThreadsExecuteOneModel, "race") {
  Loaded model(x, y);
  std::mutex lock;
  const auto infer = [&](void* from, void* to) {
    OK(aclrtSetDevice(0));
    const Buffers mine(from, to);
    std::unique_lock guard(lock, std::defer_lock);
    if (mended) guard.lock();
    OK(aclmdlExecute(model.id, mine.input, mine.output));  // [1]
  };
  std::thread other([&] { infer(z, static_cast<char*>(z) + 512); });
  infer(x, y);
  other.join();
}

MISTAKE(ABufferIsExchangedForOneThatIsNotThereYet, "race") {
  Loaded model(x, y);
  Copy(z, y, b, kModelBytes);  // [1]
  if (mended) Link(b, a);
  OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(model.input, 0), z, kModelBytes));
  OK(model.Execute(a));  // [2]
}
