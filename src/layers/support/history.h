// What the program did around its reports, for the timeline of `belay check --html`: memory that the command
// makes where a page is asked for. One line a record, its words with tabs between them (report_file.h); a
// spot is a place of the timeline, "s5:17" the 17th of stream 5, "t41:7" what thread 41 did as the program's
// 7th, "m2.s5:3" node 3 of model 2, captured on stream 5.
//
//   site <process> <site> <kind> <name> <call>   what a place of the program does; its frames follow
//   frame <file> <line> <function>
//   event <process> <spot> <number> <site> <thread> <spot>...   and what it comes after
#pragma once

#include <string>
#include <string_view>

namespace belay::layers {

// Whether a page is asked for.
bool HistoryWanted();
// Adds whole lines; false: there is no room any more.
bool AddHistory(std::string_view lines);

// For the command, before it starts the program. False with the reason in errno.
bool MakeHistory();
// All that was added.
std::string History();

}  // namespace belay::layers
