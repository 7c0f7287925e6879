// Which sanitizer the code is built with: BELAY_ASAN, BELAY_TSAN, for gcc and clang alike.
#pragma once

#if defined(__has_feature)
#define BELAY_HAS_FEATURE(name) __has_feature(name)
#else
#define BELAY_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || BELAY_HAS_FEATURE(address_sanitizer)
#define BELAY_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) || BELAY_HAS_FEATURE(thread_sanitizer)
#define BELAY_TSAN 1
#endif
