#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace belay {
namespace {

JsonError::Kind KindOf(const std::string& text) {
  try {
    Json::Parse(text);
  } catch (const JsonError& error) {
    return error.kind;
  }
  ADD_FAILURE() << text << " was taken";
  return JsonError::Kind::kOther;
}

TEST(Json, HasWhatTheTextSays) {
  const Json json =
      Json::Parse(R"( {"a": [1, -2, 3.5, true, null, "x\u00e9\n"], "b": {"c": {}}, "a2": []} )");
  const Json::List& list = json.at("a").list();
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[0].Whole<int>(), 1);
  EXPECT_EQ(list[1].Whole<int64_t>(), -2);
  EXPECT_EQ(list[1].Whole<uint64_t>(), std::nullopt);
  EXPECT_EQ(list[2].real(), 3.5);
  EXPECT_EQ(list[2].Whole<int>(), std::nullopt);
  EXPECT_EQ(list[1].real(), -2.0);
  EXPECT_TRUE(list[3].boolean());
  EXPECT_TRUE(list[4].is_null());
  EXPECT_EQ(list[5].text(), "x\xC3\xA9\n");
  EXPECT_TRUE(json.at("b").at("c").members().empty());
  EXPECT_EQ(json.Find("c"), nullptr);
  EXPECT_EQ(list[0].Find("c"), nullptr);
  EXPECT_EQ(json.at("a").at(size_t{1}).real(), -2);
}

TEST(Json, WholeNumbersKeepEveryDigit) {
  for (const char* text : {"9223372036854775807", "-9223372036854775808", "18446744073709551615", "0"})
    EXPECT_EQ(Json::Parse(text).Dump(), text);
  EXPECT_EQ(Json::Parse("18446744073709551615").Whole<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Json::Parse("300").Whole<uint8_t>(), std::nullopt);
  EXPECT_EQ(Json(true).Whole<int>(), std::nullopt);
}

TEST(Json, OfEqualNamesTheLastCounts) {
  const Json json = Json::Parse(R"({"a": {"b": 1}, "a": {"c": [2]}})");
  EXPECT_EQ(json.at("a").Find("b"), nullptr);
  EXPECT_EQ(json.at("a").at("c").at(size_t{0}).Whole<int>(), 2);
}

TEST(Json, AValueOfAnotherKindIsRefused) {
  const Json json = Json::Parse(R"({"a": 1})");
  EXPECT_THROW((void)json.at("b"), JsonError);
  EXPECT_THROW((void)json.at(size_t{0}), JsonError);
  EXPECT_THROW((void)json.text(), JsonError);
  EXPECT_THROW((void)json.real(), JsonError);
  EXPECT_THROW((void)json.boolean(), JsonError);
  EXPECT_THROW((void)json.at("a").list(), JsonError);
  EXPECT_THROW((void)json.at("a").members(), JsonError);
  EXPECT_THROW((void)Json(Json::List{}).at(size_t{0}), JsonError);
}

TEST(Json, TellsWhatIsWrongAndWhere) {
  EXPECT_EQ(KindOf("{\"a\": 1,}"), JsonError::Kind::kSyntax);
  EXPECT_EQ(KindOf(""), JsonError::Kind::kSyntax);
  EXPECT_EQ(KindOf("1 2"), JsonError::Kind::kSyntax);
  EXPECT_EQ(KindOf("\"\xFF\""), JsonError::Kind::kSyntax);
  EXPECT_EQ(KindOf("[1e999]"), JsonError::Kind::kNumberTooLarge);
  try {
    Json::Parse("[1, 2e999]");
  } catch (const JsonError& error) {
    EXPECT_EQ(error.token, "2e999");
  }
  try {
    Json::Parse("[1, ?]");
  } catch (const JsonError& error) {
    EXPECT_EQ(error.at, 5u);
  }
}

// How deep the destructor goes is not for a text to say.
TEST(Json, DeepTextsAreRefused) {
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(Json::Parse(nested(256)).Dump(), nested(256));
  EXPECT_EQ(KindOf(nested(257)), JsonError::Kind::kOther);
  EXPECT_EQ(KindOf(std::string(10'000'000, '[')), JsonError::Kind::kOther);
}

Json Everything() {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  return Json::Members{{"numbers", Json::List{1, -1, uint64_t{1} << 63, 0.1, 1e300, -2.0}},
                       {"words", std::vector<std::string>{"", all, "\xE2\x82\xAC\xF0\x9F\x98\x80"}},
                       {"none", Json()},
                       {"yes", true},
                       {"empty", Json::List{}},
                       {"empty too", Json::Members{}},
                       {"deep", Json::List{Json::List{Json::Members{{"x", 1}}}}}};
}

// Another reader understands what is written, and writes it in the same form.
TEST(Json, WritesWhatOthersRead) {
  const Json json = Everything();
  for (const std::optional<int> indent :
       {std::optional<int>(), std::optional<int>(0), std::optional<int>(2)}) {
    const std::string text = json.Dump(indent);
    EXPECT_EQ(nlohmann::json::parse(text).dump(indent.value_or(-1)), text);
    EXPECT_EQ(Json::Parse(text).Dump(indent), text);
  }
}

TEST(Json, WritesRealNumbersThatStayReal) {
  for (double value : {0.1, 1e300, -2.0, 1e5, 5e-324, std::numeric_limits<double>::max()}) {
    const Json read = Json::Parse(Json(value).Dump());
    EXPECT_FALSE(read.is_whole()) << value;
    EXPECT_EQ(read.real(), value);
  }
  EXPECT_EQ(Json(HUGE_VAL).Dump(), "null");
}

TEST(Json, WhatIsNoUtf8IsReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(Json("a\xFFz").Dump(), "\"a" + bad + "z\"");
  EXPECT_EQ(Json("\xC0\x80").Dump(), "\"" + bad + bad + "\"");            // not the shortest form
  EXPECT_EQ(Json("\xED\xA0\x80").Dump(), "\"" + bad + bad + bad + "\"");  // half a pair of UTF-16
  EXPECT_EQ(Json("\xE2\x82").Dump(), "\"" + bad + bad + "\"");            // cut off
  for (int first = 0x80; first < 0x100; ++first) {
    for (int second : {0x20, 0x80, 0x90, 0xA0, 0xBF, 0xC0}) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second), '\x80', '\x80'};
      EXPECT_NO_THROW(Json::Parse(Json(bytes).Dump())) << first << ' ' << second;
    }
  }
}

}  // namespace
}  // namespace belay
