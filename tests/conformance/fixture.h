// What the conformance tests share. They use nothing but the public C interface.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "peek.h"

namespace conformance {

inline std::string TakeMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

// Empty for success that leaves no text; else what went wrong.
inline std::string Outcome(aclError code) {
  std::string message = TakeMessage();
  return code == ACL_SUCCESS ? message : "code " + std::to_string(code) + ": " + message;
}
#define EXPECT_OK(call) EXPECT_EQ(::conformance::Outcome(call), "") << #call
#define ASSERT_OK(call) ASSERT_EQ(::conformance::Outcome(call), "") << #call

// The code, and a message that names the function and says what `words` (a regular expression) asks for.
#define EXPECT_REFUSED(code, call, words) \
  ::conformance::ExpectRefused(           \
      code, [&] { return call; }, #call, words, __FILE__, __LINE__)

template <class Call>
void ExpectRefused(aclError code, Call&& call, std::string what, const char* words, const char* file,
                   int line) {
  ::testing::ScopedTrace trace(file, line, what);
  TakeMessage();
  EXPECT_EQ(static_cast<aclError>(call()), code);
  std::string message = TakeMessage();
  EXPECT_THAT(message, ::testing::HasSubstr(what.substr(0, what.find('('))));
  EXPECT_THAT(message, ::testing::ContainsRegex(words));
  EXPECT_THAT(message, ::testing::HasSubstr(std::to_string(code)));
}

// Handles that are none: random values, an address, values close to real ones.
inline std::vector<void*> ForeignHandles() {
  static int somewhere;
  std::vector<void*> handles = {&somewhere, reinterpret_cast<void*>(1), reinterpret_cast<void*>(-1)};
  for (uint64_t bits : {0xdeadbeefull, 0x11fffff100000000ull, 0x12ffffff00000001ull, 0x7fffffffffffffffull,
                        0x8000000000000000ull, 0x13000001ffffffffull}) {
    handles.push_back(reinterpret_cast<void*>(bits));
  }
  return handles;
}

// Keeps a function object for as long as a stream may call it: for ever, but where leak checkers see it.
inline std::function<void()>* Keep(std::function<void()> function) {
  static auto* lock = new std::mutex;
  static auto* kept = new std::deque<std::function<void()>>;
  std::lock_guard guard(*lock);
  kept->push_back(std::move(function));
  return &kept->back();
}

// A function of the program, queued on a stream.
inline void Call(aclrtStream stream, std::function<void()> function) {
  std::function<void()>* kept = Keep(std::move(function));
  ASSERT_OK(aclrtLaunchHostFunc(
      stream, [](void* f) { (*static_cast<std::function<void()>*>(f))(); }, kept));
}

// Holds a stream at this point until it is let go.
class Hold {
 public:
  explicit Hold(aclrtStream stream) {
    auto go = gate_.get_future().share();
    auto reached = reached_;
    Call(stream, [go, reached] {
      reached->set_value();
      go.wait();
    });
  }
  ~Hold() { LetGo(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void LetGo() {
    if (!std::exchange(gone_, true)) gate_.set_value();
  }
  void AwaitReached() { reached_->get_future().wait(); }

 private:
  std::promise<void> gate_;
  std::shared_ptr<std::promise<void>> reached_ = std::make_shared<std::promise<void>>();
  bool gone_ = false;
};

// Started, device 0 set, nothing left behind at the end.
class Started : public ::testing::Test {
 protected:
  void SetUp() override {
    TakeMessage();
    ASSERT_OK(aclInit(nullptr));
    ASSERT_OK(aclrtSetDevice(0));
  }
  void TearDown() override {
    aclFinalize();
    TakeMessage();
  }

  aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    return stream;
  }
  aclrtEvent NewEvent() {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtCreateEvent(&event));
    return event;
  }
  aclrtEvent NewEvent(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtCreateEventWithFlag(&event, flag));
    return event;
  }
  aclrtEvent NewExEvent(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtCreateEventExWithFlag(&event, flag));
    return event;
  }
  aclrtContext CurrentContext() {
    aclrtContext context = nullptr;
    EXPECT_OK(aclrtGetCurrentContext(&context));
    return context;
  }
  // Context of its own; the thread's context stays what it was.
  aclrtContext OtherContext(int device) {
    aclrtContext mine = CurrentContext();
    aclrtContext other = nullptr;
    EXPECT_OK(aclrtCreateContext(&other, device));
    EXPECT_OK(aclrtSetCurrentContext(mine));
    return other;
  }
  aclrtStream StreamOf(aclrtContext context) {
    aclrtContext mine = CurrentContext();
    EXPECT_OK(aclrtSetCurrentContext(context));
    aclrtStream stream = NewStream();
    EXPECT_OK(aclrtSetCurrentContext(mine));
    return stream;
  }
  bool Idle(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
};

// Until the kernel says that the thread sleeps: a waiting call has nothing else to show.
inline void AwaitAsleep(pid_t thread) {
  std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (;;) {
    std::string stat;
    std::getline(std::ifstream(path), stat);
    size_t name_end = stat.rfind(')');
    ASSERT_NE(name_end, std::string::npos) << path;
    if (stat.at(name_end + 2) == 'S') return;
    std::this_thread::yield();
  }
}

// Runs in a thread of its own and waits for it.
template <class Body>
void InThread(Body&& body) {
  std::thread(std::forward<Body>(body)).join();
}

}  // namespace conformance
