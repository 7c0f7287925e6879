// Loaded models whose inputs come too late, whose results are read too early, and whose buffers are not
// theirs.
#include "acl/acl_mdl.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr size_t kModelBytes = 24;  // six floats in, six out

// The model with these buffers.
struct Loaded {
  uint32_t id = 0;
  aclmdlDataset* input = aclmdlCreateDataset();
  aclmdlDataset* output = aclmdlCreateDataset();
  Loaded(void* from, void* to) {
    OK(aclmdlLoadFromFile(model_file.c_str(), &id));
    OK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(from, kModelBytes)));
    OK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(to, kModelBytes)));
  }
  ~Loaded() {
    OK(aclrtSynchronizeDevice());
    OK(aclmdlUnload(id));
    for (aclmdlDataset* dataset : {input, output}) {
      OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, 0)));
      OK(aclmdlDestroyDataset(dataset));
    }
  }
  int Execute(aclrtStream stream) const { return aclmdlExecuteAsync(id, input, output, stream); }
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
