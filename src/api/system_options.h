// aclSysParamOpt values, of a context or (owner 0) of the process. Belay is deterministic whatever they
// say; they are kept for programs that read them back.
#pragma once

#include "acl/acl_base.h"
#include "base/handle_table.h"

namespace belay::api {

// Throws 107000 for an option or a value that does not exist.
void SetSystemOption(HandleBits owner, int option, int64_t value);
// Of what was never set: off for the process (torch_npu reads it first), and 107021 for a context.
int64_t GetSystemOption(HandleBits owner, int option);

}  // namespace belay::api
