// Operators that work together with the other ranks of a group, against what their parts give, over one, two
// and four ranks; and what they refuse.
#include <aclnnop/aclnn_all_gather_matmul.h>
#include <aclnnop/aclnn_matmul_all_reduce.h>
#include <aclnnop/aclnn_matmul_all_reduce_v2.h>
#include <aclnnop/aclnn_matmul_reduce_scatter.h>

#include <algorithm>
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

// rows x columns of bf16 in device memory.
struct Matrix {
  int64_t rows = 0, columns = 0;
  uint16_t* data = nullptr;
  aclTensor* tensor = nullptr;

  Floats values() const {
    Floats all;
    for (int64_t i = 0; i < rows * columns; ++i) all.push_back(Float(data[i]));
    return all;
  }
};

Matrix NewMatrix(int64_t rows, int64_t columns, const std::function<float(int64_t)>& value,
                 aclDataType type = ACL_BF16) {
  Matrix m{rows, columns};
  void* data = nullptr;
  EXPECT_OK(aclrtMalloc(&data, static_cast<size_t>(std::max<int64_t>(rows * columns, 1)) * 2,
                        ACL_MEM_MALLOC_HUGE_FIRST));
  m.data = static_cast<uint16_t*>(data);
  for (int64_t i = 0; i < rows * columns; ++i) m.data[i] = Half(value(i));
  const int64_t dims[] = {rows, columns};
  m.tensor = aclCreateTensor(dims, 2, type, nullptr, 0, ACL_FORMAT_ND, dims, 2, data);
  EXPECT_NE(m.tensor, nullptr);
  return m;
}

// The same memory with rows for columns.
aclTensor* Transposed(const Matrix& m) {
  const int64_t dims[] = {m.columns, m.rows}, strides[] = {1, m.columns}, storage[] = {m.rows, m.columns};
  return aclCreateTensor(dims, 2, ACL_BF16, strides, 0, ACL_FORMAT_ND, storage, 2, m.data);
}

aclTensor* Row(const Matrix& m) {
  const int64_t dims[] = {m.columns};
  return aclCreateTensor(dims, 1, ACL_BF16, nullptr, 0, ACL_FORMAT_ND, dims, 1, m.data);
}

Floats Product(const Matrix& a, const Matrix& b) {
  Floats product(static_cast<size_t>(a.rows * b.columns), 0.f);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k)
        product[i * b.columns + j] += Float(a.data[i * a.columns + k]) * Float(b.data[k * b.columns + j]);
    }
  }
  return product;
}

void Add(Floats& to, const Floats& what) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += what[i % what.size()];
}

constexpr int64_t kRows = 8, kDepth = 5, kColumns = 3;

struct Rank {
  int device = 0;
  HcclComm comm = nullptr;
  std::string group;
  aclrtStream stream = nullptr;
  Matrix x1, x2, bias, x3, out, gathered;
};

using Stage1 = std::function<aclnnStatus(Rank&, uint64_t*, aclOpExecutor**)>;

class Fused : public Started {
 protected:
  // Each rank has a name of its own for the group: two of four are on one device.
  void Meet(uint32_t ranks, int64_t out_rows) {
    const HcclRootInfo root = NewRoot();
    ranks_ = std::vector<Rank>(ranks);
    AsRanks(ranks, [&](uint32_t r) {
      HcclCommConfig config;
      HcclCommConfigInit(&config);
      std::snprintf(config.hcclCommName, sizeof config.hcclCommName, "group of rank %u", r);
      EXPECT_OK(HcclCommInitRootInfoConfig(ranks, &root, r, &config, &ranks_[r].comm));
      char name[COMM_NAME_MAX_LENGTH];
      EXPECT_OK(HcclGetCommName(ranks_[r].comm, name));
      ranks_[r].group = name;
    });
    for (uint32_t r = 0; r < ranks; ++r) {
      Rank& rank = ranks_[r];
      rank.device = static_cast<int>(r % 2);
      Use(rank);
      rank.stream = NewStream();
      rank.x1 = NewMatrix(kRows, kDepth, [r](int64_t i) { return static_cast<float>((i * 7 + r) % 3); });
      rank.x2 =
          NewMatrix(kDepth, kColumns, [r](int64_t i) { return static_cast<float>((i + 2 * r) % 4) - 1; });
      rank.bias = NewMatrix(1, kColumns, [r](int64_t i) { return static_cast<float>(i + r); });
      rank.x3 = NewMatrix(kRows, kColumns, [r](int64_t i) { return static_cast<float>((i + r) % 5); });
      rank.out = NewMatrix(out_rows, kColumns, [](int64_t) { return -1.f; });
      rank.gathered = NewMatrix(kRows * ranks, kDepth, [](int64_t) { return -1.f; });
    }
  }
  void Part() {
    for (Rank& rank : ranks_) EXPECT_OK(HcclCommDestroy(rank.comm));
    ranks_.clear();
  }
  static void Use(const Rank& rank) { EXPECT_OK(aclrtSetDevice(rank.device)); }

  static void Submit(Rank& rank, const Stage1& prepare, Stage2 run) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    Use(rank);
    ASSERT_OK(prepare(rank, &bytes, &executor));
    void* workspace = nullptr;
    ASSERT_OK(aclrtMalloc(&workspace, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(run(workspace, bytes, executor, rank.stream));
  }
  void ForAll(const Stage1& prepare, Stage2 run) {
    for (Rank& rank : ranks_) ASSERT_NO_FATAL_FAILURE(Submit(rank, prepare, run));
    Sync();
  }
  void Sync() {
    for (Rank& rank : ranks_) {
      Use(rank);
      EXPECT_OK(aclrtSynchronizeStream(rank.stream));
    }
  }
  Floats Sum(bool bias, bool x3) {
    Floats sum(static_cast<size_t>(kRows * kColumns), 0.f);
    for (const Rank& rank : ranks_) {
      Add(sum, Product(rank.x1, rank.x2));
      if (bias) Add(sum, rank.bias.values());
      if (x3) Add(sum, rank.x3.values());
    }
    return sum;
  }
  Floats Gathered() {
    Floats all;
    for (const Rank& rank : ranks_) {
      const Floats part = rank.x1.values();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::vector<Rank> ranks_;
};

aclnnStatus AllReduce(Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
  return aclnnMatmulAllReduceGetWorkspaceSize(r.x1.tensor, r.x2.tensor, nullptr, r.group.c_str(), "sum", 0, 1,
                                              r.out.tensor, bytes, executor);
}

aclnnStatus ReduceScatter(Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
  return aclnnMatmulReduceScatterGetWorkspaceSize(r.x1.tensor, r.x2.tensor, nullptr, r.group.c_str(), "sum",
                                                  0, 1, r.out.tensor, bytes, executor);
}

aclnnStatus Gather(Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
  return aclnnAllGatherMatmulGetWorkspaceSize(r.x1.tensor, r.x2.tensor, nullptr, r.group.c_str(), 0, 0, 1,
                                              r.out.tensor, r.gathered.tensor, bytes, executor);
}

TEST_F(Fused, ProductsAreSummedOverTheRanks) {
  for (uint32_t ranks : {1, 2, 4}) {
    ASSERT_NO_FATAL_FAILURE(Meet(ranks, kRows));
    ForAll(AllReduce, aclnnMatmulAllReduce);
    for (Rank& rank : ranks_) EXPECT_EQ(rank.out.values(), Sum(false, false)) << ranks;
    ForAll(
        [](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnMatmulAllReduceGetWorkspaceSize(r.x1.tensor, r.x2.tensor, Row(r.bias), r.group.c_str(),
                                                      "sum", 0, 1, r.out.tensor, bytes, executor);
        },
        aclnnMatmulAllReduce);
    for (Rank& rank : ranks_) EXPECT_EQ(rank.out.values(), Sum(true, false)) << ranks;
    ForAll(
        [](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnMatmulAllReduceV2GetWorkspaceSize(r.x1.tensor, r.x2.tensor, Row(r.bias), r.x3.tensor,
                                                        r.group.c_str(), "sum", 0, 1, r.out.tensor, bytes,
                                                        executor);
        },
        aclnnMatmulAllReduceV2);
    for (Rank& rank : ranks_) EXPECT_EQ(rank.out.values(), Sum(true, true)) << ranks;
    Part();
  }
}

// As torch-npu calls it where the program gives an x3.
TEST_F(Fused, TheSumMayLieOnWhatIsAdded) {
  ASSERT_NO_FATAL_FAILURE(Meet(2, kRows));
  const Floats expected = Sum(false, true);
  ForAll(
      [](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnMatmulAllReduceV2GetWorkspaceSize(r.x1.tensor, r.x2.tensor, nullptr, r.x3.tensor,
                                                      r.group.c_str(), "sum", 0, 1, r.x3.tensor, bytes,
                                                      executor);
      },
      aclnnMatmulAllReduceV2);
  for (Rank& rank : ranks_) EXPECT_EQ(rank.x3.values(), expected);
  Part();
}

TEST_F(Fused, RowsOfTheSumAreScattered) {
  for (uint32_t ranks : {1, 2, 4}) {
    const int64_t part = kRows / ranks;
    ASSERT_NO_FATAL_FAILURE(Meet(ranks, part));
    for (bool bias : {false, true}) {
      ForAll(
          [bias](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
            if (!bias) return ReduceScatter(r, bytes, executor);
            return aclnnMatmulReduceScatterGetWorkspaceSize(r.x1.tensor, r.x2.tensor, Row(r.bias),
                                                            r.group.c_str(), "sum", 0, 1, r.out.tensor, bytes,
                                                            executor);
          },
          aclnnMatmulReduceScatter);
      const Floats sum = Sum(bias, false);
      for (uint32_t r = 0; r < ranks; ++r) {
        const auto first = sum.begin() + static_cast<ptrdiff_t>(r * part * kColumns);
        EXPECT_EQ(ranks_[r].out.values(), Floats(first, first + part * kColumns)) << r << " of " << ranks;
      }
    }
    Part();
  }
}

TEST_F(Fused, WhatIsGatheredIsMultiplied) {
  for (uint32_t ranks : {1, 2, 4}) {
    ASSERT_NO_FATAL_FAILURE(Meet(ranks, kRows * ranks));
    for (int kept : {2, 1, 0}) {  // with a result for it, one without elements, none
      ForAll(
          [kept](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
            std::fill_n(r.out.data, r.out.rows * r.out.columns, Half(-1));
            const Matrix nothing = NewMatrix(0, 0, {});
            aclTensor* gathered = kept == 2 ? r.gathered.tensor : kept == 1 ? nothing.tensor : nullptr;
            return aclnnAllGatherMatmulGetWorkspaceSize(r.x1.tensor, r.x2.tensor, Row(r.bias),
                                                        r.group.c_str(), 0, 0, 1, r.out.tensor, gathered,
                                                        bytes, executor);
          },
          aclnnAllGatherMatmul);
      for (Rank& rank : ranks_) {
        EXPECT_EQ(rank.gathered.values(), Gathered()) << ranks;
        Floats expected = Product(rank.gathered, rank.x2);
        Add(expected, rank.bias.values());
        EXPECT_EQ(rank.out.values(), expected) << ranks;
      }
    }
    Part();
  }
}

// As a weight lies that a linear layer has: [columns, depth].
TEST_F(Fused, TheSecondMatrixMayBeTransposed) {
  ASSERT_NO_FATAL_FAILURE(Meet(2, 2 * kRows));
  for (Rank& rank : ranks_) {
    Use(rank);
    const Matrix x2 = rank.x2;
    rank.x3 = NewMatrix(kColumns, kDepth,
                        [&](int64_t i) { return Float(x2.data[i % kDepth * kColumns + i / kDepth]); });
  }
  ForAll(
      [](Rank& r, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnAllGatherMatmulGetWorkspaceSize(r.x1.tensor, Transposed(r.x3), nullptr, r.group.c_str(),
                                                    0, 0, 1, r.out.tensor, r.gathered.tensor, bytes,
                                                    executor);
      },
      aclnnAllGatherMatmul);
  for (Rank& rank : ranks_) EXPECT_EQ(rank.out.values(), Product(rank.gathered, rank.x2));
  Part();
}

// Sends between the ranks come after the kernel in one, and before it in the other.
TEST_F(Fused, CapturedOnesAreReplayed) {
  for (bool gathers : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(Meet(2, gathers ? 2 * kRows : kRows));
    std::vector<aclmdlRI> models(2);
    for (uint32_t r = 0; r < 2; ++r) {
      Rank& rank = ranks_[r];
      Use(rank);
      ASSERT_OK(aclmdlRICaptureBegin(rank.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
      ASSERT_NO_FATAL_FAILURE(gathers ? Submit(rank, Gather, aclnnAllGatherMatmul)
                                      : Submit(rank, AllReduce, aclnnMatmulAllReduce));
      ASSERT_OK(aclmdlRICaptureEnd(rank.stream, &models[r]));
    }
    for (int turn = 0; turn < 3; ++turn) {
      for (uint32_t r = 0; r < 2; ++r) {
        Rank& rank = ranks_[r];
        for (int64_t i = 0; i < kRows * kDepth; ++i)
          rank.x1.data[i] = Half(static_cast<float>((i + turn * (r + 1)) % 4));
        Use(rank);
        ASSERT_OK(aclmdlRIExecuteAsync(models[r], rank.stream));
      }
      Sync();
      for (Rank& rank : ranks_) {
        if (gathers) {
          EXPECT_EQ(rank.gathered.values(), Gathered()) << turn;
        }
        EXPECT_EQ(rank.out.values(), gathers ? Product(rank.gathered, rank.x2) : Sum(false, false)) << turn;
      }
    }
    for (aclmdlRI model : models) EXPECT_OK(aclmdlRIDestroy(model));
    Part();
  }
}

// Products of different sizes: both ranks are told at once, and the group is of no use from then on.
TEST_F(Fused, DifferentCallsAreToldAtOnce) {
  constexpr int kTold = 507048, kRuntime = 361001;
  ASSERT_NO_FATAL_FAILURE(Meet(2, kRows));
  Use(ranks_[1]);
  ranks_[1].x1 = NewMatrix(kRows - 1, kDepth, [](int64_t) { return 1.f; });
  ranks_[1].out = NewMatrix(kRows - 1, kColumns, [](int64_t) { return 0.f; });
  for (Rank& rank : ranks_) ASSERT_NO_FATAL_FAILURE(Submit(rank, AllReduce, aclnnMatmulAllReduce));
  for (Rank& rank : ranks_) {
    Use(rank);
    EXPECT_EQ(aclrtSynchronizeStream(rank.stream), kTold);
    EXPECT_THAT(TakeMessage(), ::testing::ContainsRegex("rank 0 made HcclAllReduce .count 24.*rank 1 made "
                                                        "HcclAllReduce .count 21"));
  }
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_OK(AllReduce(ranks_[1], &bytes, &executor));
  void* workspace = nullptr;
  ASSERT_OK(aclrtMalloc(&workspace, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_REFUSED(kRuntime, aclnnMatmulAllReduce(workspace, bytes, executor, ranks_[1].stream), "rank 0 made");
  EXPECT_OK(aclDestroyAclOpExecutor(executor));
  Part();
}

// The first stage with one argument changed.
struct Call {
  aclTensor *x1, *x2, *bias = nullptr, *out;
  const char* group;
  const char* op = "sum";
  int64_t turn = 0, mode = 1;
  aclnnStatus operator()() const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    return aclnnMatmulAllReduceGetWorkspaceSize(x1, x2, bias, group, op, turn, mode, out, &bytes, &executor);
  }
};

TEST_F(Fused, TheFirstStageRefusesWhatDoesNotFit) {
  ASSERT_NO_FATAL_FAILURE(Meet(2, kRows));
  Rank& rank = ranks_[0];
  Use(rank);
  const Call good{rank.x1.tensor, rank.x2.tensor, nullptr, rank.out.tensor, rank.group.c_str()};
  EXPECT_OK(good());
  const auto refused = [&](int code, const char* words, const std::function<void(Call&)>& change) {
    Call call = good;
    change(call);
    TakeMessage();
    EXPECT_EQ(call(), code) << words;
    EXPECT_THAT(TakeMessage(), ::testing::ContainsRegex(words));
  };
  const Matrix wide = NewMatrix(kRows, kColumns + 1, [](int64_t) { return 0.f; });
  const Matrix half = NewMatrix(
      kRows, kColumns, [](int64_t) { return 0.f; }, ACL_FLOAT16);
  const Matrix turned = NewMatrix(kColumns, kRows, [](int64_t) { return 0.f; });
  refused(kInvalid, "no communicator of device 0", [](Call& c) { c.group = "nobody"; });
  refused(kInvalid, "no communicator of device 0", [&](Call& c) { c.group = ranks_[1].group.c_str(); });
  refused(kNull, "group", [](Call& c) { c.group = nullptr; });
  refused(kNull, "x1", [](Call& c) { c.x1 = nullptr; });
  refused(kInvalid, "reduceOp", [](Call& c) { c.op = "max"; });
  refused(kInvalid, "commTurn", [](Call& c) { c.turn = 2; });
  refused(kInvalid, "streamMode", [](Call& c) { c.mode = 0; });
  refused(kInvalid, "output has shape", [&](Call& c) { c.out = wide.tensor; });
  refused(kInvalid, "output is ACL_FLOAT16", [&](Call& c) { c.out = half.tensor; });
  refused(kInvalid, "output has strides", [&](Call& c) { c.out = Transposed(turned); });
  refused(kInvalid, "bias has shape", [&](Call& c) { c.bias = Row(wide); });
  Part();
}

TEST_F(Fused, SizesMustBeThoseOfTheGroup) {
  ASSERT_NO_FATAL_FAILURE(Meet(2, kRows));
  Rank& rank = ranks_[0];
  Use(rank);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_REFUSED(
      kInvalid,
      aclnnMatmulReduceScatterGetWorkspaceSize(rank.x1.tensor, rank.x2.tensor, nullptr, rank.group.c_str(),
                                               "sum", 0, 1, rank.out.tensor, &bytes, &executor),
      "has 2 ranks");
  EXPECT_REFUSED(
      kInvalid,
      aclnnAllGatherMatmulGetWorkspaceSize(rank.x1.tensor, rank.x2.tensor, nullptr, rank.group.c_str(), 0, 0,
                                           1, rank.out.tensor, nullptr, &bytes, &executor),
      "has 2 ranks");
  EXPECT_REFUSED(
      kInvalid,
      aclnnAllGatherMatmulGetWorkspaceSize(rank.x1.tensor, rank.x2.tensor, nullptr, rank.group.c_str(), 1, 0,
                                           1, rank.out.tensor, nullptr, &bytes, &executor),
      "gatherIndex");
  Part();
}

// Nothing is queued then: the stream goes on, and the other rank does not wait for the kernel's part.
TEST_F(Fused, TheSecondStageRefusesBeforeItQueuesAnything) {
  ASSERT_NO_FATAL_FAILURE(Meet(1, kRows));
  Rank& rank = ranks_[0];
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_OK(AllReduce(rank, &bytes, &executor));
  void* workspace = nullptr;
  ASSERT_OK(aclrtMalloc(&workspace, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(HcclGroupStart());
  EXPECT_REFUSED(kInvalid, aclnnMatmulAllReduce(workspace, bytes, executor, rank.stream), "HcclGroupEnd");
  ASSERT_OK(HcclGroupEnd());
  Part();
  EXPECT_REFUSED(kInvalid, aclnnMatmulAllReduce(workspace, bytes, executor, rank.stream), "no communicator");
  EXPECT_OK(aclDestroyAclOpExecutor(executor));
}

TEST_F(Fused, WhatIsGatheredHasMemoryOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(Meet(1, kRows));
  Rank& rank = ranks_[0];
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_OK(aclnnAllGatherMatmulGetWorkspaceSize(rank.x1.tensor, rank.x2.tensor, nullptr, rank.group.c_str(),
                                                 0, 0, 1, rank.out.tensor, rank.x1.tensor, &bytes,
                                                 &executor));
  void* workspace = nullptr;
  ASSERT_OK(aclrtMalloc(&workspace, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_REFUSED(kInvalid, aclnnAllGatherMatmul(workspace, bytes, executor, rank.stream), "overlaps");
  EXPECT_OK(aclDestroyAclOpExecutor(executor));
  Part();
}

}  // namespace
}  // namespace conformance
