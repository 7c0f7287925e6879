// Reading memory that a running copy may be writing, as a program does that spins on it.
#pragma once

namespace conformance {

// Not for ThreadSanitizer to judge: that the host sees the bytes arrive is what the tests want to know.
template <class T>
[[gnu::no_sanitize("thread"), gnu::noinline]] T Peek(const T* p) {
  return *static_cast<const volatile T*>(p);
}

}  // namespace conformance
