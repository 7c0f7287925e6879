/* dladdr and RTLD_NOLOAD. */
#define _GNU_SOURCE
#include "layers/calls/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)
extern void* belay_real_calls[];
extern const BelayCalls belay_calls;
#pragma GCC visibility pop

static const BelayCallHook kNone = {0, 0};
static const BelayCallHook* hook_of_process; /* null: not asked yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The core is there when a thunk runs: each thunk's library needs it. Its symbols may be no others' to see.
 */
static void* Entry(uint32_t call) {
  void* core = dlopen("libbelay_core.so", RTLD_LAZY | RTLD_NOLOAD);
  char name[160];
  snprintf(name, sizeof name, "belay_%s", belay_calls.calls[call].name);
  void* entry = core ? dlsym(core, name) : 0;
  if (!entry) {
    fprintf(stderr,
            "belay trace: libbelay_core.so has no %s: it is of another version than libbelay_calls.so\n",
            name);
    abort();
  }
  return entry;
}

void* belay_real_call(uint32_t call) {
  void* entry = __atomic_load_n(&belay_real_calls[call], __ATOMIC_ACQUIRE);
  if (!entry) {
    entry = Entry(call);
    __atomic_store_n(&belay_real_calls[call], entry, __ATOMIC_RELEASE);
  }
  return entry;
}

/* The layer beside this library. */
static const BelayCallHook* MakeHook(void) {
  Dl_info own;
  char path[4096];
  if (!dladdr((void*)&MakeHook, &own)) return &kNone;
  const char* slash = strrchr(own.dli_fname, '/');
  const int folder = slash ? (int)(slash - own.dli_fname) : 1;
  snprintf(path, sizeof path, "%.*s/libbelay_layer_trace.so", folder, slash ? own.dli_fname : ".");
  void* layer = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  BelayMakeCallHook make = layer ? (BelayMakeCallHook)dlsym(layer, "belay_make_call_hook") : 0;
  if (!make) {
    fprintf(stderr, "belay trace: calls are not shown: %s\n",
            layer ? "the layer does not take them" : dlerror());
    return &kNone;
  }
  const BelayCallHook* hook = make(&belay_calls);
  return hook ? hook : &kNone;
}

static void InChild(void) {
  pthread_mutex_init(&lock, 0);
  hook_of_process = 0;
}

static const BelayCallHook* FindHook(void) {
  static int follows_forks;
  pthread_mutex_lock(&lock);
  if (!follows_forks) follows_forks = !pthread_atfork(0, 0, InChild);
  const BelayCallHook* hook = hook_of_process;
  if (!hook) {
    hook = MakeHook();
    __atomic_store_n(&hook_of_process, hook, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
  return hook;
}

const BelayCallHook* belay_begin_call(uint32_t call, const uint64_t* arguments) {
  const int error = errno;
  const BelayCallHook* hook = __atomic_load_n(&hook_of_process, __ATOMIC_ACQUIRE);
  if (!hook) hook = FindHook();
  if (hook == &kNone) hook = 0;
  if (hook) hook->begin(call, arguments);
  errno = error;
  return hook;
}

void belay_end_call(const BelayCallHook* hook, uint32_t call, uint64_t result, const uint64_t* arguments) {
  const int error = errno;
  hook->end(call, result, arguments);
  errno = error;
}

uint64_t belay_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
