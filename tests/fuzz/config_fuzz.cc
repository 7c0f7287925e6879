// The file of aclInit: any bytes give a configuration or an error that says where.
// With: base tensor runtime src/api/config.cc src/api/json_place.cc
#include <algorithm>
#include <iterator>

#include "api/config.h"
#include "base/error.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::MemoryFile file(data, size);
  try {
    belay::api::InitConfig config = belay::api::ReadInitConfig(file.path());
    FUZZ_REQUIRE(config.default_device >= -1);
  } catch (const belay::Error& error) {
    const int codes[] = {100005, 100006, 100008, 107001};  // the last: of a device that does not exist
    FUZZ_REQUIRE(std::count(std::begin(codes), std::end(codes), error.code()) == 1);
    FUZZ_REQUIRE(error.sentence().find(file.path()) != std::string::npos);
  }
  return 0;
}
