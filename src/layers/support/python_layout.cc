#include "layers/support/python_layout.h"

#include <cstring>

namespace belay::layers {
namespace {

constexpr unsigned long kMinor = 0xffff0000;

// What _PyRuntime begins with in 3.13, of which a part is of use here.
struct DebugOffsets {
  char cookie[8];
  uint64_t version, free_threaded;
  uint64_t runtime_state[3], interpreter_state[13];
  struct {
    uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status;
  } thread_state;
  struct {
    uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } frame;
  struct {
    uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
        localspluskinds, co_code_adaptive;
  } code;
};

std::optional<PythonLayout> BySelfDescription(unsigned long version, const void* runtime) {
  DebugOffsets o;
  if (runtime == nullptr) return std::nullopt;
  std::memcpy(&o, runtime, sizeof o);
  if (std::memcmp(o.cookie, "xdebugpy", sizeof o.cookie) != 0 || o.version != version ||
      o.free_threaded != 0) {
    return std::nullopt;
  }
  return PythonLayout{o.thread_state.current_frame,
                      PythonLayout::kNothing,
                      o.frame.executable,
                      o.frame.previous,
                      o.frame.instr_ptr,
                      o.frame.owner,
                      o.code.firstlineno,
                      o.code.filename,
                      o.code.name,
                      o.code.linetable,
                      o.code.co_code_adaptive};
}

}  // namespace

std::optional<PythonLayout> PythonLayout::Of(unsigned long version, const void* runtime) {
  if constexpr (sizeof(void*) != 8) return std::nullopt;
  switch (version & kMinor) {
    case 0x030b0000:
      return PythonLayout{56, 8, 32, 48, 56, 69, 72, 112, 120, 136, 184};
    case 0x030c0000:
      return PythonLayout{56, 0, 0, 8, 56, 70, 68, 112, 120, 136, 192};
    case 0x030d0000:
      return BySelfDescription(version, runtime);
    default:
      return std::nullopt;
  }
}

}  // namespace belay::layers
