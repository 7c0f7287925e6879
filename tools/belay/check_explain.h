// The sections of docs/check.md, which explain the kinds of reports; the command holds that file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::tool {

// Of a kind: what stands below its heading.
std::string_view ExplanationOf(std::string_view kind);
// The same for the page.
std::string ExplanationAsHtml(std::string_view kind);

// belay explain: prints those of these kinds; of none, what kinds there are. Returns the exit code.
int ExplainKinds(const std::vector<std::string>& kinds);

}  // namespace belay::tool
