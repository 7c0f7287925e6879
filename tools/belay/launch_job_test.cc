#include "belay/launch_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "belay/launch_hosts.h"

namespace belay::tool {
namespace {

LaunchJob SomeJob() {
  LaunchJob job;
  job.run.command = {"program", "", "a b", "=", "'\n\377"};
  job.run.workers = "3";
  job.run.preload = true;
  job.directory = "/a=b";
  job.host = "u@b";
  job.rank_table = "{}\n";
  job.first = 3;
  job.here = 2;
  job.ranks = 5;
  job.grace = 0.5;
  job.environment = {{"A", ""}, {"B", "x=y\nz"}};
  return job;
}

TEST(LaunchJob, GoesAndComes) {
  const LaunchJob job = SomeJob();
  const std::string bytes = Encode(LaunchFrame{LaunchFrame::kJob, Encode(job)}) +
                            Encode(LaunchFrame{LaunchFrame::kSignal, "\017"}) + Encode(LaunchFrame{});
  LaunchInbox inbox;
  std::vector<LaunchFrame> frames;
  for (char byte : bytes) {
    inbox.Append({&byte, 1});
    while (auto frame = inbox.Take()) frames.push_back(*frame);
  }
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[1].kind, LaunchFrame::kSignal);
  EXPECT_EQ(frames[1].body, "\017");
  EXPECT_EQ(frames[2].kind, LaunchFrame::kBeat);
  const LaunchJob read = DecodeLaunchJob(frames[0].body);
  EXPECT_EQ(read.run.command, job.run.command);
  EXPECT_EQ(read.run.workers, "3");
  EXPECT_TRUE(read.run.preload);
  EXPECT_EQ(read.directory, job.directory);
  EXPECT_EQ(read.host, job.host);
  EXPECT_EQ(read.rank_table, job.rank_table);
  EXPECT_EQ(read.first, 3);
  EXPECT_EQ(read.here, 2);
  EXPECT_EQ(read.ranks, 5);
  EXPECT_EQ(read.grace, 0.5);
  EXPECT_EQ(read.environment, job.environment);
}

// Whatever comes is refused, or is a whole job.
TEST(LaunchJob, AnyBytes) {
  const std::string whole = Encode(LaunchFrame{LaunchFrame::kJob, Encode(SomeJob())});
  std::minstd_rand random(7);
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    LaunchInbox inbox;
    inbox.Append(bytes);
    try {
      if (const auto frame = inbox.Take()) {
        const LaunchJob job = DecodeLaunchJob(frame->body);
        EXPECT_FALSE(job.run.command.empty());
        EXPECT_LE(job.first + job.here, job.ranks);
        ++taken;
      }
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_THROW(DecodeLaunchJob(""), std::runtime_error);
  std::string other = Encode(SomeJob());
  other[std::string("version=belay launch ").size()] = '0';
  try {
    DecodeLaunchJob(other);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("install the same on all hosts"));
  }
}

TEST(LaunchJob, FailureNotices) {
  int code = 0;
  std::string who;
  EXPECT_TRUE(ReadFailureNotice(FailureNotice(139, "rank 3 (process 7 on b)"), &code, &who));
  EXPECT_EQ(code, 139);
  EXPECT_EQ(who, "rank 3 (process 7 on b)");
  for (const char* no : {"", "\n", "[0] \001belay launch: failed 1 x\n", "\001belay launch: failed 0 x\n",
                         "\001belay launch: failed 1\n", "\001belay launch: failed x y\n"})
    EXPECT_FALSE(ReadFailureNotice(no, &code, &who)) << no;
}

TEST(LaunchHosts, RanksAreSpread) {
  const std::vector<LaunchHost> hosts = ReadHosts("127.0.0.1,u@127.0.0.2,::1", 8);
  ASSERT_EQ(hosts.size(), 3u);
  const int counts[] = {3, 3, 2}, firsts[] = {0, 3, 6};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(hosts[i].count, counts[i]);
    EXPECT_EQ(hosts[i].first, firsts[i]);
  }
  EXPECT_EQ(hosts[1].name, "u@127.0.0.2");
  EXPECT_EQ(hosts[1].address, "127.0.0.2");
  EXPECT_EQ(hosts[2].address, "::1");
}

// Loopback is this machine; others reach it where it reaches them from, if there is a way at all.
TEST(LaunchHosts, LoopbackIsNoPlaceForOthers) {
  const std::vector<LaunchHost> hosts = ReadHosts("127.0.0.1,192.0.2.1", 2);
  EXPECT_NE(hosts[0].address, "127.0.0.1");
  EXPECT_EQ(hosts[1].address, "192.0.2.1");
}

}  // namespace
}  // namespace belay::tool
