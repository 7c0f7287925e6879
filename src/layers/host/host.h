/* What libbelay_host.so does for the race layer. It is loaded before a program whose plain loads and stores
 * are to be seen, and stands before those functions of the C library that would notice. */
#ifndef BELAY_LAYERS_HOST_HOST_H
#define BELAY_LAYERS_HOST_HOST_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  /* A fault: nonzero if the access may be tried again. */
  int (*fault)(const siginfo_t* info, void* context);
  /* The call is about to let the system read, or write, these bytes. */
  void (*system_touches)(uintptr_t begin, size_t bytes, int writes, const char* call);
} BelayHostWatch;

/* What belay_watch_host is: from now on these are called; the program's handler gets what fault does not
 * take. 0: the system refuses. */
typedef int (*BelayWatchHost)(const BelayHostWatch* watch);

#ifdef __cplusplus
}
#endif

#endif
