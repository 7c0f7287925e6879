// What the system refuses: files beyond `ulimit -f`, full disks. Errors or lost lines, never the end of the
// process, and never a change of its handlers of signals.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "scenario.h"

namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string path = fs::temp_directory_path() / ("belay-guest-limits-" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
    unsetenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "0", 1);
    setenv("ASCEND_PROCESS_LOG_PATH", path.c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  size_t Bytes() const {
    size_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }
};

void LimitFiles(rlim_t bytes) {
  rlimit limit{bytes, RLIM_INFINITY};
  EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

// The program's handlers are its own, and no signal is left to come.
void ExpectNoTrace() {
  for (int signal : {SIGXFSZ, SIGPIPE}) {
    struct sigaction action;
    EXPECT(sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL);
    sigset_t set;
    EXPECT(sigpending(&set) == 0 && sigismember(&set, signal) == 0);
    EXPECT(pthread_sigmask(SIG_SETMASK, nullptr, &set) == 0 && sigismember(&set, signal) == 0);
  }
}

void ManyErrors() {
  for (int i = 0; i < 200; ++i) EXPECT(aclrtSetDevice(99) != 0);
}

}  // namespace

// No thread can be started while in scope: none gets a stack.
class NoThreads {
 public:
  NoThreads() {
    EXPECT(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    EXPECT(pthread_attr_setstacksize(&huge, size_t{1} << 60) == 0);
    EXPECT(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() { EXPECT(pthread_setattr_default_np(&before_) == 0); }

 private:
  pthread_attr_t before_;
};

SCENARIO(the_log_stops_at_the_limit_of_files) {
  Folder folder;
  LimitFiles(4096);
  guest::Start();
  ManyErrors();
  EXPECT(folder.Bytes() == 4096);
  ExpectNoTrace();
  guest::UseDevice();
  OK(aclFinalize());
}

SCENARIO(standard_output_is_full) {
  Folder folder;
  setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
  int full = open("/dev/full", O_WRONLY);
  EXPECT(full >= 0 && dup2(full, STDOUT_FILENO) == STDOUT_FILENO);
  guest::Start();
  ManyErrors();
  ExpectNoTrace();
  guest::UseDevice();
}

SCENARIO(the_disk_of_the_log_is_full) {
  Folder folder;
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", folder.path.c_str(), "tmpfs", 0, "size=8k") != 0) {
    std::fprintf(stderr, "skipped: no file system may be mounted here\n");
    _exit(77);
  }
  guest::Start();
  ManyErrors();
  guest::UseDevice();
  ExpectNoTrace();
  EXPECT(umount(folder.path.c_str()) == 0 || umount2(folder.path.c_str(), MNT_DETACH) == 0);
}

// Memory that processes can share lies in files, which the limit counts.
SCENARIO(memory_files_beyond_the_limit_are_refused) {
  Folder folder;
  guest::Start();
  void* block = nullptr;
  OK(aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  LimitFiles(4096);
  aclrtNotify notify = nullptr;
  EXPECT(aclrtCreateNotify(&notify, 0) != 0);
  char key[65] = {};
  EXPECT(aclrtIpcMemGetExportKey(block, 1 << 20, key, sizeof key, 0) != 0);
  aclrtPhysicalMemProp property{};
  property.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  property.memAttr = ACL_HBM_MEM_HUGE;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT(aclrtMallocPhysical(&handle, size_t{2} << 20, &property, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  ExpectNoTrace();
  LimitFiles(RLIM_INFINITY);
  OK(aclrtCreateNotify(&notify, 0));
  OK(aclrtMallocPhysical(&handle, size_t{2} << 20, &property, 0));
  OK(aclrtFreePhysical(handle));
  OK(aclrtIpcMemGetExportKey(block, 1 << 20, key, sizeof key, 0));
  guest::UseDevice();
}

SCENARIO(a_drawing_beyond_the_limit_is_an_error) {
  Folder folder;
  guest::Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void* block = nullptr;
  OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 100; ++i) OK(aclrtMemsetAsync(block, 4096, i, 4096, stream));
  OK(aclmdlRICaptureEnd(stream, &model));
  std::string file = folder.path + "/graph.json";
  LimitFiles(4096);
  EXPECT(aclmdlRIDebugJsonPrint(model, file.c_str(), 0) == 107010);
  ExpectNoTrace();
  LimitFiles(RLIM_INFINITY);
  OK(aclmdlRIDebugJsonPrint(model, file.c_str(), 0));
}

// Each call that needs a thread of its own says so; nothing is queued that would then be forgotten.
SCENARIO(calls_that_find_no_thread_are_told) {
  Folder folder;
  {
    NoThreads none;
    EXPECT(aclInit(nullptr) == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
  }
  guest::Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  aclrtNotify notify = nullptr;
  OK(aclrtCreateNotify(&notify, 0));
  void* value = nullptr;
  OK(aclrtMalloc(&value, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(value, 64, 0, 64));
  static std::atomic<int> called{0};
  auto call = [](void*) { ++called; };
  {
    NoThreads none;
    EXPECT(aclrtStreamWaitEventWithTimeout(stream, event, 1) == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
    EXPECT(aclrtWaitAndResetNotify(notify, stream, 1) == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
    EXPECT(aclrtValueWait(value, 1, 0, stream) == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
    EXPECT(aclrtLaunchHostFunc(stream, call, nullptr) == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
    OK(aclrtSynchronizeStream(stream));
    // Without a limit a notify of this process needs nobody who watches it.
    aclrtStream other = nullptr;
    OK(aclrtCreateStream(&other));
    OK(aclrtWaitAndResetNotify(notify, stream, 0));
    OK(aclrtRecordNotify(notify, other));
    OK(aclrtSynchronizeStream(stream));
  }
  OK(aclrtLaunchHostFunc(stream, call, nullptr));
  OK(aclrtSynchronizeStream(stream));
  EXPECT(called == 1);
  EXPECT(aclrtStreamWaitEventWithTimeout(stream, event, 1) == 0);
  EXPECT(aclrtSynchronizeStream(stream) != 0);  // the limit is kept
  // More callbacks that block than there are threads: the synchronise of the stream tells it.
  constexpr int kMore = 6;
  aclrtStream streams[kMore];
  guest::Gate gates[kMore];
  int refused = 0;
  {
    NoThreads none;
    for (int i = 0; i < kMore; ++i) {
      OK(aclrtCreateStream(&streams[i]));
      OK(aclrtLaunchHostFunc(streams[i], &guest::Gate::Wait, &gates[i]));
      aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
      while (!gates[i].entered && status != ACL_STREAM_STATUS_COMPLETE)
        OK(aclrtStreamQuery(streams[i], &status));
    }
  }
  for (int i = 0; i < kMore; ++i) {
    gates[i].open = true;
    int code = aclrtSynchronizeStream(streams[i]);
    EXPECT(code == (gates[i].entered ? 0 : ACL_ERROR_RT_RESOURCE_ALLOC_FAIL));
    refused += code != 0;
  }
  EXPECT(refused > 0);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

// What the system counts against RLIMIT_DATA, and against all that it may promise where vm.overcommit_memory
// is 2: private memory that may be written, touched or not.
static size_t PromisedBytes() {
  std::ifstream maps("/proc/self/maps");
  size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, end = 0;
    char may[5] = {};
    EXPECT(std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &end, may) == 3);
    if (may[1] == 'w' && may[3] == 'p') bytes += end - first;
  }
  return bytes;
}

SCENARIO(addresses_are_reserved_without_a_promise_of_memory) {
  guest::SkipUnderSanitizers();
  setenv("BELAY_DEVICES", "8", 1);
  setenv("BELAY_DEVICE_MEMORY", "256G", 1);
  setenv("BELAY_WORKERS", "2", 1);
  constexpr size_t kFew = size_t{256} << 20, kMapped = size_t{2} << 30;
  const size_t before = PromisedBytes();
  guest::Start();
  EXPECT(PromisedBytes() - before < kFew);
  void *range = nullptr, *block = nullptr;
  OK(aclrtReserveMemAddress(&range, size_t{256} << 30, 0, nullptr, 0));
  EXPECT(PromisedBytes() - before < kFew);
  rlimit data{before + kFew, RLIM_INFINITY};
  EXPECT(setrlimit(RLIMIT_DATA, &data) == 0);
  EXPECT(aclrtMalloc(&block, size_t{2} << 30, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  // A block fits where the step in which devices usually grow does not.
  std::vector<void*> blocks;
  while (aclrtMalloc(&block, 20 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == 0) {
    blocks.push_back(block);
    OK(aclrtMemset(block, 20 << 20, 7, 20 << 20));
  }
  EXPECT(blocks.size() > 6);
  for (void* each : blocks) OK(aclrtFree(each));
  aclrtPhysicalMemProp property{};
  property.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  property.memAttr = ACL_HBM_MEM_HUGE;
  aclrtDrvMemHandle handle = nullptr;
  OK(aclrtMallocPhysical(&handle, kMapped, &property, 0));
  EXPECT(aclrtMapMem(range, kMapped, 0, handle, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  data.rlim_cur = RLIM_INFINITY;
  EXPECT(setrlimit(RLIMIT_DATA, &data) == 0);
  OK(aclrtMapMem(range, kMapped, 0, handle, 0));
  OK(aclrtMemset(range, 4096, 1, 4096));
  data.rlim_cur = before;
  EXPECT(setrlimit(RLIMIT_DATA, &data) == 0);
  OK(aclrtUnmapMem(range));  // what lies there then takes no promise either
  data.rlim_cur = RLIM_INFINITY;
  EXPECT(setrlimit(RLIMIT_DATA, &data) == 0);
  OK(aclrtFreePhysical(handle));
  OK(aclrtReleaseMemAddress(range));
  guest::UseDevice();
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
