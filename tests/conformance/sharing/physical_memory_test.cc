// Physical memory that another process maps by a number.
#include "two_processes.h"

namespace {

using namespace conformance;

constexpr size_t kPhysicalBytes = 2 << 20;

int* MapSomewhere(aclrtDrvMemHandle handle) {
  void* range = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&range, kPhysicalBytes, 0, nullptr, 0));
  EXPECT_OK(aclrtMapMem(range, kPhysicalBytes, 0, handle, 0));
  return static_cast<int*>(range);
}

class PhysicalMemory : public Sharing {
 protected:
  static aclrtDrvMemHandle NewPhysical() {
    aclrtPhysicalMemProp prop = {};
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_OK(aclrtMallocPhysical(&handle, kPhysicalBytes, &prop, 0));
    return handle;
  }
  static uint64_t Export(aclrtDrvMemHandle handle, uint64_t flags) {
    uint64_t number = 0;
    EXPECT_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, flags, &number));
    return number;
  }
};

TEST_F(PhysicalMemory, BothProcessesSeeWhatEitherWrites) {
  OtherProcess other([](Channel& channel) {
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_OK(aclrtMemImportFromShareableHandle(channel.Receive<uint64_t>(), 1, &handle));
    int* shared = MapSomewhere(handle);
    EXPECT_EQ(shared[0], 5);
    shared[1] = 6;
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_EQ(shared[2], 7) << "also after the exporter has freed it";
    aclrtPtrAttributes attributes = {};
    EXPECT_OK(aclrtPointerGetAttributes(shared, &attributes));
    EXPECT_EQ(attributes.location.id, 1u) << "the device that the importer chose";
    uint64_t number = 0;
    EXPECT_REFUSED(kBadArgument,
                   aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                   "another process's");
    EXPECT_OK(aclrtUnmapMem(shared));
    EXPECT_OK(aclrtFreePhysical(handle));
  });
  Start();
  aclrtDrvMemHandle handle = NewPhysical();
  int* shared = MapSomewhere(handle);
  shared[0] = 5;
  other.channel.Send(Export(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  other.channel.Receive<bool>();
  EXPECT_EQ(shared[1], 6);
  shared[2] = 7;
  EXPECT_OK(aclrtUnmapMem(shared));
  EXPECT_OK(aclrtFreePhysical(handle));
  other.channel.Send(true);
  other.Join();
}

TEST_F(PhysicalMemory, OnlyNamedProcessesImport) {
  OtherProcess other([](Channel& channel) {
    auto number = channel.Receive<uint64_t>();
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_REFUSED(kBadArgument, aclrtMemImportFromShareableHandle(number, 0, &handle),
                   "did not name this process");
    channel.Send(true);
    channel.Receive<bool>();
    EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &handle));
  });
  Start();
  uint64_t number = Export(NewPhysical(), ACL_RT_VMM_EXPORT_FLAG_DEFAULT);
  other.channel.Send(number);
  other.channel.Receive<bool>();
  int32_t pid = other.pid();
  EXPECT_OK(aclrtMemSetPidToShareableHandle(number, &pid, 1));
  other.channel.Send(true);
  other.Join();
}

TEST_F(PhysicalMemory, FreedMemoryIsGone) {
  OtherProcess other([](Channel& channel) {
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_REFUSED(kStale, aclrtMemImportFromShareableHandle(channel.Receive<uint64_t>(), 0, &handle),
                   "offers no such thing");
  });
  Start();
  aclrtDrvMemHandle handle = NewPhysical();
  uint64_t number = Export(handle, 1);
  EXPECT_OK(aclrtFreePhysical(handle));
  other.channel.Send(number);
  int32_t pid = 1;
  EXPECT_REFUSED(kStale, aclrtMemSetPidToShareableHandle(number, &pid, 1), "freed that memory");
}

TEST_F(PhysicalMemory, BadArguments) {
  Start();
  aclrtDrvMemHandle handle = NewPhysical();
  aclrtDrvMemHandle imported = nullptr;
  uint64_t number = 0;
  int32_t pid = 1;
  EXPECT_REFUSED(kBadArgument, aclrtMemExportToShareableHandle(nullptr, ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                 "handle");
  EXPECT_REFUSED(kBadArgument, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, nullptr),
                 "shareableHandle");
  EXPECT_REFUSED(kBadArgument, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 4, &number),
                 "flags");
  EXPECT_REFUSED(kBadArgument,
                 aclrtMemExportToShareableHandle(handle, static_cast<aclrtMemHandleType>(3), 1, &number),
                 "handleType");
  for (void* foreign : ForeignHandles()) {
    EXPECT_REFUSED(kStale, aclrtMemExportToShareableHandle(foreign, ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                   "handle");
  }
  number = Export(handle, 1);
  EXPECT_REFUSED(kBadArgument, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                 "exported already");
  EXPECT_REFUSED(kBadArgument, aclrtMemImportFromShareableHandle(number, 0, &imported), "exported it itself");
  EXPECT_REFUSED(107001, aclrtMemImportFromShareableHandle(number, 99, &imported), "99");
  EXPECT_REFUSED(kBadArgument, aclrtMemImportFromShareableHandle(number, 0, nullptr), "handle");
  for (uint64_t none : {uint64_t{0}, uint64_t{1} << 42, ~uint64_t{0}}) {
    EXPECT_REFUSED(kStale, aclrtMemImportFromShareableHandle(none, 0, &imported), "");
    EXPECT_REFUSED(kStale, aclrtMemSetPidToShareableHandle(none, &pid, 1), "");
  }
  EXPECT_REFUSED(kBadArgument, aclrtMemSetPidToShareableHandle(number, nullptr, 1), "pid");
  EXPECT_REFUSED(kBadArgument, aclrtMemSetPidToShareableHandle(number, &pid, 0), "no process");
}

}  // namespace
