// What is taken away from Belay while it works: memory, threads, address space, descriptors, room in files,
// and time, by signals. Only Belay meets the weather: the functions of the C library that it calls are this
// program's own (weather.cc), and they fail in Belay's threads and inside its calls, not in the rest of this
// program.
#pragma once

#include <cstdint>
#include <string>

namespace chaos {

struct Weather {
  uint32_t memory = 0;   // of a million allocations so many fail
  uint32_t threads = 0;  // of a thousand threads
  uint32_t mappings = 0;
  uint32_t descriptors = 0;  // how many more may be opened; 0: as many as the system lets
  uint64_t file_bytes = 0;   // how long a file may become; 0: as long as it likes
  int signal_us = 0;         // between two signals; 0: none
};

Weather RandomWeather(uint64_t seed);
void SetWeather(const Weather& weather);
std::string Describe(const Weather& weather);

// How much has failed since the program began.
struct Damage {
  uint64_t allocations, threads, mappings, signals;
};
Damage DamageSoFar();

// This thread is the program's; only what it does inside an Inside is Belay's.
void MarkAsOurs();
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace chaos
