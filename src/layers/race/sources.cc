#include "layers/race/sources.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "layers/support/digest.h"

namespace belay::race {
namespace {

// Of more than that only samples are looked at, so that the cost of a copy stays in bounds.
constexpr size_t kWhole = size_t{16} << 10;
constexpr size_t kSample = 256;
constexpr size_t kSamples = kWhole / kSample;

// By the system, which refuses what is not mapped any more.
bool AddRegistered(layers::Digest* digest, uintptr_t begin, size_t bytes) {
  std::byte room[4096];
  for (size_t done = 0; done < bytes;) {
    const size_t n = std::min(sizeof room, bytes - done);
    const iovec to{room, n}, from{reinterpret_cast<void*>(begin + done), n};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(n)) return false;
    digest->Add(room, n);
    done += n;
  }
  return true;
}

std::optional<uint64_t> DigestOf(const Bytes& bytes, bool registered) {
  layers::Digest digest;
  const size_t all = bytes.end - bytes.begin;
  const size_t pieces = all <= kWhole ? 1 : kSamples;
  const size_t each = all <= kWhole ? all : kSample;
  for (size_t i = 0; i < pieces; ++i) {
    // From the first byte to the last.
    const uintptr_t at = bytes.begin + (pieces == 1 ? 0 : (all - each) * i / (pieces - 1));
    if (registered) {
      if (!AddRegistered(&digest, at, each)) return std::nullopt;
    } else {
      digest.Add(reinterpret_cast<const void*>(at), each);
    }
  }
  return digest.value();
}

}  // namespace

void Sources::Begin(const Mark& by, const Bytes& bytes, bool registered) {
  if (sources_.size() >= kMost) return;
  const std::optional<uint64_t> digest = DigestOf(bytes, registered);
  if (!digest) return;
  sources_.push_back({by, bytes, registered, *digest});
  count_.store(sources_.size(), std::memory_order_release);
}

void Sources::Forget(const std::function<bool(const Source&)>& which) {
  if (std::erase_if(sources_, which) != 0) count_.store(sources_.size(), std::memory_order_release);
}

void Sources::Forget(const Bytes& bytes) {
  Forget([&](const Source& source) {
    return source.bytes.block == bytes.block && source.bytes.begin < bytes.end &&
           bytes.begin < source.bytes.end;
  });
}

void Sources::End(const std::function<bool(const Mark&)>& over,
                  const std::function<void(const Source&)>& tell) {
  Forget([&](const Source& source) {
    if (!over(source.by)) return false;
    const std::optional<uint64_t> now = DigestOf(source.bytes, source.registered);
    if (now && *now != source.digest) tell(source);
    return true;
  });
}

}  // namespace belay::race
