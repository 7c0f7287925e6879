#include "graph/ascend_string.h"

#include <string_view>

namespace ge {
namespace {

std::string_view View(const std::shared_ptr<std::string>& name) {
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

}  // namespace

AscendString::AscendString(const char_t* const name) {
  if (name != nullptr) name_ = std::make_shared<std::string>(name);
}
AscendString::AscendString(const char_t* const name, size_t length) {
  if (name != nullptr) name_ = std::make_shared<std::string>(name, length);
}

const char_t* AscendString::GetString() const { return name_ == nullptr ? "" : name_->c_str(); }
size_t AscendString::GetLength() const { return View(name_).size(); }
size_t AscendString::Find(const AscendString& text) const { return View(name_).find(View(text.name_)); }
size_t AscendString::Hash() const { return std::hash<std::string_view>()(View(name_)); }

bool AscendString::operator<(const AscendString& d) const { return View(name_) < View(d.name_); }
bool AscendString::operator>(const AscendString& d) const { return View(name_) > View(d.name_); }
bool AscendString::operator<=(const AscendString& d) const { return View(name_) <= View(d.name_); }
bool AscendString::operator>=(const AscendString& d) const { return View(name_) >= View(d.name_); }
bool AscendString::operator==(const AscendString& d) const { return View(name_) == View(d.name_); }
bool AscendString::operator!=(const AscendString& d) const { return View(name_) != View(d.name_); }

}  // namespace ge
