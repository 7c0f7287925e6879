// Tokens that are sent to the ranks of their experts and back, against what the tokens and the choices say,
// over one, two and four ranks, devices of this process and another process; and what is refused.
#include <aclnnop/aclnn_moe_distribute_combine.h>
#include <aclnnop/aclnn_moe_distribute_combine_v2.h>
#include <aclnnop/aclnn_moe_distribute_dispatch.h>
#include <aclnnop/aclnn_moe_distribute_dispatch_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "halves.h"
#include "ranks.h"
#include "stages.h"

namespace conformance {
namespace {

constexpr int kTold = 507035;
constexpr int64_t kWidth = 10, kChosen = 2, kMost = 4;

// A packed tensor in device memory, of any type.
template <class T>
struct Array {
  std::vector<int64_t> dims;
  T* data = nullptr;
  aclTensor* tensor = nullptr;
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

template <class T>
Array<T> NewArray(std::vector<int64_t> dims, aclDataType type, const std::function<T(int64_t)>& value = {}) {
  Array<T> a{std::move(dims)};
  void* data = nullptr;
  EXPECT_OK(aclrtMalloc(&data, static_cast<size_t>(std::max<int64_t>(a.count(), 1)) * sizeof(T),
                        ACL_MEM_MALLOC_HUGE_FIRST));
  a.data = static_cast<T*>(data);
  for (int64_t i = 0; i < a.count(); ++i) a.data[i] = value ? value(i) : static_cast<T>(-1);
  a.tensor = aclCreateTensor(a.dims.data(), a.dims.size(), type, nullptr, 0, ACL_FORMAT_ND, a.dims.data(),
                             a.dims.size(), data);
  EXPECT_NE(a.tensor, nullptr);
  return a;
}

// What all ranks agree on.
struct Way {
  int64_t ranks = 1, experts = 1, shared = 1, shared_ranks = 0, quant = 0, nums_type = 1;
  bool second = false;  // the second version
  bool smooth = false;
  int64_t local() const { return experts / (ranks - shared_ranks); }
  int64_t here(int64_t rank) const { return rank < shared_ranks ? 1 : local(); }
};

struct Member {
  Way set;
  int64_t rank = 0, tokens = 0;
  HcclComm comm = nullptr;
  std::string group;
  aclrtStream stream = nullptr;
  Array<uint16_t> x, expanded, out, added;
  Array<int8_t> bytes;
  Array<int32_t> ids, idx, counts, tp_counts;
  Array<int64_t> nums;
  Array<float> weights, steps, weights_out, scales;
  Array<uint8_t> mask;
  bool masked = false, adds = false;

  int64_t rows() const { return expanded.dims[0]; }
};

// The tokens, choices and weights of a rank: every rank can say those of all.
int64_t TokensOf(int64_t rank) { return rank % 2 == 0 ? kMost : kMost - 1; }
float TokenAt(int64_t rank, int64_t i) { return static_cast<float>((rank * 5 + i * 3) % 11 - 4); }
int32_t ChoiceAt(const Way& set, int64_t rank, int64_t token, int64_t k) {
  return static_cast<int32_t>((rank + token * 3 + k * (1 + token % (set.experts - 1))) % set.experts);
}
float WeightAt(int64_t rank, int64_t i) { return static_cast<float>((rank + i) % 3 + 1) / 2; }

void Fill(Member& m, const Way& set, int64_t rank) {
  m.set = set, m.rank = rank, m.tokens = TokensOf(rank);
  const bool shares = rank < set.shared_ranks;
  const int64_t copies = shares ? set.shared_ranks / set.shared : 1;
  const int64_t rows =
      kMost * (shares ? (set.ranks + copies - 1) / copies : set.ranks * std::min(set.local(), kChosen));
  const int64_t r = rank;
  m.x = NewArray<uint16_t>({m.tokens, kWidth}, ACL_BF16, [r](int64_t i) { return Half(TokenAt(r, i)); });
  m.ids = NewArray<int32_t>({m.tokens, kChosen}, ACL_INT32,
                            [&](int64_t i) { return ChoiceAt(set, r, i / kChosen, i % kChosen); });
  m.weights = NewArray<float>({m.tokens, kChosen}, ACL_FLOAT, [r](int64_t i) { return WeightAt(r, i); });
  m.scales = NewArray<float>({(set.shared_ranks > 0 ? set.shared : 0) + set.experts, kWidth}, ACL_FLOAT,
                             [](int64_t i) { return static_cast<float>(i % 5 + 1) / 4; });
  m.expanded = NewArray<uint16_t>({rows, kWidth}, ACL_BF16);
  m.bytes = NewArray<int8_t>({rows, kWidth}, ACL_INT8);
  m.steps = NewArray<float>({rows}, ACL_FLOAT);
  m.weights_out = NewArray<float>({rows}, ACL_FLOAT);
  m.idx = NewArray<int32_t>({set.second ? rows * 128 : m.tokens * kChosen}, ACL_INT32);
  m.nums = NewArray<int64_t>({set.here(rank)}, ACL_INT64);
  m.counts = NewArray<int32_t>({set.here(rank) * set.ranks + 3}, ACL_INT32);
  m.tp_counts = NewArray<int32_t>({1}, ACL_INT32);
  m.out = NewArray<uint16_t>({m.tokens, kWidth}, ACL_BF16);
  m.added = NewArray<uint16_t>({m.tokens, kWidth}, ACL_BF16,
                               [](int64_t i) { return Half(static_cast<float>(i % 7)); });
  m.mask = NewArray<uint8_t>({m.tokens}, ACL_BOOL, [&](int64_t i) { return i < m.tokens - 1; });
}

aclnnStatus Dispatch(Member& m, uint64_t* bytes, aclOpExecutor** executor) {
  const Way& s = m.set;
  aclTensor* expanded = s.quant != 0 ? m.bytes.tensor : m.expanded.tensor;
  aclTensor* scales = s.smooth ? m.scales.tensor : nullptr;
  if (!s.second) {
    return aclnnMoeDistributeDispatchGetWorkspaceSize(
        m.x.tensor, m.ids.tensor, scales, nullptr, m.weights.tensor, m.group.c_str(), s.ranks, m.rank,
        s.experts, "", 0, 0, 0, s.shared, s.shared_ranks, s.quant, kMost * s.ranks, s.nums_type, expanded,
        m.steps.tensor, m.idx.tensor, m.nums.tensor, m.counts.tensor, m.tp_counts.tensor,
        m.weights_out.tensor, bytes, executor);
  }
  return aclnnMoeDistributeDispatchV2GetWorkspaceSize(
      m.x.tensor, m.ids.tensor, scales, m.masked ? m.mask.tensor : nullptr, nullptr, m.group.c_str(), s.ranks,
      m.rank, s.experts, "", 1, 0, 0, s.shared, s.shared_ranks, s.quant, kMost * s.ranks, s.nums_type,
      "fullmesh_v1", expanded, m.steps.tensor, m.idx.tensor, m.nums.tensor, m.counts.tensor,
      m.tp_counts.tensor, nullptr, bytes, executor);
}

aclnnStatus Combine(Member& m, uint64_t* bytes, aclOpExecutor** executor) {
  const Way& s = m.set;
  if (!s.second) {
    return aclnnMoeDistributeCombineGetWorkspaceSize(
        m.expanded.tensor, m.ids.tensor, m.idx.tensor, m.counts.tensor, m.weights.tensor, m.tp_counts.tensor,
        nullptr, nullptr, nullptr, nullptr, m.weights_out.tensor, m.group.c_str(), s.ranks, m.rank, s.experts,
        "", 0, 0, 0, s.shared, s.shared_ranks, kMost * s.ranks, 0, 0, 0, m.out.tensor, bytes, executor);
  }
  return aclnnMoeDistributeCombineV2GetWorkspaceSize(
      m.expanded.tensor, m.ids.tensor, m.idx.tensor, m.counts.tensor, m.weights.tensor, nullptr,
      m.masked ? m.mask.tensor : nullptr, nullptr, nullptr, nullptr, nullptr,
      m.adds ? m.added.tensor : nullptr, m.group.c_str(), s.ranks, m.rank, s.experts, nullptr, 1, 0, 0,
      s.shared, s.shared_ranks, kMost * s.ranks, 0, 0, 0, nullptr, m.out.tensor, bytes, executor);
}

using MemberStage1 = aclnnStatus (*)(Member&, uint64_t*, aclOpExecutor**);

void SubmitExperts(Member& m, MemberStage1 prepare, Stage2 run) {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_OK(prepare(m, &bytes, &executor));
  void* workspace = nullptr;
  ASSERT_OK(aclrtMalloc(&workspace, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(run(workspace, bytes, executor, m.stream));
}
void SubmitDispatch(Member& m) {
  SubmitExperts(m, Dispatch, m.set.second ? aclnnMoeDistributeDispatchV2 : aclnnMoeDistributeDispatch);
}
void SubmitCombine(Member& m) {
  SubmitExperts(m, Combine, m.set.second ? aclnnMoeDistributeCombineV2 : aclnnMoeDistributeCombine);
}

// A row that came to a rank.
struct Came {
  int64_t from, token, expert, column;  // the expert as scales count them: the shared ones first
};

bool TakesPart(const Member& m, int64_t from, int64_t token) {
  return !m.masked || token < TokensOf(from) - 1;
}

// By expert, rank and token; `nums`: of each expert of the rank.
std::vector<Came> WhatComes(const Member& m, std::vector<int64_t>* nums, std::vector<int32_t>* counts) {
  const Way& s = m.set;
  std::vector<Came> rows;
  const int64_t shared = s.shared_ranks > 0 ? s.shared : 0;
  for (int64_t local = 0; local < s.here(m.rank); ++local) {
    const auto before = static_cast<int64_t>(rows.size());
    for (int64_t from = 0; from < s.ranks; ++from) {
      for (int64_t token = 0; token < TokensOf(from); ++token) {
        if (!TakesPart(m, from, token)) continue;
        if (m.rank < s.shared_ranks) {
          const int64_t copies = s.shared_ranks / s.shared;
          if (from % copies == m.rank % copies)
            rows.push_back({from, token, m.rank / copies, m.rank / copies});
          continue;
        }
        for (int64_t k = 0; k < kChosen; ++k) {
          const int64_t expert = ChoiceAt(s, from, token, k);
          if (expert != (m.rank - s.shared_ranks) * s.local() + local) continue;
          rows.push_back({from, token, shared + expert, shared + k});
        }
      }
      counts->push_back(static_cast<int32_t>(rows.size()));
    }
    const auto now = static_cast<int64_t>(rows.size());
    nums->push_back(s.nums_type == 0 ? now : now - before);
  }
  return rows;
}

void ExpectCame(const Member& m) {
  const Way& s = m.set;
  std::vector<int64_t> nums;
  std::vector<int32_t> counts;
  const std::vector<Came> rows = WhatComes(m, &nums, &counts);
  counts.resize(static_cast<size_t>(m.counts.count()), 0);
  EXPECT_EQ(std::vector<int64_t>(m.nums.data, m.nums.data + m.nums.count()), nums) << m.rank;
  EXPECT_EQ(std::vector<int32_t>(m.counts.data, m.counts.data + m.counts.count()), counts) << m.rank;
  EXPECT_EQ(m.tp_counts.data[0], static_cast<int32_t>(rows.size()));
  for (size_t row = 0; row < rows.size(); ++row) {
    const Came& c = rows[row];
    float values[kWidth], most = 0;
    for (int64_t i = 0; i < kWidth; ++i) {
      values[i] = TokenAt(c.from, c.token * kWidth + i);
      if (s.smooth) values[i] *= m.scales.data[c.expert * kWidth + i];
      most = std::max(most, std::fabs(values[i]));
    }
    if (s.quant != 0) {
      EXPECT_EQ(m.steps.data[row], most / 127) << row;
    }
    for (size_t i = 0; i < kWidth; ++i) {
      const size_t at = row * kWidth + i;
      if (s.quant == 0) {
        EXPECT_EQ(Float(m.expanded.data[at]), values[i]) << "rank " << m.rank << " row " << row;
      } else {
        EXPECT_EQ(m.bytes.data[at], std::nearbyint(values[i] / (most / 127))) << row << ", " << i;
      }
    }
    if (s.second) {
      EXPECT_EQ(m.idx.data[row * 128], c.from);
      EXPECT_EQ(m.idx.data[row * 128 + 1], c.token);
      EXPECT_EQ(m.idx.data[row * 128 + 2], c.column);
    } else if (m.rank >= s.shared_ranks) {
      const int64_t shared = s.shared_ranks > 0 ? s.shared : 0;
      EXPECT_EQ(m.weights_out.data[row], WeightAt(c.from, c.token * kChosen + c.column - shared)) << row;
    }
  }
}

// Expert e multiplies what it is given by e + 1; of the shared ones, too.
float FactorOf(int64_t expert) { return static_cast<float>(expert + 1); }

void RunExperts(Member& m) {
  std::vector<int64_t> nums;
  std::vector<int32_t> counts;
  const std::vector<Came> rows = WhatComes(m, &nums, &counts);
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = row * kWidth; i < (row + 1) * kWidth; ++i)
      m.expanded.data[i] = Half(Float(m.expanded.data[i]) * FactorOf(rows[row].expert));
  }
}

void ExpectCombined(const Member& m) {
  const Way& s = m.set;
  const int64_t shared = s.shared_ranks > 0 ? s.shared : 0;
  for (int64_t i = 0; i < m.tokens * kWidth; ++i) {
    const int64_t token = i / kWidth;
    float factor = 0;
    for (int64_t k = 0; k < kChosen; ++k)
      factor += WeightAt(m.rank, token * kChosen + k) * FactorOf(shared + ChoiceAt(s, m.rank, token, k));
    for (int64_t e = 0; e < shared; ++e) factor += FactorOf(e);
    float expected = TakesPart(m, m.rank, token) ? TokenAt(m.rank, i) * factor : 0;
    if (m.adds) expected += static_cast<float>(i % 7);
    EXPECT_EQ(Float(m.out.data[i]), expected) << "rank " << m.rank << " token " << token;
  }
}

class Experts : public Started {
 protected:
  void Meet(const Way& set, bool masked = false, bool adds = false) {
    const HcclRootInfo root = NewRoot();
    members_ = std::vector<Member>(static_cast<size_t>(set.ranks));
    AsRanks(static_cast<uint32_t>(set.ranks), [&](uint32_t r) {
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      std::snprintf(config.hcclCommName, sizeof config.hcclCommName, "experts of rank %u", r);
      EXPECT_OK(
          HcclCommInitRootInfoConfig(static_cast<uint32_t>(set.ranks), &root, r, &config, &members_[r].comm));
      members_[r].group = config.hcclCommName;
    });
    for (Member& m : members_) {
      const int64_t r = &m - members_.data();
      EXPECT_OK(aclrtSetDevice(static_cast<int>(r % 2)));
      m.stream = NewStream();
      Fill(m, set, r);
      m.masked = masked, m.adds = adds;
    }
  }
  static void Use(const Member& m) { EXPECT_OK(aclrtSetDevice(static_cast<int>(m.rank % 2))); }
  void ForAll(void (*body)(Member&)) {
    for (Member& m : members_) {
      Use(m);
      ASSERT_NO_FATAL_FAILURE(body(m));
    }
  }
  void Sync() {
    for (Member& m : members_) {
      Use(m);
      EXPECT_OK(aclrtSynchronizeStream(m.stream));
    }
  }
  void Part() {
    for (Member& m : members_) EXPECT_OK(HcclCommDestroy(m.comm));
    members_.clear();
  }
  void GoAndComeBack() {
    ASSERT_NO_FATAL_FAILURE(ForAll(SubmitDispatch));
    Sync();
    for (const Member& m : members_) ExpectCame(m);
    for (Member& m : members_) RunExperts(m);
    ASSERT_NO_FATAL_FAILURE(ForAll(SubmitCombine));
    Sync();
    for (const Member& m : members_) ExpectCombined(m);
  }
  std::vector<Member> members_;
};

TEST_F(Experts, TokensGoToTheirExpertsAndComeBack) {
  for (int64_t ranks : {1, 2, 4}) {
    for (bool second : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(
          Meet({.ranks = ranks, .experts = 3 * ranks, .nums_type = second ? 0 : 1, .second = second}));
      ASSERT_NO_FATAL_FAILURE(GoAndComeBack());
      Part();
    }
  }
}

// One shared expert on two ranks; two on one rank each.
TEST_F(Experts, SharedExpertsAreOnTheFirstRanks) {
  for (int64_t shared : {1, 2}) {
    ASSERT_NO_FATAL_FAILURE(
        Meet({.ranks = 4, .experts = 4, .shared = shared, .shared_ranks = 2, .second = shared == 2}));
    ASSERT_NO_FATAL_FAILURE(GoAndComeBack());
    Part();
  }
}

TEST_F(Experts, RowsAreQuantisedByTheirOwnScales) {
  for (bool smooth : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(
        Meet({.ranks = 4, .experts = 4, .shared_ranks = 2, .quant = 2, .second = smooth, .smooth = smooth}));
    ASSERT_NO_FATAL_FAILURE(ForAll(SubmitDispatch));
    Sync();
    for (const Member& m : members_) ExpectCame(m);
    Part();
  }
}

TEST_F(Experts, MaskedTokensStayAtHome) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4, .shared = 0, .second = true}, true, true));
  ASSERT_NO_FATAL_FAILURE(GoAndComeBack());
  // The same said of each choice.
  for (Member& m : members_) {
    Use(m);
    m.mask = NewArray<uint8_t>({m.tokens, kChosen}, ACL_BOOL,
                               [&](int64_t i) { return i / kChosen < m.tokens - 1; });
  }
  ASSERT_NO_FATAL_FAILURE(GoAndComeBack());
  Part();
}

TEST_F(Experts, CapturedOnesAreReplayed) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4}));
  std::vector<aclmdlRI> models(2);
  for (Member& m : members_) {
    Use(m);
    ASSERT_OK(aclmdlRICaptureBegin(m.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    ASSERT_NO_FATAL_FAILURE(SubmitDispatch(m));
    ASSERT_NO_FATAL_FAILURE(SubmitCombine(m));
    ASSERT_OK(aclmdlRICaptureEnd(m.stream, &models[static_cast<size_t>(m.rank)]));
  }
  for (float turn : {1.f, 2.f, 3.f}) {
    for (Member& m : members_) {
      for (int64_t i = 0; i < m.x.count(); ++i) m.x.data[i] = Half(turn * TokenAt(m.rank, i));
      Use(m);
      ASSERT_OK(aclmdlRIExecuteAsync(models[static_cast<size_t>(m.rank)], m.stream));
    }
    Sync();
    for (const Member& m : members_) {
      for (int64_t i = 0; i < m.out.count(); ++i) {
        const int64_t token = i / kWidth;
        const float factor = WeightAt(m.rank, token * kChosen) + WeightAt(m.rank, token * kChosen + 1);
        EXPECT_EQ(Float(m.out.data[i]), turn * TokenAt(m.rank, i) * factor) << i;
      }
    }
  }
  for (aclmdlRI model : models) EXPECT_OK(aclmdlRIDestroy(model));
  Part();
}

class ExpertsOfProcesses : public Sharing {};

TEST_F(ExpertsOfProcesses, HaveTheirTokensSentToThem) {
  const Way set{.ranks = 2, .experts = 6};
  const auto run = [set](Member& m, const HcclRootInfo& root) {
    m.comm = Join(root, 2, static_cast<uint32_t>(m.rank));
    char name[COMM_NAME_MAX_LENGTH];
    EXPECT_OK(HcclGetCommName(m.comm, name));
    m.group = name;
    EXPECT_OK(aclrtCreateStream(&m.stream));
    Fill(m, set, m.rank);
    SubmitDispatch(m);
    EXPECT_OK(aclrtSynchronizeStream(m.stream));
    ExpectCame(m);
    RunExperts(m);
    SubmitCombine(m);
    EXPECT_OK(aclrtSynchronizeStream(m.stream));
    ExpectCombined(m);
    EXPECT_OK(HcclCommDestroy(m.comm));
  };
  Member first, second;
  second.rank = 1;
  OtherProcess other([&](Channel& channel) { run(second, channel.Receive<HcclRootInfo>()); });
  Start();
  const HcclRootInfo root = NewRoot();
  ASSERT_TRUE(other.channel.Send(root));
  run(first, root);
  other.Join();
  EXPECT_OK(aclFinalize());
}

// All ranks are told, and none waits for the other.
void ExpectTold(std::vector<Member>& members, const char* words) {
  for (Member& m : members) {
    EXPECT_OK(aclrtSetDevice(static_cast<int>(m.rank % 2)));
    EXPECT_EQ(aclrtSynchronizeStream(m.stream), kTold);
    EXPECT_THAT(TakeMessage(), ::testing::ContainsRegex(words));
  }
}

TEST_F(Experts, AChoiceThatIsNoExpertIsToldToAll) {
  for (int32_t wrong : {-1, 4}) {
    ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4}));
    members_[1].ids.data[3] = wrong;
    ASSERT_NO_FATAL_FAILURE(ForAll(SubmitDispatch));
    ExpectTold(members_, "rank 1's token 1 has chosen an expert that is none of the 4");
    Part();
  }
}

TEST_F(Experts, RanksThatDifferAreToldSo) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4}));
  Use(members_[1]);
  Fill(members_[1], {.ranks = 2, .experts = 6}, 1);
  ASSERT_NO_FATAL_FAILURE(ForAll(SubmitDispatch));
  ExpectTold(members_, "moeExpertNum is [46] on rank [01] and [46] on this one");
  Part();
}

TEST_F(Experts, SumsThatAreNoneAreToldToAll) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4}));
  ASSERT_NO_FATAL_FAILURE(ForAll(SubmitDispatch));
  Sync();
  members_[1].counts.data[1] = 99;
  ASSERT_NO_FATAL_FAILURE(ForAll(SubmitCombine));
  ExpectTold(members_, "rank 1's epSendCounts are no running sums");
  Part();
}

TEST_F(Experts, TheFirstStageRefusesWhatDoesNotFit) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 2, .experts = 4}));
  const Member good = members_[0];
  Use(good);
  const auto refused = [&](int code, const char* words, MemberStage1 stage,
                           const std::function<void(Member&)>& change) {
    Member m = good;
    change(m);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    TakeMessage();
    EXPECT_EQ(stage(m, &bytes, &executor), code) << words;
    EXPECT_THAT(TakeMessage(), ::testing::ContainsRegex(words));
  };
  const auto wide = NewArray<uint16_t>({good.tokens, kWidth + 1}, ACL_BF16);
  const auto few = NewArray<uint16_t>({3, kWidth}, ACL_BF16);
  const auto half = NewArray<uint16_t>({good.rows(), kWidth}, ACL_FLOAT16);
  refused(kNull, "x ", Dispatch, [](Member& m) { m.x.tensor = nullptr; });
  refused(kInvalid, "no communicator", Dispatch, [](Member& m) { m.group = "nobody"; });
  refused(kInvalid, "this is rank 0 of 2", Dispatch, [](Member& m) { m.rank = 1; });
  refused(kInvalid, "no multiple of the ranks", Dispatch, [](Member& m) { m.set.experts = 5; });
  refused(kInvalid, "sharedExpertRankNum", Dispatch, [](Member& m) { m.set.shared_ranks = 2; });
  refused(kInvalid, "quantMode is 0 or 2", Dispatch, [](Member& m) { m.set.quant = 1; });
  refused(kInvalid, "scales are for quantMode 2", Dispatch, [](Member& m) { m.set.smooth = true; });
  refused(kInvalid, "expertTokenNumsType", Dispatch, [](Member& m) { m.set.nums_type = 2; });
  refused(kInvalid, "expandX has 3 rows", Dispatch, [&](Member& m) { m.expanded = few; });
  refused(kInvalid, "expandX", Dispatch, [&](Member& m) { m.expanded = wide; });
  refused(kInvalid, "expandX", Dispatch, [&](Member& m) { m.expanded = half; });
  refused(kInvalid, "x has shape", Combine, [&](Member& m) { m.out = wide; });
  refused(kInvalid, "epRankId", Combine, [&](Member& m) { m.rank = 2; });
  refused(kInvalid, "sharedExpertX", Combine,
          [&](Member& m) { m.set.second = true, m.adds = true, m.added = few; });
  Part();
}

// One argument of the first version's second half that is reserved, or not there yet.
TEST_F(Experts, WhatIsNotThereIsRefusedByName) {
  ASSERT_NO_FATAL_FAILURE(Meet({.ranks = 1, .experts = 4}));
  Member& m = members_[0];
  const auto combine = [&](aclTensor* mask, int64_t tp_ranks, int64_t type, int64_t quant) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    return aclnnMoeDistributeCombineGetWorkspaceSize(
        m.expanded.tensor, m.ids.tensor, m.idx.tensor, m.counts.tensor, m.weights.tensor, nullptr, mask,
        nullptr, nullptr, nullptr, nullptr, m.group.c_str(), 1, 0, 4, "", tp_ranks, 0, 0, 1, 0, 0, type,
        quant, 0, m.out.tensor, &bytes, &executor);
  };
  const auto refused = [&](const char* words, aclnnStatus status) {
    EXPECT_EQ(status, kInvalid) << words;
    EXPECT_THAT(TakeMessage(), ::testing::HasSubstr(words));
  };
  EXPECT_OK(combine(nullptr, 0, 0, 0));
  refused("xActiveMask is reserved", combine(m.mask.tensor, 0, 0, 0));
  refused("tpWorldSize is 0 or 1", combine(nullptr, 2, 0, 0));
  refused("outDtype", combine(nullptr, 0, 1, 0));
  refused("commQuantMode", combine(nullptr, 0, 0, 2));
  Part();
}

}  // namespace
}  // namespace conformance
