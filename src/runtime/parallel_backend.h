// Lends the engine's workers to belay::ParallelFor.
#pragma once

namespace belay::rt {

void InstallParallelBackend(int workers);  // 1 or less: work stays inline

}  // namespace belay::rt
