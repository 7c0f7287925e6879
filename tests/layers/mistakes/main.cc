// mistakes list: names, kinds and places. mistakes run NAME...: these, or all, each twin in a process of its
// own, and a line for each with the number of the process and its exit code. mistakes compile FOLDER: the
// files of the models that some take. mistakes once NAME wrong|mended MODEL: this twin in this process, and
// what it has left is copied to the host and printed.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_sort.h"
#include "mistakes.h"
#include "support/onnx_builder.h"

namespace mistakes {

bool mended;
aclrtStream a, b, c;
void *x, *y, *z, *pinned;
char host[kBytes];
std::string model_file, sized_model_file, image_model_file;

std::vector<Mistake>& All() {
  static std::vector<Mistake> all;
  return all;
}

void Succeed(int code, const char* call, const char* file, int line) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s:%d: %s gave %d: %s\n", file, line, call, code, text == nullptr ? "" : text);
  _exit(3);
}

void Differ(int code, const char* call, const char* file, int line) {
  if (mended) return Succeed(code, call, file, line);
  if (code != ACL_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: %s succeeds in the wrong twin, too\n", file, line, call);
  _exit(4);
}

// Each fills with another value, so that the last of two can be told.
void Fill(void* block, aclrtStream stream, size_t bytes) {
  static int fills = 0;
  OK(aclrtMemsetAsync(block, bytes, ++fills, bytes, stream));
}
void Copy(void* to, const void* from, aclrtStream stream, size_t bytes) {
  OK(aclrtMemcpyAsync(to, bytes, from, bytes, ACL_MEMCPY_DEFAULT, stream));
}
void Read(const void* from, size_t bytes) {
  OK(aclrtMemcpy(host, kBytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}
void Link(aclrtStream from, aclrtStream to) {
  aclrtEvent event = NewEvent();
  Record(event, from);
  Await(to, event);
}
void Wait(aclrtStream stream) { OK(aclrtSynchronizeStream(stream)); }
void HoldUp(aclrtStream stream, std::atomic<bool>* open) {
  const auto wait = [](void* open) {
    while (!*static_cast<std::atomic<bool>*>(open)) std::this_thread::yield();
  };
  OK(aclrtLaunchHostFunc(stream, wait, open));
}
aclrtEvent NewEvent() {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  return event;
}
void Record(aclrtEvent event, aclrtStream stream) { OK(aclrtRecordEvent(event, stream)); }
void Await(aclrtStream stream, aclrtEvent event) { OK(aclrtStreamWaitEvent(stream, event)); }
void* NewBlock(size_t bytes) {
  void* block = nullptr;
  OK(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(block, bytes, 0, bytes));
  return block;
}
void* NewPinned() {
  void* block = nullptr;
  OK(aclrtMallocHost(&block, kBytes));
  return block;
}
void Free(void* block) { OK(aclrtFree(block)); }
aclrtStream NewStream() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  return stream;
}
void End(aclrtStream stream) { OK(aclrtDestroyStream(stream)); }
void InThread(const std::function<void()>& body) {
  std::thread([&] {
    OK(aclrtSetDevice(0));
    body();
  }).join();
}
void Begin(aclrtStream stream) { OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL)); }
aclmdlRI Finish(aclrtStream stream) {
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureEnd(stream, &model));
  return model;
}
void Launch(aclmdlRI model, aclrtStream stream) { OK(aclmdlRIExecuteAsync(model, stream)); }
void End(aclmdlRI model, aclrtStream stream) {
  Wait(stream);
  OK(aclmdlRIDestroy(model));
}
void Replay(aclmdlRI model, aclrtStream stream) {
  Launch(model, stream);
  End(model, stream);
}

aclTensor* Tensor(const View& view) {
  const int64_t storage = kBytes / 4;
  return aclCreateTensor(view.shape.data(), view.shape.size(), ACL_FLOAT, view.strides.data(), view.offset,
                         ACL_FORMAT_ND, &storage, 1, view.block);
}
int Add(const View& left, const View& right, const View& out, aclrtStream stream) {
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  aclTensor* tensors[] = {Tensor(left), Tensor(right), Tensor(out)};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnAddGetWorkspaceSize(tensors[0], tensors[1], alpha, tensors[2], &bytes, &executor));
  const int code = aclnnAdd(nullptr, 0, executor, stream);
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
  return code;
}
void Sum(const View& left, const View& right, const View& out, aclrtStream stream) {
  OK(Add(left, right, out, stream));
}
aclOpExecutor* PrepareSort(uint64_t* workspace) {
  const int64_t size = 256, one = 1;
  aclTensor* from = Tensor(Vector(x, size));
  aclTensor* to = Tensor(Vector(y, size));
  aclTensor* places = aclCreateTensor(&size, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &size, 1,
                                      static_cast<char*>(y) + kBytes / 2);
  aclOpExecutor* executor = nullptr;
  OK(aclnnSortGetWorkspaceSize(from, true, 0, false, to, places, workspace, &executor));
  for (aclTensor* tensor : {from, to, places}) aclDestroyTensor(tensor);
  return executor;
}

namespace {

void Compile(const std::string& name, const std::vector<int64_t>& dims, const std::string& options) {
  std::ofstream(name + ".onnx", std::ios::binary) << onnx_builder::SixTimes(dims);
  const std::string command = std::string(BELAY_ATC) + " --framework=5 --model=" + name +
                              ".onnx --output=" + name + options + " >" + name + ".txt";
  if (std::system(command.c_str()) != 0) std::exit(2);
}

void FindModels(const std::string& model) {
  model_file = model;
  sized_model_file = std::filesystem::path(model).replace_filename("sized.om");
  image_model_file = std::filesystem::path(model).replace_filename("images.om");
}

// Compiles the models, once for all.
std::string CompileModels(const std::string& folder) {
  Compile(folder + "/model", {2, 3}, "");
  Compile(folder + "/sized", {-1, 3}, " --input_shape=x:-1,3 --dynamic_batch_size=1,2,4");
  const std::string images = folder + "/images";
  std::ofstream(images + ".cfg") << "aipp_op { aipp_mode: dynamic max_src_image_size: 64 }";
  Compile(images, {1, 3, 2, 2}, " --insert_op_conf=" + images + ".cfg");
  return folder + "/model.om";
}

// Floats, of whose bytes no other block has the same at the same place.
void FillHost(uint32_t number) {
  auto* words = static_cast<uint32_t*>(pinned);
  for (uint32_t i = 0; i < kBytes / 4; ++i) words[i] = 0x4000'0000 + number * 0x0101'0203 + i * 0x0101;
}

void Prepare() {
  a = NewStream(), b = NewStream(), c = NewStream();
  pinned = NewPinned();
  uint32_t number = 0;
  for (void** block : {&x, &y, &z}) {
    *block = NewBlock();
    FillHost(++number);
    OK(aclrtMemcpy(*block, kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  FillHost(++number);
}

// What is in the host's memory, and on the device.
void PrintWhatIsLeft() {
  const auto print = [](const void* block) {
    std::printf("%016zx\n", std::hash<std::string_view>{}({static_cast<const char*>(block), kBytes}));
  };
  print(host);
  print(pinned);
  for (void* block : {x, y, z}) {
    Read(block);
    print(host);
  }
}

void RunOne(const Mistake& mistake, bool print = false) {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  Prepare();
  mistake.run();
  OK(aclrtSynchronizeDevice());
  if (print) PrintWhatIsLeft();
  for (void* block : {x, y, z}) Free(block);
  OK(aclrtFreeHost(pinned));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

volatile sig_atomic_t running = 0;

// A twin that hangs although nobody sees it is ended from outside: a timer of its own could be what it waits
// for.
void EndAfter(unsigned seconds) {
  std::signal(SIGALRM, [](int) { kill(running, SIGKILL); });
  alarm(seconds);
}

void RunTwin(const Mistake& mistake) {
  const pid_t child = fork();
  if (child == 0) {
    RunOne(mistake);
    _exit(0);
  }
  running = child;
  EndAfter(20);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) std::exit(2);
  }
  alarm(0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::printf("%d\t%s\t%s\t%d\n", child, mistake.name, mended ? "mended" : "wrong", code);
  std::fflush(stdout);
}

int RunOnce(const std::string& name, const std::string& twin, const char* model) {
  mended = twin == "mended";
  FindModels(model);
  for (const Mistake& mistake : All()) {
    if (mistake.name == name) return RunOne(mistake, true), 0;
  }
  return 2;
}

bool Wanted(const char* name, int count, char** names) {
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(names[i], name) == 0) return true;
  }
  return count == 0;
}

}  // namespace
}  // namespace mistakes

int main(int count, char** arguments) {
  using namespace mistakes;
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "compile") return std::puts(CompileModels(words[1]).c_str()) < 0;
  if (words.size() == 1 && words[0] == "export") return Export();
  if (words.size() == 4 && words[0] == "once") return RunOnce(words[1], words[2], arguments[4]);
  const bool list = count > 1 && std::strcmp(arguments[1], "list") == 0;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("mistakes-" + std::to_string(getpid()));
  if (!list) {
    std::filesystem::create_directory(folder);
    FindModels(CompileModels(folder));
  }
  for (const Mistake& mistake : All()) {
    if (list) std::printf("%s\t%s\t%s\t%d\n", mistake.name, mistake.kind, mistake.file, mistake.line);
    if (list || !Wanted(mistake.name, count - 2, arguments + 2)) continue;
    for (bool twin : {false, true}) {
      mended = twin;
      RunTwin(mistake);
    }
  }
  std::filesystem::remove_all(folder);
}
