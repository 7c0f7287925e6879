// Matrices in the tiles of a card, ACL_FORMAT_FRACTAL_NZ.
#include <acl/acl_op_compiler.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_matmul.h>
#include <aclnnop/aclnn_mm.h>
#include <aclnnop/aclnn_npu_format_cast.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "both_stages.h"

namespace conformance {
namespace {

using TileDims = std::vector<int64_t>;

// A matrix of 17 x 20 halves: two tiles down and two across.
constexpr int64_t kRows = 17, kColumns = 20, kTile = 16;
const TileDims kMatrix = {kRows, kColumns}, kTiles = {2, 2, kTile, kTile};
constexpr int64_t kTiled = 4 * kTile * kTile;

constexpr size_t PlaceInTiles(int64_t row, int64_t column) {
  const int64_t tile = column / kTile * 2 + row / kTile;
  return static_cast<size_t>((tile * kTile + row % kTile) * kTile + column % kTile);
}

class Tiles : public OperatorTest {
 protected:
  void TearDown() override {
    for (aclTensor* tensor : tensors_) EXPECT_EQ(aclDestroyTensor(tensor), 0);
    for (void* memory : memory_) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    OperatorTest::TearDown();
  }
  uint16_t* Halves(int64_t count, bool rising) {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, static_cast<size_t>(count) * 2, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    memory_.push_back(memory);
    auto* halves = static_cast<uint16_t*>(memory);
    for (int64_t i = 0; i < count; ++i) halves[i] = aclFloatToFloat16(rising ? static_cast<float>(i) : -1);
    return halves;
  }
  aclTensor* Tensor(void* memory, const TileDims& shape, aclFormat format, const TileDims& storage,
                    const TileDims& strides = {}, int64_t offset = 0, aclDataType type = ACL_FLOAT16) {
    aclTensor* tensor =
        aclCreateTensor(shape.data(), shape.size(), type, strides.empty() ? nullptr : strides.data(), offset,
                        format, storage.data(), storage.size(), memory);
    EXPECT_NE(tensor, nullptr) << LastMessage();
    tensors_.push_back(tensor);
    return tensor;
  }
  aclTensor* Plain(void* memory, const TileDims& shape) {
    return Tensor(memory, shape, ACL_FORMAT_ND, shape);
  }
  aclTensor* Tiled(void* memory) { return Tensor(memory, kMatrix, ACL_FORMAT_FRACTAL_NZ, kTiles); }
  static aclnnStatus Cast(aclTensor* from, aclTensor* to) {
    return Call(
        [&](uint64_t* s, aclOpExecutor** e) { return aclnnNpuFormatCastGetWorkspaceSize(from, to, s, e); },
        aclnnNpuFormatCast);
  }
  static aclnnStatus Product(aclTensor* left, aclTensor* right, aclTensor* out) {
    return Call(
        [&](uint64_t* s, aclOpExecutor** e) {
          return aclnnMatmulWeightNzGetWorkspaceSize(left, right, out, 0, s, e);
        },
        aclnnMatmulWeightNz);
  }
  static aclnnStatus PlainProduct(aclTensor* left, aclTensor* right, aclTensor* out) {
    return Call(
        [&](uint64_t* s, aclOpExecutor** e) { return aclnnMmGetWorkspaceSize(left, right, out, 0, s, e); },
        aclnnMm);
  }
  static void ExpectTiles(const uint16_t* tiles) {
    std::vector<uint16_t> wanted(static_cast<size_t>(kTiled), 0);
    for (int64_t i = 0; i < kRows * kColumns; ++i)
      wanted[PlaceInTiles(i / kColumns, i % kColumns)] = aclFloatToFloat16(static_cast<float>(i));
    EXPECT_EQ(std::vector<uint16_t>(tiles, tiles + kTiled), wanted);
  }
  static void ExpectPlain(const uint16_t* halves) {
    for (int64_t i = 0; i < kRows * kColumns; ++i)
      ASSERT_EQ(aclFloat16ToFloat(halves[i]), static_cast<float>(i)) << i;
  }
  // As torch_npu calls it: the matrix with its base format, then how it is stored.
  aclError Identity(void* from, bool from_tiles, void* to, bool to_tiles, const TileDims& tiles = kTiles) {
    aclTensorDesc* desc[2];
    aclDataBuffer* buffer[2];
    void* memory[] = {from, to};
    const bool tiled[] = {from_tiles, to_tiles};
    for (int i = 0; i < 2; ++i) {
      desc[i] = aclCreateTensorDesc(ACL_FLOAT16, 2, kMatrix.data(), ACL_FORMAT_ND);
      if (tiled[i]) {
        EXPECT_EQ(aclSetTensorFormat(desc[i], ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
        EXPECT_EQ(aclSetTensorShape(desc[i], static_cast<int>(tiles.size()), tiles.data()), ACL_SUCCESS);
      }
      buffer[i] =
          aclCreateDataBuffer(memory[i], static_cast<size_t>(tiled[i] ? kTiled : kRows * kColumns) * 2);
    }
    aclopAttr* attr = aclopCreateAttr();
    const aclError error = aclopCompileAndExecute("Identity", 1, desc, buffer, 1, desc + 1, buffer + 1, attr,
                                                  ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    aclopDestroyAttr(attr);
    for (int i = 0; i < 2; ++i) {
      aclDestroyTensorDesc(desc[i]);
      EXPECT_EQ(aclDestroyDataBuffer(buffer[i]), ACL_SUCCESS);
    }
    return error;
  }

 private:
  std::vector<aclTensor*> tensors_;
  std::vector<void*> memory_;
};

TEST_F(Tiles, HoldTheMatrixBlockByBlock) {
  uint16_t *plain = Halves(kRows * kColumns, true), *tiles = Halves(kTiled, false),
           *back = Halves(kRows * kColumns, false);
  aclTensor* tiled = Tiled(tiles);
  ASSERT_EQ(Cast(Plain(plain, kMatrix), tiled), 0) << LastMessage();
  ExpectTiles(tiles);
  ASSERT_EQ(Cast(tiled, Plain(back, kMatrix)), 0) << LastMessage();
  ExpectPlain(back);
}

TEST_F(Tiles, AreMadeWhereTheMatrixLies) {
  uint16_t* memory = Halves(kTiled, true);
  aclTensor *plain = Plain(memory, kMatrix), *tiled = Tiled(memory);
  ASSERT_EQ(Cast(plain, tiled), 0) << LastMessage();
  ExpectTiles(memory);
  ASSERT_EQ(Cast(tiled, plain), 0) << LastMessage();
  ExpectPlain(memory);
}

TEST_F(Tiles, AreReadByProductsThatSayTheyDo) {
  uint16_t *plain = Halves(kRows * kColumns, true), *tiles = Halves(kTiled, false), *x = Halves(40, true),
           *y = Halves(64, false), *z = Halves(64, false);
  aclTensor *matrix = Plain(plain, kMatrix), *tiled = Tiled(tiles);
  ASSERT_EQ(Cast(matrix, tiled), 0) << LastMessage();
  aclTensor *left = Plain(x, {2, kRows}), *out = Plain(y, {2, kColumns}), *other = Plain(z, {2, kColumns});
  ASSERT_EQ(Product(left, tiled, out), 0) << LastMessage();
  ASSERT_EQ(PlainProduct(left, matrix, other), 0);
  EXPECT_TRUE(std::equal(y, y + 2 * kColumns, z));
  aclTensor* turned = Tensor(tiles, {kColumns, kRows}, ACL_FORMAT_FRACTAL_NZ, kTiles, {1, kColumns});
  aclTensor *wide = Plain(x, {2, kColumns}), *narrow = Plain(y, {2, kRows}), *same = Plain(z, {2, kRows});
  ASSERT_EQ(Product(wide, turned, narrow), 0) << LastMessage();
  ASSERT_EQ(PlainProduct(wide, Tensor(plain, {kColumns, kRows}, ACL_FORMAT_ND, {340}, {1, kColumns}), same),
            0);
  EXPECT_TRUE(std::equal(y, y + 2 * kRows, z));
  EXPECT_EQ(PlainProduct(left, tiled, out), 161002) << "aclnnMm does not say so";
  EXPECT_EQ(Product(Tensor(x, {2, kRows}, ACL_FORMAT_FRACTAL_NZ, {2, 1, kTile, kTile}), matrix, out), 161002)
      << "the left matrix is no weight";
}

// One storage of four dimensions for a matrix of four: its tiles are not taken for the matrix.
TEST_F(Tiles, OfAViewOfAsManyDimensionsAreNoMatrix) {
  uint16_t *tiles = Halves(kTiled, true), *x = Halves(40, true), *y = Halves(64, false);
  aclTensor* view = Tensor(tiles, {1, 1, kRows, kColumns}, ACL_FORMAT_FRACTAL_NZ, kTiles);
  aclTensor *left = Plain(x, {1, 1, 2, kRows}), *out = Plain(y, {1, 1, 2, kColumns});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnMatmulGetWorkspaceSize(left, view, out, 0, &size, &executor), 161002);
  EXPECT_EQ(aclnnMatmulWeightNzGetWorkspaceSize(left, view, out, 0, &size, &executor), 161002);
}

TEST_F(Tiles, AreTakenWhole) {
  uint16_t *tiles = Halves(kTiled, true), *x = Halves(64, true), *y = Halves(64, false);
  const auto refused = [&](const TileDims& shape, const TileDims& storage, const TileDims& strides,
                           int64_t offset) {
    aclTensor* part = Tensor(tiles, shape, ACL_FORMAT_FRACTAL_NZ, storage, strides, offset);
    const aclnnStatus code = Product(Plain(x, {1, shape[0]}), part, Plain(y, {1, shape[1]}));
    EXPECT_NE(LastMessage(), "");
    return code;
  };
  EXPECT_EQ(refused({3, kColumns}, kTiles, {kColumns, 1}, 0), 161002) << "its first rows";
  EXPECT_EQ(refused(kMatrix, {1, 2, kTile, 2 * kTile}, {kColumns, 1}, 2), 161002) << "an offset";
  EXPECT_EQ(refused({kRows, 3}, kTiles, {kColumns, 1}, 0), 161002) << "its first columns";
  EXPECT_EQ(refused({40, kColumns}, kTiles, {}, 0), 161002) << "more rows than tiles hold";
  EXPECT_EQ(refused(kMatrix, {2, 2, 8, 32}, {}, 0), 161002) << "tiles of eight rows";
  EXPECT_EQ(refused(kMatrix, {1, 2, 2, kTile, kTile}, {}, 0), 161002) << "a batch that is none";
}

TEST_F(Tiles, AreDescribedBeforeTheyAreMade) {
  int64_t* dims = nullptr;
  uint64_t count = 0;
  int format = 0;
  uint16_t* memory = Halves(kTiled, true);
  const auto asked = [&](aclTensor* src, int to, int type) {
    const aclnnStatus code = aclnnNpuFormatCastCalculateSizeAndFormat(src, to, type, &dims, &count, &format);
    TileDims given;
    if (code != 0) return std::pair(code, given);
    given.assign(dims, dims + count);
    delete[] dims;
    EXPECT_EQ(format, to);
    return std::pair(code, given);
  };
  aclTensor *plain = Plain(memory, kMatrix), *batch = Plain(memory, {3, 17, 20});
  const std::pair<aclnnStatus, TileDims> bad = {161002, {}};
  EXPECT_EQ(asked(plain, ACL_FORMAT_FRACTAL_NZ, ACL_FLOAT16), std::pair(0, kTiles));
  EXPECT_EQ(asked(batch, ACL_FORMAT_FRACTAL_NZ, ACL_INT8), std::pair(0, TileDims{3, 1, 2, 16, 32}));
  EXPECT_EQ(asked(plain, ACL_FORMAT_FRACTAL_NZ, ACL_FLOAT), std::pair(0, TileDims{3, 2, 16, 8}));
  EXPECT_EQ(asked(Tiled(memory), ACL_FORMAT_ND, ACL_FLOAT16), std::pair(0, kMatrix));
  EXPECT_EQ(asked(plain, ACL_FORMAT_ND, ACL_FLOAT16), bad) << "from ND to ND";
  EXPECT_EQ(asked(plain, ACL_FORMAT_NC1HWC0, ACL_FLOAT16), bad) << "a format that is not there";
  EXPECT_EQ(asked(plain, ACL_FORMAT_FRACTAL_NZ, ACL_DT_UNDEFINED), bad);
  EXPECT_EQ(asked(plain, ACL_FORMAT_FRACTAL_NZ, ACL_INT64), bad);
  EXPECT_EQ(asked(Plain(memory, {17}), ACL_FORMAT_FRACTAL_NZ, ACL_FLOAT16), bad);
  EXPECT_EQ(
      asked(Tensor(memory, {2, 2}, ACL_FORMAT_ND, {4}, {}, 0, ACL_INT64), ACL_FORMAT_FRACTAL_NZ, ACL_FLOAT16),
      bad);
  EXPECT_EQ(aclnnNpuFormatCastCalculateSizeAndFormat(nullptr, 29, 1, &dims, &count, &format), 161001);
  EXPECT_EQ(aclnnNpuFormatCastCalculateSizeAndFormat(plain, 29, 1, nullptr, &count, &format), 161001);
  EXPECT_EQ(aclnnNpuFormatCastCalculateSizeAndFormat(plain, 29, 1, &dims, nullptr, &format), 161001);
  EXPECT_EQ(aclnnNpuFormatCastCalculateSizeAndFormat(plain, 29, 1, &dims, &count, nullptr), 161001);
}

TEST_F(Tiles, AreReadAndMadeBySingleOperators) {
  uint16_t *plain = Halves(kRows * kColumns, true), *tiles = Halves(kTiled, false),
           *back = Halves(kRows * kColumns, false);
  ASSERT_EQ(Identity(plain, false, tiles, true), ACL_SUCCESS) << LastMessage();
  ExpectTiles(tiles);
  ASSERT_EQ(Identity(tiles, true, back, false), ACL_SUCCESS) << LastMessage();
  ExpectPlain(back);
  EXPECT_EQ(Identity(plain, false, tiles, true, {2, 2, kTile, 8}), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Identity(plain, false, tiles, true, kMatrix), ACL_ERROR_INVALID_PARAM) << "no tiles at all";
}

}  // namespace
}  // namespace conformance
