// What the program did around its reports, for the timeline of the page.
#pragma once

#include <string>
#include <vector>

#include "belay/check_reports.h"

namespace belay::tool {

// Of the lines that layers wrote (layers/support/history.h), as check_page.js reads it; it can stand in a
// page. Empty where there is nothing to show.
std::string HistoryAsJson(const std::string& lines, const std::vector<CheckReport>& reports);

}  // namespace belay::tool
