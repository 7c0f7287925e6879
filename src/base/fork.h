// What has to start afresh in a forked child: locks and queues that another thread of the parent may
// have held or filled.
#pragma once

namespace belay {

// Adds a hook that runs, in order, when a forked child calls aclInit. Call it during static
// initialisation or the first start.
void AtChildRestart(void (*hook)());
void RunChildRestartHooks();

}  // namespace belay
