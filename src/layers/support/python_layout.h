// Where an interpreter keeps what it knows of a thread's frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay::layers {

// In bytes from the beginning of each thing.
struct PythonLayout {
  size_t thread_frame;  // in the state of a thread: its frame, or what points to it
  size_t frame_behind;  // in what points to the frame; kNothing: the thread itself does
  size_t frame_code, frame_previous, frame_at, frame_owner;
  size_t code_first_line, code_file, code_name, code_lines, code_start;
  static constexpr size_t kNothing = ~size_t{0};
  static constexpr uint8_t kOwnedByC = 3;  // a frame between those of the program

  // Of an interpreter of this version (Py_Version: 0x030b07f0 is 3.11.7); `runtime` is its _PyRuntime, which
  // says of itself from 3.13 on. Nothing where it is not known.
  static std::optional<PythonLayout> Of(unsigned long version, const void* runtime);
};

}  // namespace belay::layers
