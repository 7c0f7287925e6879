// Reading and writing a file as a whole: whoever reads it while it is written, or has mapped it, sees the old
// one or the new one and nothing between.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

// The bytes of a file, of whatever kind. Nothing, with errno, when it cannot be read, or is longer than
// `most` (EFBIG). Not by a stream: that one takes a lack of memory for the end of the file. Throws
// std::bad_alloc.
std::optional<std::string> ReadWholeFile(const std::string& path, size_t most = SIZE_MAX);

struct WriteFailure {
  bool opened;  // false: nothing can be written there at all
  std::string reason;
};

// Writes beside the file, brings that to the disk and puts it in the file's place. Where it fails the old
// file stays as it was. A file that is there keeps its permissions, a new one has `mode` less the umask. What
// a link leads to is replaced, not the link. A device, a pipe or an open file (/dev/stdout) is written to as
// it is, and so is a file that exists in a folder that takes no new ones.
std::optional<WriteFailure> WriteWholeFile(const std::string& path, std::string_view bytes,
                                           mode_t mode = 0666);

}  // namespace belay
