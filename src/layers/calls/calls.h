/* What libbelay_calls.so tells the trace layer. The library is loaded before a program and stands between the
 * thunks that the program links and the core: it has a function of each entry's name, which calls the entry.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t number;
  const char* name; /* null ends a list */
} BelayName;

typedef struct {
  const char* name;
  const char* result; /* a letter, as of a parameter; r: a status, v: none */
  const char* params; /* name:letter,name:letter (gen/emit_watched.py says what the letters are) */
} BelayCall;

typedef struct {
  uint32_t count;
  const BelayCall* calls;
  const BelayName* const* enums;
  const BelayName* errors;
} BelayCalls;

/* Told in the thread that makes the call, before and after it; arguments as 64 bits each, which stay for the
 * call. */
typedef struct {
  void (*begin)(uint32_t call, const uint64_t* arguments);
  void (*end)(uint32_t call, uint64_t result, const uint64_t* arguments);
} BelayCallHook;

/* What the layer exports: once in a process, and once more in a child of fork. Null: nobody wants to know. */
typedef const BelayCallHook* (*BelayMakeCallHook)(const BelayCalls* calls);

void* belay_real_call(uint32_t call);
const BelayCallHook* belay_begin_call(uint32_t call, const uint64_t* arguments);
void belay_end_call(const BelayCallHook* hook, uint32_t call, uint64_t result, const uint64_t* arguments);
uint64_t belay_bits(double value);

#ifdef __cplusplus
}
#endif
