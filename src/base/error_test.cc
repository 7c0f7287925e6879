#include "base/error.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

TEST(Error, CarriesCodeIdAndFormattedSentence) {
  try {
    Fail(107017, "stale-handle", "stream {} was destroyed by {}", 7, "aclrtDestroyStream");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), 107017);
    EXPECT_STREQ(error.id(), "stale-handle");
    EXPECT_EQ(error.sentence(), "stream 7 was destroyed by aclrtDestroyStream");
    EXPECT_STREQ(error.what(), error.sentence().c_str());
    return;
  }
  FAIL() << "Fail returned";
}

TEST(Error, FormatsNumbersWithoutLocale) {
  try {
    Fail(100000, "bad-size", "{} bytes, factor {}", uint64_t{1} << 63, 1.5);
  } catch (const Error& error) {
    EXPECT_EQ(error.sentence(), "9223372036854775808 bytes, factor 1.5");
  }
}

TEST(Error, SurvivesCopying) {
  Error original(100000, "an-id", "a sentence");
  Error copy = original;
  EXPECT_EQ(copy.sentence(), "a sentence");
  EXPECT_EQ(copy.code(), original.code());
}

}  // namespace
}  // namespace belay
