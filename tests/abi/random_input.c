/* Every exported function, each in a process of its own, called with arguments drawn by a seed: handles that
 * are alive, stale, of another kind or no handles at all; memory in, beyond and between blocks, freed, pinned
 * and the program's own; sizes from 0 to 2^63 and above; before aclInit, while the device is used, and after
 * aclFinalize. Nothing may crash or hang, an error has a text that names the call, and success leaves none.
 *
 *   abi_random_input [rounds [seed [part of a name]]] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/calls.h"

enum { MOST_PARAMETERS = 64, MOST_VALUES = 128, WORDS = 512, BLOCK = 4096, SECONDS = 60 };

/* What a child has done so far, read by its parent. */
typedef struct {
  const char *phase;
  uintptr_t values[MOST_PARAMETERS];
  long calls, refused;
  int faults;
} Report;

typedef struct {
  uintptr_t values[MOST_VALUES];
  size_t count;
} Pool;

static Report *report;
static uint64_t (*scratch)[WORDS]; /* an array for each parameter, with no end near by */
static Pool handles, memory;
static uint64_t state;

static uint64_t below(uint64_t limit) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (state >> 11) % limit;
}

static void add(Pool *pool, const void *value) { pool->values[pool->count++] = (uintptr_t)value; }
static uintptr_t any_of(const Pool *pool) { return pool->values[below(pool->count)]; }

static uint64_t any_number(void) {
  static const uint64_t numbers[] = {0,
                                     0,
                                     1,
                                     1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     16,
                                     27,
                                     32,
                                     64,
                                     100,
                                     256,
                                     BLOCK,
                                     BLOCK + 1,
                                     1ull << 61,
                                     (1ull << 61) + 1,
                                     1ull << 62,
                                     (1ull << 63) - 1,
                                     1ull << 63,
                                     UINT64_MAX - 63,
                                     UINT64_MAX};
  return numbers[below(sizeof numbers / sizeof *numbers)];
}

static uintptr_t any_text(void) {
  static const char *const texts[] = {"",       "x", "Add",        "{}", "/nonexistent/file",
                                      "a/../b", "0", "Ascend910B3"};
  uint64_t choice = below(1 + sizeof texts / sizeof *texts);
  return choice == 0 ? 0 : (uintptr_t)texts[choice - 1];
}

static uintptr_t any_array(unsigned parameter) {
  uint64_t *words = scratch[parameter * 64], choice = below(5);
  if (choice == 0) return 0;
  for (int i = 0; i < WORDS; ++i)
    words[i] = choice == 1   ? 0
               : choice == 2 ? any_of(&handles)
               : choice == 3 ? any_number()
                             : any_of(&memory);
  return (uintptr_t)words;
}

static void do_nothing(void) {}

static uintptr_t any_value(char kind, unsigned parameter) {
  switch (kind) {
    case OBJECT:
    case HANDLE:
      return any_of(&handles);
    case MEMORY:
      return any_of(&memory);
    case TEXT:
      return any_text();
    case POINTER:
      return any_array(parameter);
    case BARE:
      return below(3) == 0 ? 0 : (uintptr_t)memset(scratch[parameter * 64], 0, sizeof *scratch);
    case FUNCTION:
      return below(3) == 0 ? 0 : (uintptr_t)do_nothing;
    default:
      return any_number();
  }
}

/* One of each kind, and where its memory begins, ends and is not. */
static void make_objects(void) {
  void *objects[] = {NULL, NULL, NULL, NULL, NULL, NULL, NULL}, *device = NULL, *pinned = NULL;
  int64_t dims[] = {2, 4};
  float one = 1;
  uint64_t workspace = 0;
  aclOpExecutor *executor = NULL;
  if (aclrtMalloc(&device, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST) || aclrtMallocHost(&pinned, BLOCK) ||
      aclrtCreateContext(&objects[0], 0) || aclrtSetDevice(0) || aclrtCreateStream(&objects[1]) ||
      aclrtCreateStream(&objects[2]) || aclrtCreateEvent(&objects[3]) ||
      aclrtCreateEventExWithFlag(&objects[4], ACL_EVENT_SYNC) || aclrtCreateNotify(&objects[5], 0) ||
      aclmdlRICaptureBegin(objects[2], ACL_MODEL_RI_CAPTURE_MODE_RELAXED) ||
      aclrtMemsetAsync(device, BLOCK, 0, BLOCK, objects[2]) || aclmdlRICaptureEnd(objects[2], &objects[6]))
    exit(2);
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) add(&handles, objects[i]);

  aclTensor *tensor = aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, device);
  const aclTensor *member = aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, device);
  aclScalar *scalar = aclCreateScalar(&one, ACL_FLOAT);
  if (aclnnAddGetWorkspaceSize(tensor, tensor, scalar, tensor, &workspace, &executor)) exit(2);
  const void *data[] = {tensor,
                        scalar,
                        executor,
                        aclCreateTensorList(&member, 1),
                        aclCreateIntArray(dims, 2),
                        aclCreateFloatArray(&one, 1),
                        aclCreateDataBuffer(device, BLOCK),
                        aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND),
                        aclopCreateAttr(),
                        aclmdlCreateDataset(),
                        aclmdlCreateDesc(),
                        aclmdlCreateConfigHandle()};
  for (size_t i = 0; i < sizeof data / sizeof *data; ++i) add(&handles, data[i]);
  HcclComm comm = NULL;
  int32_t first = 0;
  if (HcclCommInitAll(1, &first, &comm)) exit(2);
  add(&handles, comm);

  char *block = device, *host = pinned;
  const void *places[] = {block, block + 100,      block + BLOCK, block + (1ull << 33),
                          host,  host + BLOCK - 1, scratch};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) add(&memory, places[i]);
}

/* What was just made becomes stale; the values stay in the pools. */
static void destroy_objects(void) {
  void *const *made = (void *const *)(const void *)handles.values;
  (void)(aclrtFree((void *)memory.values[0]) || aclrtFreeHost((void *)memory.values[4]));
  (void)(aclDestroyTensor(made[7]) || aclDestroyScalar(made[8]) || aclDestroyAclOpExecutor(made[9]) ||
         aclDestroyTensorList(made[10]) || aclDestroyIntArray(made[11]) || aclDestroyFloatArray(made[12]) ||
         aclDestroyDataBuffer(made[13]));
  aclDestroyTensorDesc(made[14]);
  aclopDestroyAttr(made[15]);
  (void)(aclmdlDestroyDataset(made[16]) || aclmdlDestroyDesc(made[17]) ||
         aclmdlDestroyConfigHandle(made[18]));
  (void)HcclCommDestroy(made[19]);
  (void)(aclmdlRIDestroy(made[6]) || aclrtDestroyNotify(made[5]) || aclrtDestroyEvent(made[4]) ||
         aclrtDestroyEvent(made[3]) || aclrtDestroyStream(made[2]) || aclrtDestroyStream(made[1]) ||
         aclrtDestroyContext(made[0]) || aclrtSetDevice(0));
}

static void add_no_objects(void) {
  const void *none[] = {
      NULL, scratch, (void *)16, (void *)0x123456789000, (void *)UINTPTR_MAX, (void *)(1ull << 63)};
  for (size_t i = 0; i < sizeof none / sizeof *none; ++i) add(&handles, none[i]);
  add(&memory, NULL);
  add(&memory, scratch);
}

static void fault(const Call *call, intptr_t code, const char *what, const char *text) {
  ++report->faults;
  printf("%s, %s: %s; code %d, text: %s\n", call->name, report->phase, what, (int)code, text ? text : "none");
}

static void call_once(const Call *call, bool must_fail) {
  for (unsigned i = 0; call->kinds[i]; ++i) report->values[i] = any_value(call->kinds[i], i);
  aclGetRecentErrMsg();
  ++report->calls;
  intptr_t code = call->call(report->values);
  const char *text = aclGetRecentErrMsg();
  if (!call->gives_status) return;
  report->refused += code != 0;
  if (code == 0 && must_fail) fault(call, code, "works", text);
  if (code == 0 && text) fault(call, code, "success leaves a text", text);
  if (code != 0 && (!text || !strstr(text, call->name)))
    fault(call, code, "the text does not name the call", text);
}

static void call_often(const Call *call, const char *phase, int rounds, bool must_fail) {
  report->phase = phase;
  for (int i = 0; i < rounds; ++i) call_once(call, must_fail);
}

static void call_in_all_states(const Call *call, int rounds) {
  bool starts = strcmp(call->name, "aclInit") == 0;
  bool refused = call->needs_init && call->works;
  alarm(SECONDS);
  add_no_objects();
  if (!starts) call_often(call, "before aclInit", 5, refused);
  report->phase = "start";
  handles.count = memory.count = 0;
  if (aclInit(NULL) || aclrtSetDevice(0)) exit(2);
  make_objects();
  destroy_objects();
  make_objects();
  add_no_objects();
  call_often(call, "in use", rounds, false);
  report->phase = "end";
  (void)(aclrtResetDeviceForce(0) || aclFinalize());
  if (!starts) call_often(call, "after aclFinalize", 5, refused);
  report->phase = "exit";
  exit(0);
}

/* Whether all went well. */
static bool try(const Call *call, int rounds, uint64_t seed) {
  int status = 0;
  memset(report, 0, sizeof *report);
  report->phase = "begin";
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    state = seed * 0x9e3779b97f4a7c15u + 1;
    call_in_all_states(call, rounds);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return printf("no child\n"), false;
  if (status == 0) return report->faults == 0;
  printf("%s, %s: ended with %s %d; arguments:", call->name, report->phase,
         WIFSIGNALED(status) ? "signal" : "code",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  for (unsigned i = 0; call->kinds[i]; ++i)
    printf(" %c=%#llx", call->kinds[i], (unsigned long long)report->values[i]);
  printf("\n");
  return false;
}

static void *shared_memory(size_t bytes) {
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? exit(2), NULL : at;
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 40, functions = 0, bad = 0;
  uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 0) : 1;
  long all = 0, refused = 0;
  report = shared_memory(sizeof *report);
  scratch = shared_memory((size_t)MOST_PARAMETERS * 64 * sizeof *scratch);
  for (const Call *call = calls; call->name; ++call) {
    if (count > 3 && !strstr(call->name, arguments[3])) continue;
    bad += !try(call, rounds, seed + (uint64_t)functions++);
    all += report->calls, refused += report->refused;
  }
  printf("seed %llu: %d functions, %ld calls, %ld refused, %d functions at fault\n", (unsigned long long)seed,
         functions, all, refused, bad);
  return bad != 0;
}
