// Writing to files without ending the process: beyond `ulimit -f` the system raises SIGXFSZ, and SIGPIPE
// where the reader has gone, and both end a process that has no handler for them. A library leaves the
// process's handlers alone, so the thread that writes blocks the two meanwhile, and takes back what it has
// caused itself.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>

namespace belay {

// While in scope, what the calling thread writes fails with EFBIG or EPIPE and without a signal.
class QuietWrites {
 public:
  QuietWrites();
  ~QuietWrites();  // errno stays
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

 private:
  sigset_t blocked_before_;
  sigset_t pending_before_;
};

// write(2), quietly.
ssize_t WriteQuietly(int file, const void* data, size_t bytes);
// All of it, or false with the reason in errno.
bool WriteAllQuietly(int file, const void* data, size_t bytes);
// Gives a new file its length (ftruncate); false with the reason in errno. It counts for `ulimit -f` in
// memory, too.
bool SizeQuietly(int file, size_t bytes);

// The same for a file that is mapped to be written. A page for which the file's system has no room when it is
// first touched ends the process by SIGBUS: where pages can run out so, all are reserved now.
bool SizeToMap(int file, size_t bytes);
bool SizeToMap(int file, size_t bytes, bool reserve);
// Whether pages of memory files can run out where those of ordinary memory would have been refused: the
// system promises no more memory than it has (vm.overcommit_memory = 2).
bool PromisesOnlyWhatThereIs();

}  // namespace belay
