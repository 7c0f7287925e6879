// The work that a device has when it is reset by force.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/stream.h"

namespace belay::rt {

// What streams have been given up to now. Tasks that come later do not count.
class LastWork {
 public:
  // `awaited`: Await waits for this stream; else it only may be what another one waits for.
  void Add(Stream& stream, bool awaited) { parts_.push_back({&stream, stream.tail(), awaited}); }
  // Waits until the awaited streams have got to their ends, or wait for what none of the streams will bring.
  void Await();

 private:
  struct Part {
    Stream* stream;
    uint64_t tail;
    bool awaited;
    uint64_t park_serial = 0;

    bool Over() const { return stream->Reached(tail); }
  };
  bool Over() const;
  bool NoneGetsOn(const Part** moving);
  bool AllStay() const;

  std::vector<Part> parts_;
};

}  // namespace belay::rt
