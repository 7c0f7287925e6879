#include "base/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace belay {
namespace {

// No text that Belay writes comes near; a text from elsewhere must not decide how deep the destructor goes.
constexpr size_t kMostLevels = 256;

}  // namespace

// What nlohmann's parser calls for each thing that it has read.
class JsonBuilder {
 public:
  Json TakeRoot() { return std::move(root_); }

  bool null() { return Add({}); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string& /*token*/) { return Add(value); }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(size_t /*size*/) { return Open(Json::Members()); }
  bool start_array(size_t /*size*/) { return Open(Json::List()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    name_ = std::move(name);
    return true;
  }
  [[noreturn]] bool parse_error(size_t at, const std::string& token, const nlohmann::json::exception& error) {
    const bool number = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
    throw JsonError(error.what(), number ? JsonError::Kind::kNumberTooLarge : JsonError::Kind::kSyntax, at,
                    token);
  }

 private:
  Json& Place() {
    if (open_.empty()) return root_;
    Json& within = *open_.back();
    if (auto* list = std::get_if<Json::List>(&within.value_)) return list->emplace_back();
    return std::get<Json::Members>(within.value_)[name_];
  }
  bool Add(Json value) {
    Place() = std::move(value);
    return true;
  }
  bool Open(Json empty) {
    if (open_.size() == kMostLevels) throw JsonError("more than 256 levels of { } and [ ]");
    Json& place = Place();
    place = std::move(empty);
    open_.push_back(&place);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // from the root inwards
  std::string name_;         // of the member whose value comes next
};

namespace {

// How many bytes the character that begins here has; 0 when none does.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (length < 3) return length;
  // The shortest form, no half of a pair of UTF-16, and nothing above U+10FFFF.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

template <class T>
const T& Get(const T* value, const char* otherwise) {
  if (value == nullptr) throw JsonError(otherwise);
  return *value;
}

}  // namespace

class JsonWriter {
 public:
  explicit JsonWriter(std::optional<int> indent) : indent_(indent) {}
  std::string Take() { return std::move(to_); }

  void Write(const Json& json) {
    std::visit([this](const auto& value) { Put(value); }, json.value_);
  }

 private:
  void Put(std::monostate) { to_ += "null"; }
  void Put(bool value) { to_ += value ? "true" : "false"; }
  void Put(int64_t value) { to_ += std::to_string(value); }
  void Put(uint64_t value) { to_ += std::to_string(value); }
  void Put(double value) {
    if (!std::isfinite(value)) return Put(std::monostate());
    char digits[40];
    const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string_view text(digits, static_cast<size_t>(end - digits));
    to_ += text;
    if (text.find_first_of(".e") == std::string_view::npos) to_ += ".0";  // it stays no whole number
  }
  void Put(const std::string& value) {
    to_ += '"';
    for (size_t i = 0; i < value.size();) {
      const size_t length = Utf8Length(std::string_view(value).substr(i));
      if (length == 1) {
        PutCharacter(value[i]);
      } else if (length == 0) {
        to_ += "\xEF\xBF\xBD";
      } else {
        to_.append(value, i, length);
      }
      i += length == 0 ? 1 : length;
    }
    to_ += '"';
  }
  void PutCharacter(char c) {
    static constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    static constexpr char kDigits[] = "0123456789abcdef";
    if (const size_t at = kNamed.find(c); at != std::string_view::npos) {
      to_ += '\\';
      to_ += kNames[at];
    } else if (c >= 0 && c < 0x20) {
      to_ += "\\u00";
      to_ += kDigits[c >> 4];
      to_ += kDigits[c & 15];
    } else {
      to_ += c;
    }
  }
  void Put(const Json::List& list) {
    PutAll('[', list, ']', [this](const Json& value) { Write(value); });
  }
  void Put(const Json::Members& members) {
    PutAll('{', members, '}', [this](const auto& member) {
      Put(member.first);
      to_ += indent_ ? ": " : ":";
      Write(member.second);
    });
  }
  template <class All, class One>
  void PutAll(char open, const All& all, char close, const One& one) {
    to_ += open;
    ++level_;
    bool first = true;
    for (const auto& each : all) {
      if (!first) to_ += ',';
      first = false;
      NewLine();
      one(each);
    }
    --level_;
    if (!first) NewLine();
    to_ += close;
  }
  void NewLine() {
    if (!indent_) return;
    to_ += '\n';
    to_.append(level_ * static_cast<size_t>(*indent_), ' ');
  }

  std::string to_;
  const std::optional<int> indent_;
  size_t level_ = 0;
};

Json Json::Parse(std::string_view text) {
  JsonBuilder builder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.TakeRoot();
}

std::string Json::Dump(std::optional<int> indent) const {
  JsonWriter writer(indent);
  writer.Write(*this);
  return writer.Take();
}

bool Json::boolean() const { return Get(std::get_if<bool>(&value_), "a value is neither true nor false"); }
double Json::real() const {
  if (const int64_t* number = WholeSigned()) return static_cast<double>(*number);
  if (const uint64_t* number = WholeUnsigned()) return static_cast<double>(*number);
  return Get(std::get_if<double>(&value_), "a value is no number");
}
const std::string& Json::text() const {
  return Get(std::get_if<std::string>(&value_), "a value is no string");
}
const Json::List& Json::list() const { return Get(std::get_if<List>(&value_), "a value is no list"); }
const Json::Members& Json::members() const {
  return Get(std::get_if<Members>(&value_), "a value is no object");
}

const Json* Json::Find(std::string_view name) const {
  const auto* all = std::get_if<Members>(&value_);
  if (all == nullptr) return nullptr;
  const auto found = all->find(name);
  return found == all->end() ? nullptr : &found->second;
}

const Json& Json::at(std::string_view name) const {
  const Json* found = Find(name);
  if (found == nullptr) throw JsonError(("'" + std::string(name) + "' is missing").c_str());
  return *found;
}

const Json& Json::at(size_t index) const {
  const List& all = list();
  if (index >= all.size()) throw JsonError("a list is too short");
  return all[index];
}

}  // namespace belay
