// aclrtMemcpyBatch, aclrtMemcpyBatchAsync.
#include "memory/memory_fixture.h"

namespace conformance {
namespace {

// Three copies: host to device, device to device, device to host.
class Batch : public MemoryTest {
 public:
  void SetUp() override {
    MemoryTest::SetUp();
    first_ = Device(100);
    second_ = Device(100);
    third_ = Device(100);
    host_in_ = Pinned(100);
    host_out_ = Pinned(100);
    std::memset(host_in_, 1, 100);
    std::memset(second_, 2, 100);
    std::memset(host_out_, 0, 100);
    dsts_ = {first_, third_, host_out_};
    srcs_ = {host_in_, second_, second_};
    aclrtMemLocation device = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtMemLocation host = {0, ACL_MEM_LOCATION_TYPE_HOST};
    attrs_ = {{device, host, {}}, {device, device, {}}, {host, device, {}}};
  }
  void TearDown() override {
    for (void* p : {first_, second_, third_}) EXPECT_EQ(aclrtFree(p), kOk);
    for (void* p : {host_in_, host_out_}) EXPECT_EQ(aclrtFreeHost(p), kOk);
    MemoryTest::TearDown();
  }
  aclError Now(size_t batches = 3, size_t attrs = 3) {
    fail_ = 77;
    return aclrtMemcpyBatch(dsts_.data(), maxs_.data(), srcs_.data(), sizes_.data(), batches, attrs_.data(),
                            starts_.data(), attrs, &fail_);
  }
  aclError Later(size_t batches = 3, size_t attrs = 3) {
    fail_ = 77;
    return aclrtMemcpyBatchAsync(dsts_.data(), maxs_.data(), srcs_.data(), sizes_.data(), batches,
                                 attrs_.data(), starts_.data(), attrs, &fail_, stream_);
  }
  void ExpectCopied() {
    EXPECT_EQ(first_[99], 1);
    EXPECT_EQ(third_[99], 2);
    EXPECT_EQ(host_out_[99], 2);
  }

  uint8_t *first_, *second_, *third_, *host_in_, *host_out_;
  std::vector<void*> dsts_, srcs_;
  std::vector<size_t> maxs_{100, 100, 100}, sizes_{100, 100, 100}, starts_{0, 1, 2};
  std::vector<aclrtMemcpyBatchAttr> attrs_;
  size_t fail_ = 0;
};

TEST_F(Batch, CopiesAll) {
  ASSERT_EQ(Now(), kOk);
  ExpectCopied();
}

TEST_F(Batch, CopiesAllOnAStream) {
  ASSERT_EQ(Later(), kOk);
  Sync();
  ExpectCopied();
}

TEST_F(Batch, NamesTheCopyThatIsWrong) {
  sizes_[1] = 101;
  for (auto call : {&Batch::Now, &Batch::Later}) {
    EXPECT_EQ((this->*call)(3, 3), kBadArgument) << "more than destMax";
    EXPECT_EQ(fail_, 1u);
  }
  maxs_[1] = sizes_[1] = 1000;
  for (auto call : {&Batch::Now, &Batch::Later}) {
    EXPECT_EQ((this->*call)(3, 3), kBadArgument) << "more than the block";
    EXPECT_EQ(fail_, 1u);
  }
  sizes_[1] = 100;
  attrs_[2].dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  for (auto call : {&Batch::Now, &Batch::Later}) {
    EXPECT_EQ((this->*call)(3, 3), kBadArgument) << "not where its attribute says";
    EXPECT_EQ(fail_, 2u);
  }
  EXPECT_EQ(first_[0], first_[0]);
  EXPECT_EQ(host_out_[0], 0) << "checked before anything was copied";
}

TEST_F(Batch, RefusesWrongShapes) {
  for (auto call : {&Batch::Now, &Batch::Later}) {
    starts_ = {0, 1, 2};
    EXPECT_EQ((this->*call)(0, 1), kBadArgument);
    EXPECT_EQ(fail_, SIZE_MAX) << "no copy in particular";
    EXPECT_EQ((this->*call)(3, 0), kBadArgument);
    EXPECT_EQ((this->*call)(2, 3), kBadArgument) << "more attributes than copies";
    starts_ = {1, 2, 2};
    EXPECT_EQ((this->*call)(3, 1), kBadArgument) << "does not start with 0";
    starts_ = {0, 2, 2};
    EXPECT_EQ((this->*call)(3, 3), kBadArgument) << "does not rise";
    starts_ = {0, 1, 3};
    EXPECT_EQ((this->*call)(3, 3), kBadArgument) << "beyond the last copy";
    EXPECT_EQ(fail_, SIZE_MAX);
  }
  EXPECT_EQ(aclrtMemcpyBatch(nullptr, maxs_.data(), srcs_.data(), sizes_.data(), 1, attrs_.data(),
                             starts_.data(), 1, &fail_),
            kBadArgument);
}

TEST_F(Batch, HostToHostOnAStreamIsNotSupported) {
  dsts_[1] = host_out_;
  srcs_[1] = host_in_;
  attrs_[1].dstLoc.type = attrs_[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(Later(), kNotSupported);
  EXPECT_EQ(fail_, 1u);
  dsts_[2] = third_;
  attrs_[2].dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(Now(), kOk);
  EXPECT_EQ(host_out_[0], 1);
}

}  // namespace
}  // namespace conformance
