#include "layers/trace/call_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace belay::trace {
namespace {

constexpr BelayName kKinds[] = {{0, "TO_DEVICE"}, {-1, "NONE"}, {0, nullptr}};
constexpr const BelayName* kEnums[] = {kKinds};
constexpr BelayName kErrors[] = {{7, "BAD_SEVEN"}, {0, nullptr}};
constexpr BelayCall kFunctions[] = {
    {"copy", "r", "to:p,bytes:u,kind:e0,ratio:d,on:b,by:i,name:s"},
    {"make", "r", "out:P,size:Q,state:E0,share:F,count:W"},
    {"apply", "r", "x:t,stream:p"},
    {"size", "u", ""},
    {"give", "v", "what:x"},
};
constexpr BelayCalls kCalls = {5, kFunctions, kEnums, kErrors};

uint64_t BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
template <class T>
uint64_t At(const T* p) {
  return reinterpret_cast<uint64_t>(p);
}
std::string WordsOf(uint32_t call, uint64_t result, const std::vector<uint64_t>& arguments,
                    ObjectWords objects = nullptr) {
  return CallWords(kCalls, call, result, arguments.data(), objects);
}

TEST(CallWords, ShowsValuesByTheirTypes) {
  EXPECT_EQ(WordsOf(0, 0, {0xab, ~uint64_t{0}, 0, BitsOf(0.5), 1, ~uint64_t{0}, At("a\n\"b")}),
            "copy(to=0xab, bytes=18446744073709551615, kind=TO_DEVICE, ratio=0.5, on=true, by=-1, "
            "name=\"a\\n\\\"b\") = 0");
  EXPECT_EQ(WordsOf(0, 0, {0, 0, 0xffffffff, 0, 0, 0, At(std::string(70, 'x').c_str())}),
            "copy(to=null, bytes=0, kind=NONE, ratio=0, on=false, by=0, name=\"" + std::string(64, 'x') +
                "\"...) = 0");
  EXPECT_EQ(WordsOf(0, 0, {0, 0, 5, 0, 0, 0, 0}),
            "copy(to=null, bytes=0, kind=5, ratio=0, on=false, by=0, name=null) = 0");
  EXPECT_EQ(WordsOf(3, 12, {}), "size() = 12");
  EXPECT_EQ(WordsOf(4, 0, {0}), "give(what={...})");
}

TEST(CallWords, LooksAtResultsOfACallThatSucceeded) {
  void* out = reinterpret_cast<void*>(0x40);
  const size_t size = 3;
  const int state = 0;
  const float share = 0.25f;
  const uint32_t count = 9;
  const std::vector<uint64_t> arguments = {At(&out), At(&size), At(&state), At(&share), At(&count)};
  const std::string words = WordsOf(1, 0, arguments);
  for (const char* part : {" -> 0x40, size=", " -> 3, ", " -> TO_DEVICE, ", " -> 0.25, ", " -> 9) = 0"}) {
    EXPECT_NE(words.find(part), std::string::npos) << words;
  }
}

// What a call was given need not be there when it refuses it.
TEST(CallWords, LooksAtNothingWhenTheCallFailed) {
  EXPECT_EQ(WordsOf(1, 7, {1, 2, 3, 4, 5}),
            "make(out=0x1, size=0x2, state=0x3, share=0x4, count=0x5) = 7 BAD_SEVEN");
  EXPECT_EQ(WordsOf(0, 8, {0, 0, 0, 0, 0, 0, 1}),
            "copy(to=null, bytes=0, kind=TO_DEVICE, ratio=0, on=false, by=0, name=0x1) = 8");
}

TEST(CallWords, DescribesObjects) {
  const auto words = +[](char letter, uint64_t handle) {
    return handle == 5 ? std::string(1, letter) + " [2, 3]" : std::string();
  };
  EXPECT_EQ(WordsOf(2, 0, {5, 6}, words), "apply(x=0x5 t [2, 3], stream=0x6) = 0");
  EXPECT_EQ(WordsOf(2, 0, {6, 6}, words), "apply(x=0x6, stream=0x6) = 0");
  EXPECT_EQ(WordsOf(2, 0, {5, 6}), "apply(x=0x5, stream=0x6) = 0");
}

class Log : public testing::Test {
 protected:
  Log() {
    path_ = testing::TempDir() + "belay-calls-XXXXXX";
    close(mkstemp(path_.data()));
  }
  ~Log() override { std::filesystem::remove(path_); }

  std::string Text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The words of each line that has any.
  std::vector<std::string> Lines() const {
    std::istringstream in(Text());
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      std::istringstream parts(line);
      std::string time, took, unit, thread, words;
      if (parts >> time >> took >> unit >> thread >> words) lines.push_back(words);
    }
    return lines;
  }
  std::string path_;
};

TEST_F(Log, LinesBeginAndEndWithTheirPieces) {
  const std::string words(1000, 'w');
  {
    CallLog log(path_);
    for (int i = 0; i < 200; ++i) log.Write({1, 2, 3}, words);
  }
  EXPECT_EQ(Lines(), std::vector<std::string>(200, words));
  const std::string text = Text();
  EXPECT_EQ(text.find("\n\n"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 6), "wwwww\n") << "what is not used of the last piece is given back";
}

TEST_F(Log, SaysWhenHowLongAndWhichThread) {
  setenv("BELAY_CALLS_START", "1000000000", 1);
  {
    CallLog log(path_);
    log.Write({1'000'002'345, 1'000'002'345, 7}, "f()");
    log.Write({13'345'678'999, 13'345'691'299, 71}, "g()");
  }
  unsetenv("BELAY_CALLS_START");
  EXPECT_EQ(Text(), "     0.000002       0.0 us 7 f()\n    12.345678      12.3 us 71 g()\n");
}

TEST_F(Log, SeveralWritersShareAFile) {
  {
    CallLog one(path_), other(path_);
    for (int i = 0; i < 100; ++i) {
      one.Write({1, 2, 3}, std::string(999, 'a'));
      other.Write({1, 2, 3}, std::string(999, 'b'));
      if (i == 50) other.Trim();
    }
  }
  int a = 0, b = 0;
  for (const std::string& line : Lines()) {
    a += line == std::string(999, 'a');
    b += line == std::string(999, 'b');
  }
  EXPECT_EQ(a, 100);
  EXPECT_EQ(b, 100);
}

TEST_F(Log, AKilledProcessLeavesItsLines) {
  const pid_t child = fork();
  if (child == 0) {
    CallLog log(path_);
    log.Write({1, 2, 3}, "last");
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(Lines(), std::vector<std::string>{"last"});
  EXPECT_EQ(Text().find('\0'), std::string::npos);
}

TEST_F(Log, AChildOfForkLeavesTheFileAlone) {
  CallLog log(path_);
  log.Write({1, 2, 3}, "before");
  const pid_t child = fork();
  if (child == 0) {
    log.Trim();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(Text().size(), CallLog::kPiece);
  log.Write({1, 2, 3}, "after");
  EXPECT_EQ(Lines(), (std::vector<std::string>{"before", "after"}));
}

TEST_F(Log, AFileThatCannotGrowIsToldOfOnce) {
  testing::internal::CaptureStderr();
  {
    CallLog log("/dev/full");
    log.Write({1, 2, 3}, "a");
    log.Write({1, 2, 3}, "b");
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("belay trace: cannot write to /dev/full: "), std::string::npos) << told;
  EXPECT_EQ(told.find("belay trace", 1), std::string::npos) << told;
}

}  // namespace
}  // namespace belay::trace
