// The file of aclInit: any bytes give a configuration or an error that says where.
// With: base runtime src/api/config.cc src/api/json_place.cc
#include "api/config.h"
#include "base/error.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::MemoryFile file(data, size);
  try {
    belay::api::InitConfig config = belay::api::ReadInitConfig(file.path());
    FUZZ_REQUIRE(config.default_device >= -1);
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() == 100005 || error.code() == 100006 || error.code() == 100008);
    FUZZ_REQUIRE(error.sentence().find(file.path()) != std::string::npos);
  }
  return 0;
}
