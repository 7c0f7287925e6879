"""A rank that belay launch --rank-table started: sums 1 over all ranks, and says the sum and where it ran."""
import ctypes
import os

acl = ctypes.CDLL("libascendcl.so")
hccl = ctypes.CDLL("libhccl.so")


def check(code):
    if code != 0:
        acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        raise SystemExit(f"error {code}: {acl.aclGetRecentErrMsg()}")


comm, stream, memory = (ctypes.c_void_p() for _ in range(3))
number = ctypes.c_float(1)
check(acl.aclInit(None))
check(acl.aclrtSetDevice(int(os.environ["DEVICE_ID"])))
check(hccl.HcclCommInitClusterInfo(os.environ["RANK_TABLE_FILE"].encode(), int(os.environ["RANK"]), ctypes.byref(comm)))
check(acl.aclrtCreateStream(ctypes.byref(stream)))
check(acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(4), 0))
check(acl.aclrtMemcpy(memory, ctypes.c_size_t(4), ctypes.byref(number), ctypes.c_size_t(4), 1))
check(hccl.HcclAllReduce(memory, memory, ctypes.c_uint64(1), 4, 0, comm, stream))
check(acl.aclrtSynchronizeStream(stream))
check(acl.aclrtMemcpy(ctypes.byref(number), ctypes.c_size_t(4), memory, ctypes.c_size_t(4), 2))
check(hccl.HcclCommDestroy(comm))
check(acl.aclFinalize())
print("sum", number.value, "on", os.environ["BELAY_COLLECTIVE_HOST"])
