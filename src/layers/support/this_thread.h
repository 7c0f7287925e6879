// The number that the system has given the calling thread, asked for once.
#pragma once

namespace belay::layers {

int ThisThread();

}  // namespace belay::layers
