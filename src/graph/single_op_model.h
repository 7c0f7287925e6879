// Model files that hold one operator (atc --singleop, aclopLoad): ordinary `.om` files whose option
// "single_op" names the operator's type. The graph is the operator's node with its inputs and constants, and
// the outputs are declared as they were described; so the file tells what a call must ask for to be served.
#pragma once

#include <string>
#include <vector>

#include "graph/om/om.h"
#include "graph/single_op.h"

namespace belay::graph {

inline constexpr const char* kSingleOpOption = "single_op";

// A file for the operator, whose results must be described. Sizes of -1 and ranks that are not known are left
// open. Throws Error when there is no such operator, or when it does not give the results that are described.
ModelFile SingleOpModel(const SingleOp& op);

// The operator that a file holds. Throws Error when it holds none.
SingleOp SingleOpOf(const ModelFile& file);

// What a program has loaded. Loading an operator again changes nothing.
void LoadSingleOp(SingleOp op);
// The files *.om in the folder, in its folders and in theirs.
void LoadSingleOps(const std::string& folder);
// Throws 100024 when something is loaded, but neither an operator that serves this call nor a prepared one.
void NeedLoaded(rt::Device& device, const SingleOp& op);
void ForgetLoadedOps();

// An operator that was built for `built` serves a call for `asked`: the same type, arguments and attributes,
// where sizes that were left open are served by any.
bool Serves(const SingleOp& built, const SingleOp& asked);

}  // namespace belay::graph
