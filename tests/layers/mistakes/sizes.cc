// Models with an input that says what the others are, which sizes or which images: a call fills it at once.
#include <string>

#include "acl/acl_mdl.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr size_t kRow = 12;  // three floats

// `words` is the input that a call fills.
class Told {
 public:
  Told(const std::string& file, const char* name, size_t in_bytes, size_t out_bytes) {
    OK(aclmdlLoadFromFile(file.c_str(), &id));
    aclmdlDesc* model = aclmdlCreateDesc();
    OK(aclmdlGetDesc(model, id));
    OK(aclmdlGetInputIndexByName(model, name, &at));
    const size_t bytes = aclmdlGetInputSizeByIndex(model, at);
    OK(aclmdlDestroyDesc(model));
    words = NewBlock(bytes);
    Add(input, x, in_bytes);
    Add(input, words, bytes);
    Add(output_, y, out_bytes);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  ~Told() {
    OK(aclrtSynchronizeDevice());
    OK(aclmdlUnload(id));
    for (aclmdlDataset* dataset : {input, output_}) {
      for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i)
        OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, i)));
      OK(aclmdlDestroyDataset(dataset));
    }
    if (words != nullptr) Free(words);
  }
  int Execute(aclrtStream stream) const { return aclmdlExecuteAsync(id, input, output_, stream); }

  void* words = nullptr;
  uint32_t id = 0;
  size_t at = 0;
  aclmdlDataset* input = aclmdlCreateDataset();

 private:
  static void Add(aclmdlDataset* dataset, void* block, size_t bytes) {
    OK(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(block, bytes)));
  }
  aclmdlDataset* output_ = aclmdlCreateDataset();
};

struct Sized : Told {
  Sized() : Told(sized_model_file, ACL_DYNAMIC_TENSOR_NAME, 4 * kRow, 4 * kRow) {}
  int Choose(uint64_t rows) const { return aclmdlSetDynamicBatchSize(id, input, at, rows); }
};

// An image of 4 x 2 pixels, of which the model takes a corner of 2 x 2.
struct Shown : Told {
  Shown() : Told(image_model_file, ACL_DYNAMIC_AIPP_NAME, 64, 48) {}
  void Describe(int left) const {
    aclmdlAIPP* words = aclmdlCreateAIPP(1);
    OK(aclmdlSetAIPPInputFormat(words, ACL_RGB888_U8));
    OK(aclmdlSetAIPPSrcImageSize(words, 4, 2));
    OK(aclmdlSetAIPPCropParams(words, 1, left, 0, 2, 2, 0));
    OK(aclmdlSetInputAIPP(id, input, at, words));
    OK(aclmdlDestroyAIPP(words));
  }
};

}  // namespace

MISTAKE(TheNextSizeIsChosenTooEarly, "race") {
  const Sized model;
  OK(model.Choose(4));
  OK(model.Execute(a));  // [1]
  if (mended) Wait(a);
  OK(model.Choose(2));  // [2]
}

MISTAKE(TheChoiceOfASizeIsFreedTooEarly, "free-while-used") {
  Sized model;
  OK(model.Choose(4));
  OK(model.Execute(a));  // [2]
  if (mended) Wait(a);
  Free(model.words);  // [1]
  model.words = nullptr;
}

MISTAKE(TheChoiceOfASizeIsGone, "use-after-free") {
  Sized model;
  void* block = model.words;
  if (!mended) Free(block);  // [2]
  TWIN(model.Choose(2));     // [1]
  if (!mended) model.words = nullptr;
}

// The rest of the input belongs to who wants it.
MISTAKE(ARowOfTheBatchIsReplaced, "race") {
  const Sized model;
  OK(model.Choose(2));
  OK(model.Execute(a));                                                    // [1]
  Copy(static_cast<char*>(x) + (mended ? 2 : 1) * kRow, pinned, b, kRow);  // [2]
}

MISTAKE(TheNextImageIsDescribedTooEarly, "race") {
  const Shown model;
  model.Describe(0);
  OK(model.Execute(a));  // [1]
  if (mended) Wait(a);
  model.Describe(2);  // [2]
}
