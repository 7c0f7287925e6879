// A string that crosses library boundaries whatever std::string its two sides are compiled with.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ge {

using char_t = char;
using float32_t = float;

class __attribute__((visibility("default"))) AscendString {
 public:
  AscendString() = default;
  ~AscendString() = default;

  // A copy of the text. A null pointer gives the empty string.
  AscendString(const char_t* const name);
  // The first `length` bytes, which may contain zeros.
  AscendString(const char_t* const name, size_t length);

  // The text; "" for a string that was never given one. It lives as long as this object and its copies.
  const char_t* GetString() const;
  size_t GetLength() const;
  // Where the other text begins in this one, or size_t(-1).
  size_t Find(const AscendString& ascend_string) const;
  size_t Hash() const;

  // By contents. A string that was never given a text is equal to the empty one.
  bool operator<(const AscendString& d) const;
  bool operator>(const AscendString& d) const;
  bool operator<=(const AscendString& d) const;
  bool operator>=(const AscendString& d) const;
  bool operator==(const AscendString& d) const;
  bool operator!=(const AscendString& d) const;

 private:
  std::shared_ptr<std::string> name_;
};

}  // namespace ge

namespace std {
template <>
struct hash<ge::AscendString> {
  size_t operator()(const ge::AscendString& name) const { return name.Hash(); }
};
}  // namespace std
