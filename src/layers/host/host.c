/* A page that is closed to the program makes system calls fail instead of raising a signal, and a program may
 * take SIGSEGV for itself or block it. So what a program uses of the C library for that goes through here.
 * Once a watch is set, SIGSEGV is this library's, and what the program asks for is kept and served.
 *
 * Loaded before the program, so it needs the C library alone. */
#define _GNU_SOURCE
/* The functions below are what the fortified and the 64-bit names lead to. */
#undef _FORTIFY_SOURCE
#include "layers/host/host.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#undef fread_unlocked
#undef fwrite_unlocked

#define SEEN __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))Real(&real_##name, #name))
static const BelayHostWatch* watch;

static void* Real(void** kept, const char* name) {
  void* found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
  if (!found) {
    found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(kept, found, __ATOMIC_RELEASE);
  }
  return found;
}

/* Found before the program runs: one of its handlers may be the first to call. */
#define KEEP(name)                                                                          \
  static void* real_##name;                                                                 \
  __attribute__((constructor)) static void Find_##name(void) { Real(&real_##name, #name); } \
  _Static_assert(1, "")

/* An address: what lies there need not be written yet. */
static void Touch(uintptr_t begin, size_t bytes, int writes, const char* call) {
  const BelayHostWatch* now = __atomic_load_n(&watch, __ATOMIC_ACQUIRE);
  if (now) now->system_touches(begin, bytes, writes, call);
}

static void TouchAll(const struct iovec* pieces, size_t count, int writes, const char* call) {
  if (!__atomic_load_n(&watch, __ATOMIC_ACQUIRE) || !pieces) return;
  for (size_t i = 0; i < count; ++i) Touch((uintptr_t)pieces[i].iov_base, pieces[i].iov_len, writes, call);
}

/* --- signals */

KEEP(sigaction);
KEEP(signal);
KEEP(sigprocmask);
KEEP(pthread_sigmask);

static struct sigaction theirs; /* under the lock */
static int lock;

/* A handler may ask, too: no lock that a thread may hold while a signal comes to it. */
static void Lock(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  REAL(pthread_sigmask)(SIG_SETMASK, &all, before);
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
  }
}
static void Unlock(const sigset_t* before) {
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  REAL(pthread_sigmask)(SIG_SETMASK, before, 0);
}

/* As the system would: with what the program asked for blocked. */
static void Serve(int number, siginfo_t* info, void* context) {
  sigset_t before, blocked;
  Lock(&before);
  const struct sigaction action = theirs;
  if (action.sa_flags & SA_RESETHAND) theirs.sa_handler = SIG_DFL, theirs.sa_flags = 0;
  Unlock(&before);
  if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    /* The access is tried again, or the signal is sent again, and ends the process. */
    struct sigaction end;
    memset(&end, 0, sizeof end);
    end.sa_handler = SIG_DFL;
    if (action.sa_handler == SIG_IGN && info->si_code <= 0) return; /* sent, not raised */
    REAL(sigaction)(number, &end, 0);
    if (info->si_code <= 0) raise(number);
    return;
  }
  blocked = action.sa_mask;
  if (!(action.sa_flags & SA_NODEFER)) sigaddset(&blocked, number);
  REAL(pthread_sigmask)(SIG_BLOCK, &blocked, 0);
  if (action.sa_flags & SA_NODEFER) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    REAL(pthread_sigmask)(SIG_UNBLOCK, &one, 0);
  }
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
}

static void OnFault(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const BelayHostWatch* now = __atomic_load_n(&watch, __ATOMIC_ACQUIRE);
  if (!now || info->si_code <= 0 || !now->fault(info, context)) Serve(number, info, context);
  errno = error;
}

SEEN int belay_watch_host(const BelayHostWatch* given) {
  struct sigaction ours;
  sigset_t before;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = &OnFault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  Lock(&before);
  int ok = 1;
  if (!watch) ok = REAL(sigaction)(SIGSEGV, &ours, &theirs) == 0;
  if (ok) __atomic_store_n(&watch, given, __ATOMIC_RELEASE);
  Unlock(&before);
  return ok;
}

SEEN int sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  if (number != SIGSEGV || !__atomic_load_n(&watch, __ATOMIC_ACQUIRE)) {
    return REAL(sigaction)(number, action, old);
  }
  struct sigaction fresh, was;
  if (action) fresh = *action;
  sigset_t before;
  Lock(&before);
  was = theirs;
  if (action) theirs = fresh;
  Unlock(&before);
  if (old) *old = was;
  return 0;
}

SEEN __sighandler_t signal(int number, __sighandler_t handler) {
  if (number != SIGSEGV || !__atomic_load_n(&watch, __ATOMIC_ACQUIRE)) return REAL(signal)(number, handler);
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, &old);
  return old.sa_handler;
}

/* Blocked, the signal of a fault would end the process. */
static const sigset_t* Without(const sigset_t* set, int how, sigset_t* room) {
  if (!set || how == SIG_UNBLOCK || sigismember(set, SIGSEGV) != 1) return set;
  *room = *set;
  sigdelset(room, SIGSEGV);
  return room;
}
SEEN int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return REAL(sigprocmask)(how, Without(set, how, &room), old);
}
SEEN int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return REAL(pthread_sigmask)(how, Without(set, how, &room), old);
}

/* --- what reads or writes memory by the system */

enum { kSystemReads = 0, kSystemWrites = 1 };

#define BUFFER(result, name, writes, parameters, arguments, begin, bytes) \
  KEEP(name);                                                             \
  SEEN result name parameters {                                           \
    Touch((uintptr_t)(begin), bytes, writes, #name);                      \
    return REAL(name) arguments;                                          \
  }
#define PIECES(name, writes, parameters, arguments)    \
  KEEP(name);                                          \
  SEEN ssize_t name parameters {                       \
    TouchAll(v, n < 0 ? 0 : (size_t)n, writes, #name); \
    return REAL(name) arguments;                       \
  }

BUFFER(ssize_t, read, kSystemWrites, (int f, void* p, size_t n), (f, p, n), p, n)
BUFFER(ssize_t, pread, kSystemWrites, (int f, void* p, size_t n, off_t at), (f, p, n, at), p, n)
BUFFER(ssize_t, pread64, kSystemWrites, (int f, void* p, size_t n, off64_t at), (f, p, n, at), p, n)
BUFFER(ssize_t, write, kSystemReads, (int f, const void* p, size_t n), (f, p, n), p, n)
BUFFER(ssize_t, pwrite, kSystemReads, (int f, const void* p, size_t n, off_t at), (f, p, n, at), p, n)
BUFFER(ssize_t, pwrite64, kSystemReads, (int f, const void* p, size_t n, off64_t at), (f, p, n, at), p, n)
BUFFER(ssize_t, recv, kSystemWrites, (int f, void* p, size_t n, int flags), (f, p, n, flags), p, n)
BUFFER(ssize_t, recvfrom, kSystemWrites,
       (int f, void* p, size_t n, int flags, struct sockaddr* from, socklen_t* size),
       (f, p, n, flags, from, size), p, n)
BUFFER(ssize_t, send, kSystemReads, (int f, const void* p, size_t n, int flags), (f, p, n, flags), p, n)
BUFFER(ssize_t, sendto, kSystemReads,
       (int f, const void* p, size_t n, int flags, const struct sockaddr* to, socklen_t size),
       (f, p, n, flags, to, size), p, n)
/* What they read or write at once does not go through the names above. */
BUFFER(size_t, fread, kSystemWrites, (void* p, size_t size, size_t n, FILE* f), (p, size, n, f), p, size* n)
BUFFER(size_t, fwrite, kSystemReads, (const void* p, size_t size, size_t n, FILE* f), (p, size, n, f), p,
       size* n)
BUFFER(size_t, fread_unlocked, kSystemWrites, (void* p, size_t size, size_t n, FILE* f), (p, size, n, f), p,
       size* n)
BUFFER(size_t, fwrite_unlocked, kSystemReads, (const void* p, size_t size, size_t n, FILE* f),
       (p, size, n, f), p, size* n)

PIECES(readv, kSystemWrites, (int f, const struct iovec* v, int n), (f, v, n))
PIECES(writev, kSystemReads, (int f, const struct iovec* v, int n), (f, v, n))
PIECES(preadv, kSystemWrites, (int f, const struct iovec* v, int n, off_t at), (f, v, n, at))
PIECES(preadv64, kSystemWrites, (int f, const struct iovec* v, int n, off64_t at), (f, v, n, at))
PIECES(pwritev, kSystemReads, (int f, const struct iovec* v, int n, off_t at), (f, v, n, at))
PIECES(pwritev64, kSystemReads, (int f, const struct iovec* v, int n, off64_t at), (f, v, n, at))

KEEP(recvmsg);
SEEN ssize_t recvmsg(int f, struct msghdr* message, int flags) {
  if (message) TouchAll(message->msg_iov, message->msg_iovlen, kSystemWrites, "recvmsg");
  return REAL(recvmsg)(f, message, flags);
}
KEEP(sendmsg);
SEEN ssize_t sendmsg(int f, const struct msghdr* message, int flags) {
  if (message) TouchAll(message->msg_iov, message->msg_iovlen, kSystemReads, "sendmsg");
  return REAL(sendmsg)(f, message, flags);
}

/* What programs built with _FORTIFY_SOURCE call: the check is the C library's. */
ssize_t __read_chk(int f, void* p, size_t n, size_t room);
ssize_t __pread_chk(int f, void* p, size_t n, off_t at, size_t room);
ssize_t __pread64_chk(int f, void* p, size_t n, off64_t at, size_t room);
ssize_t __recv_chk(int f, void* p, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int f, void* p, size_t n, size_t room, int flags, struct sockaddr* from,
                       socklen_t* size);
size_t __fread_chk(void* p, size_t room, size_t size, size_t n, FILE* f);
BUFFER(ssize_t, __read_chk, kSystemWrites, (int f, void* p, size_t n, size_t room), (f, p, n, room), p, n)
BUFFER(ssize_t, __pread_chk, kSystemWrites, (int f, void* p, size_t n, off_t at, size_t room),
       (f, p, n, at, room), p, n)
BUFFER(ssize_t, __pread64_chk, kSystemWrites, (int f, void* p, size_t n, off64_t at, size_t room),
       (f, p, n, at, room), p, n)
BUFFER(ssize_t, __recv_chk, kSystemWrites, (int f, void* p, size_t n, size_t room, int flags),
       (f, p, n, room, flags), p, n)
BUFFER(ssize_t, __recvfrom_chk, kSystemWrites,
       (int f, void* p, size_t n, size_t room, int flags, struct sockaddr* from, socklen_t* size),
       (f, p, n, room, flags, from, size), p, n)
BUFFER(size_t, __fread_chk, kSystemWrites, (void* p, size_t room, size_t size, size_t n, FILE* f),
       (p, room, size, n, f), p, size* n)
