#include "layers/support/history.h"

#include <cstddef>

#include "layers/support/shared_block.h"
#include "layers/support/shared_text.h"

namespace belay::layers {
namespace {

constexpr const char* kVariable = "BELAY_CHECK_HISTORY";
using Lines = SharedText<size_t{8} << 20>;

Lines* TheLines() {
  static auto* const lines = static_cast<Lines*>(FindSharedBlock(kVariable, sizeof(Lines)));
  return lines;
}

}  // namespace

bool HistoryWanted() { return TheLines() != nullptr; }

bool AddHistory(std::string_view lines) { return HistoryWanted() && TheLines()->Add(lines); }

bool MakeHistory() { return MakeSharedBlock(kVariable, sizeof(Lines)) != nullptr; }

std::string History() { return HistoryWanted() ? TheLines()->All() : std::string(); }

}  // namespace belay::layers
