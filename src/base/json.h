// A JSON document. The parser is nlohmann's; its values are not used, because their destructor asks for
// memory and ends the process when there is none. The destructor of these asks for none.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay {

// The text is no JSON, or the value is not of the kind that was asked for.
class JsonError : public std::runtime_error {
 public:
  enum class Kind { kSyntax, kNumberTooLarge, kOther };
  explicit JsonError(const char* what, Kind kind = Kind::kOther, size_t at = 0, std::string token = {})
      : std::runtime_error(what), kind(kind), at(at), token(std::move(token)) {}

  const Kind kind;
  const size_t at;          // how many bytes of the text had been read
  const std::string token;  // the last word of them
};

class Json {
 public:
  using List = std::vector<Json>;
  using Members = std::map<std::string, Json, std::less<>>;

  Json() = default;  // null
  Json(std::same_as<bool> auto value) : value_(value) {}
  Json(std::signed_integral auto value) : value_(int64_t{value}) {}
  Json(std::unsigned_integral auto value) requires(!std::same_as<decltype(value), bool>)
      : value_(uint64_t{value}) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(List value) : value_(std::move(value)) {}
  Json(Members value) : value_(std::move(value)) {}
  template <class T>
  requires(!std::same_as<T, Json> && std::constructible_from<Json, const T&>)
      Json(const std::vector<T>& values)
      : value_(List(values.begin(), values.end())) {}

  // Of equal names the last counts.
  static Json Parse(std::string_view text);
  // Indented by so many blanks a level, or in one line. What is no UTF-8 is replaced.
  std::string Dump(std::optional<int> indent = {}) const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Members>(value_); }
  bool is_whole() const { return WholeSigned() != nullptr || WholeUnsigned() != nullptr; }
  bool is_number() const { return is_whole() || std::holds_alternative<double>(value_); }

  // These throw JsonError when the value is of another kind.
  bool boolean() const;
  double real() const;  // of any number
  const std::string& text() const;
  const List& list() const;
  const Members& members() const;
  const Json& at(std::string_view name) const;
  const Json& at(size_t index) const;

  // Null when there is no such member.
  const Json* Find(std::string_view name) const;
  // A whole number that the type holds.
  template <std::integral Number>
  std::optional<Number> Whole() const {
    if (const int64_t* number = WholeSigned(); number != nullptr && std::in_range<Number>(*number))
      return static_cast<Number>(*number);
    if (const uint64_t* number = WholeUnsigned(); number != nullptr && std::in_range<Number>(*number))
      return static_cast<Number>(*number);
    return std::nullopt;
  }

 private:
  const int64_t* WholeSigned() const { return std::get_if<int64_t>(&value_); }
  const uint64_t* WholeUnsigned() const { return std::get_if<uint64_t>(&value_); }
  friend class JsonBuilder;
  friend class JsonWriter;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Members> value_;
};

}  // namespace belay
