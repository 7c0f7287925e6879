// Rectangles with gaps and batches: what lies between the rows and beside the pieces belongs to others.
#include "mistakes.h"

using namespace mistakes;

namespace {

char* PartAt(void* block, size_t place) { return static_cast<char*>(block) + place; }

void CopyRows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
              aclrtStream stream) {
  OK(aclrtMemcpy2dAsync(to, to_pitch, from, from_pitch, width, rows, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

// Pieces of as many bytes each, from the device to pinned memory or from the host to the device.
struct Batch {
  static constexpr size_t kPiece = 256;
  void* to[2];
  void* from[2];
  size_t sizes[2] = {kPiece, kPiece}, first = 0, failed = 0;
  aclrtMemcpyBatchAttr places{};
  Batch(void* to_first, void* to_second, void* from_first, void* from_second, bool uploads)
      : to{to_first, to_second}, from{from_first, from_second} {
    aclrtMemLocation& device = uploads ? places.dstLoc : places.srcLoc;
    (uploads ? places.srcLoc : places.dstLoc).type = ACL_MEM_LOCATION_TYPE_HOST;
    device.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  }
  int On(aclrtStream stream) {
    return aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, &places, &first, 1, &failed, stream);
  }
  int Now() { return aclrtMemcpyBatch(to, sizes, from, sizes, 2, &places, &first, 1, &failed); }
};

}  // namespace

// Halves of the rows of one image, by a stream each.
MISTAKE(BandsOfAnImageMeet, "race") {
  CopyRows(x, 256, y, 256, 128, 16, a);                              // [1]
  CopyRows(PartAt(x, mended ? 128 : 127), 256, z, 256, 128, 15, b);  // [2]
}

MISTAKE(AFillLeavesTheGapBetweenRows, "race") {
  CopyRows(x, 1024, y, 512, 512, 4, a);                                 // [1]
  OK(aclrtMemsetAsync(PartAt(x, mended ? 512 : 511), 512, 3, 512, b));  // [2]
}

MISTAKE(TheHostReadsAColumnThatIsBeingWritten, "race") {
  CopyRows(x, 64, y, 64, 16, 64, a);                                                               // [1]
  OK(aclrtMemcpy2d(host, 64, PartAt(x, mended ? 16 : 15), 64, 8, 63, ACL_MEMCPY_DEVICE_TO_HOST));  // [2]
}

MISTAKE(OneOfABatchIsNotThereYet, "race") {
  Fill(PartAt(x, 2048), b, 512);  // [1]
  Batch batch(pinned, PartAt(pinned, 1024), x, PartAt(x, mended ? 1024 : 2048), false);
  OK(batch.On(a));  // [2]
}

MISTAKE(ABatchAtOnceMeetsAReader, "race") {
  Copy(y, PartAt(x, 1024), a, 64);  // [1]
  Batch batch(x, PartAt(x, mended ? 1088 : 1087), host, host + 1024, true);
  OK(batch.Now());  // [2]
}

MISTAKE(PinnedMemoryOfABatchIsFreed, "free-while-used") {
  void* block = NewPinned();
  Batch batch(block, pinned, x, y, false);
  OK(batch.On(a));  // [2]
  if (mended) Wait(a);
  OK(aclrtFreeHost(block));  // [1]
}

MISTAKE(OneOfABatchIsGone, "use-after-free") {
  void* block = NewBlock();  // [3]
  if (!mended) Free(block);  // [2]
  Batch batch(host, host + 1024, x, block, false);
  TWIN(batch.Now());  // [1]
  if (mended) Free(block);
}
