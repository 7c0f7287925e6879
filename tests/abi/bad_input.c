/* Every working function, called with what it must refuse: before aclInit, with each required argument
 * null, with handles that are stale, foreign or of another kind, and after aclFinalize. Each time the
 * code must be the documented one, with a text that names the call, and nothing may crash. */
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "abi/calls.h"

enum { MOST_PARAMETERS = 64, NO_PARAMETER = -1 };

alignas(4096) static unsigned char scratch[1 << 16];
static int failures, checks;

static void expect(const char *name, const char *what, intptr_t got, int wanted) {
  const char *text = aclGetRecentErrMsg();
  ++checks;
  if (got == wanted && text != NULL && strstr(text, name) != NULL) return;
  ++failures;
  printf("%s, %s: got %d, wanted %d; text: %s\n", name, what, (int)got, wanted, text ? text : "none");
}

static bool is_checked(const Call *call) { return call->works && call->gives_status; }

/* Objects are `object`, numbers are zero, all else points to scratch memory, but for one that may be null. */
static intptr_t call_with(const Call *call, int null_parameter, uintptr_t object) {
  uintptr_t values[MOST_PARAMETERS];
  for (int i = 0; call->kinds[i]; ++i) {
    char kind = call->kinds[i];
    values[i] = i == null_parameter || kind == NUMBER ? 0 : kind == OBJECT ? object : (uintptr_t)scratch;
  }
  return call->call(values);
}

static void refuse_uninitialised(const char *when) {
  for (const Call *call = calls; call->name; ++call)
    if (is_checked(call) && call->needs_init)
      expect(call->name, when, call_with(call, NO_PARAMETER, 0), call->not_running);
}

static void refuse_nulls(uintptr_t object) {
  for (const Call *call = calls; call->name; ++call)
    for (const NullCase *bad = call->null_cases; is_checked(call) && bad->code; ++bad)
      expect(call->name, "null", call_with(call, bad->parameter, object), bad->code);
}

static void refuse_handles(const char *what, uintptr_t object) {
  for (const Call *call = calls; call->name; ++call)
    if (is_checked(call) && strchr(call->kinds, OBJECT))
      expect(call->name, what, call_with(call, NO_PARAMETER, object), call->bad_handle);
}

int main(void) {
  aclrtEvent event = NULL;
  aclrtNotify notify = NULL;
  refuse_uninitialised("before aclInit");

  int started = aclInit(NULL);
  if (started == ACL_ERROR_API_NOT_SUPPORT) return 77; /* nothing works yet: skipped */
  if (started != 0 || aclrtSetDevice(0) != 0) return printf("no device\n"), 1;
  if (aclrtCreateEvent(&event) != 0 || aclrtDestroyEvent(event) != 0) return printf("no event\n"), 1;
  refuse_nulls((uintptr_t)event);
  refuse_handles("a stale handle", (uintptr_t)event);
  refuse_handles("a pointer that is no handle", (uintptr_t)scratch);
  refuse_handles("all bits", UINTPTR_MAX);
  /* Values that look like handles of each kind, with places and generations that were never given out. */
  for (uintptr_t kind = 0x10; kind < 0x40; ++kind)
    for (uintptr_t place = 0; place < 3; ++place)
      refuse_handles("a number like a handle", kind << 56 | (uintptr_t)0xabcdef << 32 | place * 0x7ffffff1u);
  if (aclrtCreateNotify(&notify, 0) == 0 && aclrtDestroyNotify(notify) == 0)
    refuse_handles("a stale handle of another kind", (uintptr_t)notify);

  if (aclrtResetDevice(0) != 0 || aclFinalize() != 0) return printf("no end\n"), 1;
  refuse_uninitialised("after aclFinalize");
  printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
