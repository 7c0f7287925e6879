#include "collective/root_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "collective/algorithm.h"
#include "collective/environment.h"
#include "collective/rank_table.h"
#include "collective/wire.h"

namespace belay::coll {
namespace {

using ::testing::HasSubstr;

template <class Call>
void ExpectFailure(int code, const char* words, Call&& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; wanted: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.sentence();
    EXPECT_THAT(error.sentence(), HasSubstr(words));
  }
}

RootInfo SomeRoot() {
  RootInfo root;
  FillWithRandom(root.id);
  FillWithRandom(root.secret);
  root.host = ThisHost();
  root.process = 4711;
  root.port = 60001;
  for (const char* text : {"127.0.0.1", "fe80::1", "10.1.2.3"}) {
    Address address;
    EXPECT_TRUE(ParseAddress(text, &address));
    EXPECT_EQ(TextOf(address), text);
    root.addresses.push_back(address);
  }
  return root;
}

TEST(RootInfo, ComesBackAsItWas) {
  std::array<std::byte, kRootInfoBytes> bytes;
  const RootInfo root = SomeRoot();
  Write(root, bytes);
  EXPECT_EQ(ReadRootInfo(bytes), root);
}

TEST(RootInfo, EveryChangedByteIsFound) {
  std::array<std::byte, kRootInfoBytes> bytes;
  Write(SomeRoot(), bytes);
  int found = 0;
  for (size_t i = 0; i < 376; ++i) {
    std::array<std::byte, kRootInfoBytes> changed = bytes;
    changed[i] ^= std::byte{0x40};
    try {
      ReadRootInfo(changed);
    } catch (const Error& error) {
      found += error.code() == codes::kHcclEPara;
    }
  }
  EXPECT_EQ(found, 376);
  ExpectFailure(codes::kHcclEPara, "HcclGetRootInfo wrote",
                [] { ReadRootInfo(std::array<std::byte, kRootInfoBytes>{}); });
}

TEST(RootInfo, HostsAndDigests) {
  EXPECT_EQ(ThisHost(), ThisHost());
  EXPECT_EQ(Digest("abc"), Digest("abc"));
  EXPECT_NE(Digest("abc"), Digest("abd"));
  EXPECT_NE(Digest(""), Digest("x"));
  Address address;
  EXPECT_FALSE(ParseAddress("1.2.3", &address));
  EXPECT_FALSE(ParseAddress("", &address));
}

TEST(CollectiveEnvironment, Ports) {
  EXPECT_EQ(ParsePorts("60000-60015,61000", "X"), (PortRanges{{60000, 60015}, {61000, 61000}}));
  for (const char* bad : {"0", "70000", "5-4", "a", "1-", "-1", "1-2-3"})
    ExpectFailure(codes::kHcclEPara, "X = '", [&] { ParsePorts(bad, "X"); });
}

TEST(CollectiveEnvironment, Algorithms) {
  struct Asked {
    const char* text;
    WayKind way;
    const char* not_there;
  };
  for (const Asked& asked :
       {Asked{"", WayKind::kUnsaid, ""}, Asked{"level0:NA", WayKind::kUnsaid, ""},
        Asked{"level0:NA;level1:H-D_R", WayKind::kDoubling, ""}, Asked{"level1:ring", WayKind::kRing, ""},
        Asked{"allreduce=level1:NHR/reduce=level1:NB", WayKind::kDoubling, ""},
        Asked{"level0:NA;level1:AHC;level2:NB", WayKind::kDoubling, "AHC for all operations"},
        Asked{"allreduce=level0:NA;level1:ring/alltoall=level1:pairwise", WayKind::kRing,
              "pairwise for alltoall"}}) {
    const Algorithms read = AlgorithmsIn(asked.text, "X");
    EXPECT_EQ(read.way, asked.way) << asked.text;
    EXPECT_EQ(read.not_there, asked.not_there) << asked.text;
  }
  for (const char* bad :
       {"ring", "level0:ring", "level1:Ring", "level1:", "level1", "level3:NA", "level1:ring;level1:NB",
        ";level1:ring", "level1:ring/broadcast=level1:NB", "allreduce=", "AllReduce=level1:ring",
        "reduce=level1:NB/reduce=level1:NB", "allreduce=level1:pairwise", "=level1:ring", " "})
    ExpectFailure(codes::kHcclEPara, "X = '", [&] { AlgorithmsIn(bad, "X"); });
}

TEST(CollectiveEnvironment, Interfaces) {
  EXPECT_TRUE(IsMeant("eth", "eth0"));
  EXPECT_FALSE(IsMeant("=eth", "eth0"));
  EXPECT_TRUE(IsMeant("=eth1,eth0", "eth0"));
  EXPECT_FALSE(IsMeant("^eth,lo", "lo"));
  EXPECT_TRUE(IsMeant("^=eth1", "eth0"));
}

// --- rank tables

std::string TableOf(const std::string& devices) {
  return R"({"version":"1.0","status":"completed","server_count":"1",)"
         R"("server_list":[{"server_id":"a","device":[)" +
         devices + "]}]}";
}
std::string DeviceOf(int rank, int device) {
  return R"({"rank_id":")" + std::to_string(rank) + R"(","device_id":")" + std::to_string(device) +
         R"(","device_ip":"192.168.1.)" + std::to_string(device) + R"("})";
}

TEST(RankTable, Ranks) {
  RankTable table = ParseRankTable(TableOf(DeviceOf(1, 7) + "," + DeviceOf(0, 3)), "t");
  ASSERT_EQ(table.ranks.size(), 2u);
  EXPECT_EQ(table.ranks[0].device, 3u);
  EXPECT_EQ(table.ranks[1].device, 7u);
  EXPECT_EQ(table.servers, std::vector<std::string>{"a"});
}

// Two pods of a server each.
std::string PodTable() {
  return R"({"version":"1.2","status":"completed","server_count":"2","server_list":[
    {"server_id":"a","host_ip":"10.0.0.1","device":[{"rank_id":"0","device_id":"0","super_device_id":"0","device_port":"1",
      "device_ip":"fd00::1","backup_device_ip":"10.1.0.9","host_port":"16665"}]},
    {"server_id":"b","device":[{"rank_id":1,"device_id":0,"super_device_id":7}]}],
    "super_pod_list":[{"super_pod_id":"0","server_list":[{"server_id":"a"}]},
                      {"super_pod_id":"1","server_list":[{"server_id":"b"}]}]})";
}

TEST(RankTable, OfVersion12) {
  RankTable table = ParseRankTable(PodTable(), "t");
  EXPECT_EQ(table.ranks.size(), 2u);
  EXPECT_EQ(table.ranks[1].server, 1u);
}

// One thing is put for another; each of them is refused with its name.
void ExpectRefusedWith(std::string text, const std::string& from, const std::string& to, const char* words) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  ExpectFailure(codes::kHcclEPara, words, [&] { ParseRankTable(text, "t"); });
}

TEST(RankTable, WhatIsNoneOfVersion12) {
  const std::string good = PodTable();
  const struct {
    const char *from, *to, *words;
  } cases[] = {
      {R"("super_pod_list")", R"("pods")", "super_pod_list is missing"},
      {R"("super_pod_id":"1")", R"("super_pod_id":"0")", "super_pod_id '0' is empty or stands there twice"},
      {R"("super_pod_id":"1")", R"("super_pod_id":1)", "super_pod_id is no text"},
      {R"("super_pod_id":"1",)", "", "super_pod_id is missing"},
      {R"([{"server_id":"b"}])", R"([{"server_id":"c"}])", "names server_id 'c', which server_list"},
      {R"([{"server_id":"b"}])", R"([{"server_id":"a"}])", "names server_id 'a' twice"},
      {R"([{"server_id":"b"}])", "[]", "does not name server_id 'b'"},
      {R"([{"server_id":"b"}])", "7", "server_list of super_pod_id '1' is no list"},
      {R"(,"super_device_id":7)", "", "super_device_id is missing"},
      {R"("super_device_id":7)", R"("super_device_id":"x")", "super_device_id is no whole number"},
      {R"("device_port":"1")", R"("device_port":"0")", "device_port 0 of rank 0"},
      {R"("host_port":"16665")", R"("host_port":"65536")", "host_port 65536 of rank 0"},
      {"fd00::1", "fd00::1::", "device_ip 'fd00::1::' of rank 0 is no address"},
      {"10.1.0.9", "10.1.0", "backup_device_ip '10.1.0' of rank 0 is no address"},
      {"10.0.0.1", "here", "host_ip 'here' is no address"},
  };
  for (const auto& each : cases) ExpectRefusedWith(good, each.from, each.to, each.words);
}

TEST(RankTable, DeviceAddressesOfSeveralServers) {
  const std::string good =
      R"({"version":"1.0","status":"completed","server_count":"2","server_list":[)"
      R"({"server_id":"a","device":[{"device_id":"0","device_ip":"192.168.1.8","rank_id":"0"}]},)"
      R"({"server_id":"b","device":[{"device_id":"0","device_ip":"192.168.2.8","rank_id":"1"}]}]})";
  EXPECT_EQ(ParseRankTable(good, "t").ranks.size(), 2u);
  ExpectRefusedWith(good, R"("device_ip":"192.168.2.8",)", "", "device_ip of rank 1 is missing");
  ExpectRefusedWith(good, "192.168.2.8", "192.168.1.8", "device_ip '192.168.1.8' stands there twice");
  ExpectRefusedWith(good, "192.168.2.8", "192.168.2.256", "device_ip '192.168.2.256' of rank 1");
  ExpectRefusedWith(good, R"("server_count":"2",)", "", "server_count is missing");
  ExpectRefusedWith(good, R"("2")", R"("two")", "server_count is no whole number");
  ExpectRefusedWith(good, R"("b")", R"("a")", "server_id 'a' stands there twice");
}

TEST(RankTable, TheLayOutOfTheFileDoesNotMatter) {
  const std::string text = TableOf(DeviceOf(0, 0));
  std::string wide;
  for (char c : text) wide += c == ',' ? ",\n  " : std::string(1, c);
  EXPECT_EQ(ParseRankTable(text, "t").digest, ParseRankTable(wide, "u").digest);
  EXPECT_NE(ParseRankTable(text, "t").digest, ParseRankTable(TableOf(DeviceOf(0, 1)), "t").digest);
}

TEST(RankTable, WhatIsNone) {
  const struct {
    std::string text;
    const char* words;
  } cases[] = {
      {"", "no JSON"},
      {"[]", "no object"},
      {"{}", "version is missing"},
      {R"({"version":"2.0"})", "version is '2.0'"},
      {R"({"version":"1.0","status":"done"})", "status is 'done'"},
      {R"({"version":"1.0","status":"completed","server_list":[]})", "names no server"},
      {R"({"group_count":"1","group_list":[]})", "older template"},
      {TableOf(""), "names no rank"},
      {R"({"version":"1.0","status":"completed","server_list":[{"server_id":"","device":[]}]})",
       "server_id has"},
      {TableOf(DeviceOf(1, 0)), "rank_id 0 is missing"},
      {TableOf(DeviceOf(0, 0) + "," + DeviceOf(0, 1)), "rank_id 0 stands there twice"},
      {TableOf(DeviceOf(0, 3) + "," + DeviceOf(1, 3)), "device_ip '192.168.1.3' stands there twice"},
      {TableOf(R"({"rank_id":"0","device_id":"3"},{"rank_id":"1","device_id":"3"})"),
       "device_id 3 stands twice in server 'a'"},
      {TableOf(DeviceOf(100000, 0)), "ranks at most"},
      {TableOf(R"({"rank_id":"-1","device_id":"0"})"), "rank_id is no whole number"},
      {TableOf(R"({"rank_id":"0","device_id":"x"})"), "device_id is no whole number"},
      {TableOf(R"({"rank_id":"0"})"), "device_id is missing"},
      {R"({"version":"1.0","status":"completed","server_count":"3","server_list":[{"server_id":"a","device":[]}]})",
       "server_count is not 1"},
  };
  for (const auto& each : cases) {
    ExpectFailure(codes::kHcclEPara, each.words, [&] { ParseRankTable(each.text, "t"); });
  }
  ExpectFailure(codes::kHcclEUnavail, "initializing",
                [] { ParseRankTable(R"({"version":"1.0","status":"initializing"})", "t"); });
  ExpectFailure(codes::kHcclEOpenFileFailure, "/nonexistent", [] { ReadRankTable("/nonexistent/table"); });
}

// --- messages

TEST(CollectiveWire, ComesBackWhateverThePieces) {
  const Bytes hello = Encode(Hello{.rank = 3, .ranks = 5, .timeout_ns = 7, .place = {}});
  const Welcomed who = {{{11, 0, 0}, {12, 1, 1}}, {{0, {}}, {1, {}}}};
  const Bytes welcome = Encode(Welcome{4096, 64, 2, 1, 2, 1}, who);
  Bytes all = hello;
  all.insert(all.end(), welcome.begin(), welcome.end());
  for (size_t piece : {size_t{1}, size_t{13}, all.size()}) {
    Inbox inbox(kMostBodyBytes);
    std::vector<Inbox::Message> came;
    for (size_t at = 0; at < all.size(); at += piece) {
      inbox.Append(std::span(all).subspan(at, std::min(piece, all.size() - at)));
      while (auto message = inbox.Take()) came.push_back(*message);
    }
    ASSERT_EQ(came.size(), 2u);
    EXPECT_EQ(DecodeHello(came[0].body).rank, 3u);
    Welcomed read;
    EXPECT_EQ(DecodeWelcome(came[1].body, &read).root, 1u);
    ASSERT_EQ(read.peers.size(), 2u);
    EXPECT_EQ(read.peers[1].process, 12);
    ASSERT_EQ(read.hosts.size(), 2u);
    EXPECT_EQ(read.hosts[1].leader, 1u);
  }
}

TEST(CollectiveWire, WhatIsNoMessage) {
  Bytes hello = Encode(Hello{});
  Inbox small(8);
  small.Append(hello);
  ExpectFailure(codes::kHcclETcpTransfer, "longer than any", [&] { small.Take(); });
  hello[0] ^= std::byte{1};
  Inbox strange(kHelloBytes);
  strange.Append(hello);
  ExpectFailure(codes::kHcclETcpTransfer, "something else", [&] { strange.Take(); });
  const Bytes few(3);
  Welcomed who;
  ExpectFailure(codes::kHcclETcpTransfer, "hello", [&] { DecodeHello(few); });
  ExpectFailure(codes::kHcclETcpTransfer, "hello", [&] { DecodeLinkHello(few); });
  ExpectFailure(codes::kHcclETcpTransfer, "welcome", [&] { DecodeWelcome(few, &who); });
  ExpectFailure(codes::kHcclETcpTransfer, "refusal", [&] { DecodeRefused(few); });
  ExpectFailure(codes::kHcclETcpTransfer, "event", [&] { DecodeEvent(few); });
  Welcome crowd{0, 0, kMostRanks + 1, 0};
  Bytes body(sizeof crowd);
  std::memcpy(body.data(), &crowd, sizeof crowd);
  ExpectFailure(codes::kHcclETcpTransfer, "another size", [&] { DecodeWelcome(body, &who); });
}

TEST(CollectiveWire, HostsOfNobody) {
  const std::vector<std::pair<Welcomed, const char*>> wrong = {
      {{{{11, 0, 2}, {12, 1, 1}}, {{0, {}}, {1, {}}}}, "on no host"},
      {{{{11, 0, 0}, {12, 1, 1}}, {{0, {}}, {2, {}}}}, "of nobody"},
      {{{{11, 0, 0}, {12, 1, 0}}, {{0, {}}, {1, {}}}}, "of nobody"},
      {{{{11, 0, 0}, {12, 1, 1}}, {{0, {}}}}, "another size"},
  };
  for (const auto& [who, words] : wrong) {
    const Bytes bytes = Encode(Welcome{4096, 64, 2, 1, 2, 1}, who);
    Welcomed read;
    ExpectFailure(codes::kHcclETcpTransfer, words,
                  [&] { DecodeWelcome(std::span(bytes).subspan(12), &read); });
  }
}

TEST(CollectiveWire, Refusals) {
  const Bytes bytes = Encode(Refused{9, std::string(10000, 'x')});
  Inbox inbox(kMostBodyBytes);
  inbox.Append(bytes);
  Refused refused = DecodeRefused(inbox.Take()->body);
  EXPECT_EQ(refused.code, 9);
  EXPECT_EQ(refused.sentence, std::string(4096, 'x'));
}

}  // namespace
}  // namespace belay::coll
