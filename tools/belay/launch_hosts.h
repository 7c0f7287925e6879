// The hosts of belay launch --hosts: where they are, and which ranks run there.
#pragma once

#include <string>
#include <vector>

namespace belay::tool {

struct LaunchHost {
  std::string name;     // as given, with the user: u@b
  std::string address;  // of the internet, as others reach it; empty: not known here
  int first = 0;        // its ranks
  int count = 0;
};

// Of "a,b": ranks go to them in their order, one more each to the first where they do not divide. Throws
// std::runtime_error for names that are none, or stand there twice, and for more hosts than ranks.
std::vector<LaunchHost> ReadHosts(const std::string& list, int ranks);

}  // namespace belay::tool
