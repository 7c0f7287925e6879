// What a process may have set for itself: locale, floating-point mode, limits, system call filters.
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_mul.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <limits>
#include <locale>
#include <sstream>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "scenario.h"

namespace {

// 1234567 becomes 1.234.567 and 1.5 becomes 1,5.
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

std::string Json() {
  aclrtStream stream = nullptr;
  void* block = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtMalloc(&block, 1234567, ACL_MEM_MALLOC_HUGE_FIRST));
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  OK(aclrtMemsetAsync(block, 1234567, 1, 1234567, stream));
  OK(aclmdlRICaptureEnd(stream, &model));
  std::string path = "/tmp/belay-guest-json-" + std::to_string(getpid());
  OK(aclmdlRIDebugJsonPrint(model, path.c_str(), 1));
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  unlink(path.c_str());
  OK(aclrtMemset(block, 1234567, 0, 1234567));
  EXPECT(aclrtMemset(block, 1234567, 0, 7654321) != 0);
  text += aclGetRecentErrMsg();
  OK(aclrtFree(block));
  return text;
}

// y = x * x + x on the device, with numbers that every mode but the default one changes.
std::vector<float> Calculate(int64_t count) {
  const size_t data_bytes = static_cast<size_t>(count) * sizeof(float);
  std::vector<float> host(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = static_cast<uint32_t>(i) * 0x00211111u + 17;  // subnormal ones among them
    std::memcpy(&host[static_cast<size_t>(i)], &bits, 4);
  }
  void *x = nullptr, *y = nullptr;
  OK(aclrtMalloc(&x, data_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&y, data_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpy(x, data_bytes, host.data(), data_bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  const int64_t shape[] = {count}, stride[] = {1};
  aclTensor* tx = aclCreateTensor(shape, 1, ACL_FLOAT, stride, 0, ACL_FORMAT_ND, shape, 1, x);
  aclTensor* ty = aclCreateTensor(shape, 1, ACL_FLOAT, stride, 0, ACL_FORMAT_ND, shape, 1, y);
  float third = 1.0f / 3;
  aclScalar* alpha = aclCreateScalar(&third, ACL_FLOAT);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  for (int round = 0; round < 20; ++round) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    OK(aclnnMulGetWorkspaceSize(tx, tx, ty, &bytes, &executor));
    OK(aclnnMul(nullptr, bytes, executor, stream));
    OK(aclnnAddGetWorkspaceSize(ty, tx, alpha, ty, &bytes, &executor));
    OK(aclnnAdd(nullptr, bytes, executor, stream));
    OK(aclrtSynchronizeStream(stream));
  }
  OK(aclrtMemcpy(host.data(), data_bytes, y, data_bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (uint16_t half : {0x0001, 0x03ff, 0x3c01, 0x7bff}) host.push_back(aclFloat16ToFloat(half));
  for (float number : {1e-7f, 6.1e-5f, 0.1f, 65519.0f, 1e-40f}) host.push_back(aclFloatToFloat16(number));
  OK(aclrtDestroyStream(stream));
  OK(aclDestroyTensor(tx));
  OK(aclDestroyTensor(ty));
  OK(aclDestroyScalar(alpha));
  OK(aclrtFree(x));
  OK(aclrtFree(y));
  return host;
}

// Large ones run on a worker, or on this thread as it waits; small ones on this thread as it submits them.
std::vector<float> Calculate() {
  std::vector<float> all = Calculate(1024);
  std::vector<float> few = Calculate(128);
  all.insert(all.end(), few.begin(), few.end());
  return all;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The whole program under a limit, in a child: it works, or says in an error what is missing.
void UnderLimit(int resource, rlim_t limit) {
  guest::SkipUnderSanitizers();
  pid_t child = fork();
  if (child == 0) {
    rlimit both{limit, limit};
    EXPECT(setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0);
    int code = aclInit(nullptr);
    if (code == ACL_SUCCESS) code = aclrtSetDevice(0);
    void* block = nullptr;
    if (code == ACL_SUCCESS) code = aclrtMalloc(&block, 8 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
    if (code == ACL_SUCCESS) code = aclrtMemset(block, 8 << 20, 1, 8 << 20);
    const char* text = aclGetRecentErrMsg();
    if (code != ACL_SUCCESS && text == nullptr && code != 200000) _exit(3);
    if (code != ACL_SUCCESS)
      std::printf("limit %llu: %s", static_cast<unsigned long long>(limit), text ? text : "-\n");
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

SCENARIO(numbers_do_not_depend_on_the_locale) {
  guest::Start();
  Json();
  std::string plain = Json();
  for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", ""}) setlocale(LC_ALL, name);
  std::locale::global(std::locale(std::locale::classic(), new Grouping));
  std::ostringstream sample;
  sample << 1234567;
  EXPECT(sample.str() == "1.234.567");
  std::string other = Json();
  EXPECT(plain.find("1234567") != std::string::npos && plain.find("7654321") != std::string::npos);
  EXPECT(other.find("1234567") != std::string::npos && other.find("7654321") != std::string::npos);
  EXPECT(other.find("1.234") == std::string::npos && other.find("7.654") == std::string::npos);
  OK(aclFinalize());
  guest::WholeProgram();  // settings and the size of the memory are read again
}

SCENARIO(the_callers_rounding_changes_nothing) {
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    guest::Start();
    std::vector<float> wanted = Calculate();
    EXPECT(fesetround(mode) == 0);
    EXPECT(SameBits(Calculate(), wanted));
    EXPECT(fegetround() == mode);
    OK(aclFinalize());
    guest::Start();  // workers that this thread starts in its mode
    EXPECT(SameBits(Calculate(), wanted));
    EXPECT(fegetround() == mode);
    OK(aclFinalize());
    fesetround(FE_TONEAREST);
  }
}

SCENARIO(the_callers_flush_to_zero_changes_nothing) {
#if defined(__x86_64__)
  constexpr unsigned kFlushAndDenormalsAreZero = 0x8040;
  guest::Start();
  std::vector<float> wanted = Calculate();
  unsigned old = _mm_getcsr();
  _mm_setcsr(old | kFlushAndDenormalsAreZero);
  EXPECT(SameBits(Calculate(), wanted));
  EXPECT((_mm_getcsr() & kFlushAndDenormalsAreZero) == kFlushAndDenormalsAreZero);
  OK(aclFinalize());
  guest::Start();
  EXPECT(SameBits(Calculate(), wanted));
  EXPECT((_mm_getcsr() & kFlushAndDenormalsAreZero) == kFlushAndDenormalsAreZero);
  _mm_setcsr(old);
#else
  _exit(77);
#endif
}

SCENARIO(unmasked_floating_point_exceptions) {
  guest::Start();
  std::vector<float> wanted = Calculate();
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  EXPECT(SameBits(Calculate(), wanted));
  EXPECT(fegetexcept() == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
  fedisableexcept(FE_ALL_EXCEPT);
}

SCENARIO(a_small_stack_limit) {
  rlimit small{128 << 10, RLIM_INFINITY};
  EXPECT(setrlimit(RLIMIT_STACK, &small) == 0);  // what new threads get by default
  guest::Start();
  Calculate();
  guest::UseDevice();
}

SCENARIO(an_unlimited_stack) {
  rlimit old;
  EXPECT(getrlimit(RLIMIT_STACK, &old) == 0);
  rlimit all{old.rlim_max, old.rlim_max};
  EXPECT(setrlimit(RLIMIT_STACK, &all) == 0);
  guest::Start();
  Calculate();
  guest::UseDevice();
}

SCENARIO(little_address_space) {
  for (rlim_t mib : {128, 256, 512, 1024, 4096, 16384, 65536}) UnderLimit(RLIMIT_AS, mib << 20);
}

SCENARIO(little_data) {
  for (rlim_t mib : {4, 16, 64, 256, 1024}) UnderLimit(RLIMIT_DATA, mib << 20);
}

SCENARIO(few_open_files) { UnderLimit(RLIMIT_NOFILE, 3); }

SCENARIO(no_core_of_locked_memory) { UnderLimit(RLIMIT_MEMLOCK, 0); }

SCENARIO(no_new_threads) {
  guest::SkipUnderSanitizers();
  if (getuid() == 0) {
    // The limit does not hold for root: become somebody else for it.
    EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
  }
  rlimit none{1, 1};
  EXPECT(setrlimit(RLIMIT_NPROC, &none) == 0);
  int code = aclInit(nullptr);
  if (code == ACL_SUCCESS) _exit(77);  // the kernel let the threads start all the same
  const char* text = aclGetRecentErrMsg();
  EXPECT(text != nullptr && std::strstr(text, "ulimit -u") != nullptr);
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
}

// Containers forbid it: nothing of Belay may need it.
SCENARIO(membarrier_is_forbidden) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{static_cast<unsigned short>(std::size(code)), code};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77);
  EXPECT(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM);
  for (int round = 0; round < 20; ++round) guest::WholeProgram();
}

SCENARIO(a_closed_standard_output) {
  close(0);
  close(1);
  close(2);
  guest::WholeProgram();
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
