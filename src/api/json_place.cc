#include "api/json_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace belay::api {
namespace {

// Walks over valid JSON; nothing is checked.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  // At the beginning of a value: the place of the value behind keys[depth...], or npos. Moves past it.
  size_t Find(const std::vector<std::string>& keys, size_t depth) {
    SkipSpace();
    size_t begin = at_;
    bool wanted = depth == keys.size();
    size_t found = std::string_view::npos;
    if (Peek() == '{') {
      found = Members('}', keys, depth);
    } else if (Peek() == '[') {
      Members(']', {}, 1);
    } else if (Peek() == '"') {
      SkipString();
    } else {
      while (at_ < text_.size() && std::string_view(",}] \t\r\n").find(text_[at_]) == std::string_view::npos)
        ++at_;
    }
    return wanted ? begin : found;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  std::string_view SkipString() {
    size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    size_t end = std::min(at_++, text_.size());
    return text_.substr(begin, end - begin);
  }
  size_t Members(char close, const std::vector<std::string>& keys, size_t depth) {
    static const std::vector<std::string> kNone;
    size_t found = std::string_view::npos;
    ++at_;
    for (SkipSpace(); at_ < text_.size() && Peek() != close; SkipSpace()) {
      bool on_path = false;
      if (close == '}') {
        on_path = depth < keys.size() && SkipString() == keys[depth];
        if (depth >= keys.size()) SkipString();
        SkipSpace();
        ++at_;  // the colon
      }
      size_t inside = Find(on_path ? keys : kNone, on_path ? depth + 1 : 1);
      if (inside != std::string_view::npos) found = inside;
      SkipSpace();
      if (Peek() == ',') ++at_;
    }
    ++at_;
    return found;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string PlaceOf(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
  size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return fmt::format("{}:{}", line, before == std::string_view::npos ? at + 1 : at - before);
}

std::string PlaceOf(std::string_view text, const std::vector<std::string>& keys) {
  size_t at = Walker(text).Find(keys, 0);
  return at == std::string_view::npos ? "" : PlaceOf(text, at);
}

}  // namespace belay::api
