// The one error type of the core: a code, a sentence, and the id under which docs/messages.md explains
// it. Core code throws it; the call guard and the task runner (runtime/run_task.h) are the only two places
// that catch it for good.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace belay {

class Error : public std::exception {
 public:
  // `id` is a string literal such as "stream-other-context"; it is the anchor in docs/messages.md.
  Error(int code, const char* id, std::string sentence) noexcept
      : code_(code), id_(id), sentence_(std::move(sentence)) {}

  int code() const { return code_; }
  const char* id() const { return id_; }
  const std::string& sentence() const { return sentence_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  int code_;
  const char* id_;
  std::string sentence_;
};

// Without memory for the sentence the Error has none: the code must not depend on it.
[[noreturn, gnu::cold]] void ThrowFormatted(int code, const char* id, fmt::string_view sentence,
                                            fmt::format_args args);

// Throws an Error whose sentence is formatted. Say what was seen, what was wanted, what to do next.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void Fail(int code, const char* id,
                                                 fmt::format_string<Args...> sentence, Args&&... args) {
  ThrowFormatted(code, id, sentence, fmt::make_format_args(args...));
}

}  // namespace belay
