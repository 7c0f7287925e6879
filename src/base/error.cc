#include "base/error_about.h"

#include <new>

namespace belay {

std::string FormatOrNothing(fmt::string_view sentence, fmt::format_args args) {
  try {
    return fmt::vformat(sentence, args);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void ThrowFormatted(int code, const char* id, fmt::string_view sentence, fmt::format_args args) {
  throw Error(code, id, FormatOrNothing(sentence, args));
}

const void* AboutOf(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const ErrorAbout& e) {
    return e.about();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace belay
