#include "atc/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/option_samples.h"

namespace atc {
namespace {

Options Parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "atc");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return Parse(static_cast<int>(arguments.size()), arguments.data());
}

std::string OptionError(const std::vector<std::string>& words) {
  try {
    Parsed(words);
  } catch (const belay::Error& error) {
    return error.sentence();
  }
  return "";
}

TEST(Options, AreWrittenInEachForm) {
  EXPECT_EQ(Parsed({"--model=a=b.onnx"}).Get("model"), "a=b.onnx");
  EXPECT_EQ(Parsed({"-model", "m"}).Get("model"), "m");
  EXPECT_EQ(Parsed({"model=m"}).Get("model"), "m");
  EXPECT_EQ(Parsed({"--soc-version=Ascend310"}).Get("soc_version"), "Ascend310");
  EXPECT_EQ(Parsed({}).Get("mode"), "0");
  EXPECT_TRUE(Parsed({"--help"}).help);
}

TEST(Options, ThatAreUnknownOrEmptyAreRefused) {
  EXPECT_THAT(OptionError({"--modle=m"}), testing::StartsWith("E10001: there is no option --modle"));
  EXPECT_THAT(OptionError({"--model="}), testing::StartsWith("E10004"));
  EXPECT_THAT(OptionError({"--model"}), testing::StartsWith("E10004"));
  EXPECT_THAT(OptionError({"--weight=w"}), testing::HasSubstr("only for Caffe"));
}

TEST(Options, WithChoicesTakeNothingElse) {
  EXPECT_THAT(OptionError({"--log=loud"}),
              testing::StartsWith("E10010: option --log is 'loud'; it must be one of debug, info"));
  EXPECT_THAT(OptionError({"--disable_reuse_memory=2"}), testing::StartsWith("E10006"));
  EXPECT_THAT(OptionError({"--enable_single_stream=1"}), testing::StartsWith("E10005"));
  EXPECT_THAT(OptionError({"--precision_mode=fp16"}),
              testing::StartsWith("E10001: option --precision_mode is 'fp16'"));
  EXPECT_EQ(OptionError({"--precision_mode=allow_mix_precision"}), "");
  EXPECT_THAT(OptionError({"--is_input_adjust_hw_layout=true,true"}), testing::StartsWith("E10001"));
  EXPECT_EQ(OptionError({"--log=error", "--disable_reuse_memory=1", "--enable_single_stream=true"}), "");
}

TEST(Options, EveryValueThatIsListedIsTakenAndOthersAreRefused) {
  for (const belay::graph::OptionRow& row : belay::graph::AllOptions()) {
    if (*row.flag == '\0' || row.use == belay::graph::AtcUse::kRefused) continue;
    const std::string option = std::string("--") + row.flag;
    for (const std::string& value : option_samples::Good(row))
      EXPECT_EQ(OptionError({option + "=" + value}), "");
    for (const std::string& value : option_samples::Meaningless(row)) {
      EXPECT_THAT(
          OptionError({option + "=" + value}),
          testing::HasSubstr("option " + option + " is '" + value + "'; it must be " + Wanted(row, value)));
    }
  }
}

TEST(Options, WithoutEffectAreTold) {
  EXPECT_THAT(Parsed({"--op_debug_level=0", "--model=m"}).without_effect,
              testing::ElementsAre("op_debug_level"));
}

}  // namespace
}  // namespace atc
