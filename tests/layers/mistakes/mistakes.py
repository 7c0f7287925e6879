"""Mistakes of Python programs, as those of mistakes.h: their lines are Python's."""
import ctypes
import itertools
import os
import sys
import threading
import zlib

acl = ctypes.CDLL("libascendcl.so")
BYTES = 4096
MISTAKES = []
mended = False
values = itertools.count(1)
loaded = []
x, y, a, b = (ctypes.c_void_p() for _ in range(4))


def mistake(kind):
    def add(body):
        MISTAKES.append((body.__name__, kind, body.__code__.co_firstlineno, body))
        return body
    return add


def ok(code):
    assert code == 0, code


def twin(code):
    assert (code == 0) == mended, code


def at(block, offset=0):
    return ctypes.c_void_p(block.value + offset)


def fill(block, stream):
    """With another value each time."""
    ok(acl.aclrtMemsetAsync(block, ctypes.c_size_t(BYTES), next(values), ctypes.c_size_t(BYTES), stream))


def copy(to, source, stream, size=BYTES):
    return acl.aclrtMemcpyAsync(to, ctypes.c_size_t(size), source, ctypes.c_size_t(size), 3, stream)


def new_block():
    block = ctypes.c_void_p()
    ok(acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(BYTES), 0))
    ok(acl.aclrtMemset(block, ctypes.c_size_t(BYTES), 0, ctypes.c_size_t(BYTES)))
    return block


class Event:
    """Records a stream, as frameworks have it, and lets others wait."""

    def __init__(self, stream):
        self.handle = ctypes.c_void_p()
        ok(acl.aclrtCreateEventWithFlag(ctypes.byref(self.handle), 1))
        ok(acl.aclrtRecordEvent(self.handle, stream))

    def wait(self, stream):
        ok(acl.aclrtStreamWaitEvent(stream, self.handle))


@mistake("race")
def a_method_lacks_its_wait():
    class Step:
        def run(self):
            fill(x, a)  # [1]
            if mended:
                Event(a).wait(b)
            ok(copy(y, x, b))  # [2]
    Step().run()


@mistake("race")
def a_generator_goes_ahead():
    def batches():
        for _ in range(2):
            fill(x, a)  # [1]
            yield Event(a)
    for filled in batches():
        if mended:
            filled.wait(b)
        ok(copy(y, x, b))  # [2]
        ok(acl.aclrtSynchronizeDevice())


@mistake("race")
def a_thread_does_not_wait():
    def load():
        ok(acl.aclrtSetDevice(0))
        fill(x, a)  # [1]
        if mended:
            ok(acl.aclrtSynchronizeStream(a))
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    ok(copy(y, x, b))  # [2]


@mistake("free-while-used")
def the_garbage_collector_frees_too_early():
    class Tensor:
        def __init__(self):
            self.block = new_block()

        def __del__(self):
            ok(acl.aclrtFree(self.block))  # [1]
    tensor = Tensor()
    fill(tensor.block, a)  # [2]
    if mended:
        ok(acl.aclrtSynchronizeStream(a))
    del tensor


@mistake("use-after-free")
def a_name_outlives_its_block():
    block = new_block()  # [3]
    if not mended:
        ok(acl.aclrtFree(block))  # [2]
    twin(copy(x, block, a))  # [1]
    ok(acl.aclrtSynchronizeStream(a))
    if mended:
        ok(acl.aclrtFree(block))


@mistake("beyond-end")
def a_slice_is_too_long():
    block = new_block()  # [2]
    twin(copy(x, at(block, 1024), a, BYTES - (1024 if mended else 512)))  # [1]
    ok(acl.aclrtSynchronizeStream(a))
    ok(acl.aclrtFree(block))


@mistake("leak")
def a_list_keeps_what_nobody_frees():
    blocks = []
    for _ in range(2):
        blocks.append(new_block())  # [1]
    for block in blocks:
        if mended:
            ok(acl.aclrtFree(block))


class Pinned:
    """A pinned block, and a view of it as buffers have it."""

    def __init__(self):
        self.block = ctypes.c_void_p()
        ok(acl.aclrtMallocHost(ctypes.byref(self.block), ctypes.c_size_t(BYTES)))
        ctypes.memset(self.block, 7, BYTES)
        self.view = memoryview((ctypes.c_char * BYTES).from_address(self.block.value)).cast("B")


@mistake("race")
def a_result_is_read_too_early():
    pinned = Pinned()
    size = ctypes.c_size_t(BYTES)
    ok(acl.aclrtMemcpyAsync(pinned.block, size, x, size, 2, a))  # [1]
    if mended:
        ok(acl.aclrtSynchronizeStream(a))
    loaded.append(pinned.view[8])  # [2]
    ok(acl.aclrtSynchronizeStream(a))
    ok(acl.aclrtFreeHost(pinned.block))


@mistake("race")
def a_file_is_read_into_an_upload():
    pinned = Pinned()
    size = ctypes.c_size_t(BYTES)
    with open("/dev/zero", "rb", buffering=0) as zeros:
        ok(acl.aclrtMemcpyAsync(x, size, pinned.block, size, 1, a))  # [1]
        if mended:
            ok(acl.aclrtSynchronizeStream(a))
        assert zeros.readinto(pinned.view) == BYTES  # [2]
    ok(acl.aclrtSynchronizeStream(a))
    ok(acl.aclrtFreeHost(pinned.block))


# Less than a page, so that no store is seen, but what it has left.
@mistake("race")
def a_small_upload_is_filled_again():
    pinned = Pinned()
    size = ctypes.c_size_t(16)
    ok(acl.aclrtMemcpyAsync(x, size, at(pinned.block, 8), size, 1, a))  # [1]
    if mended:
        ok(acl.aclrtSynchronizeStream(a))
    pinned.view[9] = pinned.view[9] ^ 1
    ok(acl.aclrtSynchronizeStream(a))  # [2]
    ok(acl.aclrtFreeHost(pinned.block))


@mistake("hang")
def nobody_records_what_is_waited_for():
    event = ctypes.c_void_p()
    ok(acl.aclrtCreateEvent(ctypes.byref(event)))
    if mended:
        ok(acl.aclrtRecordEvent(event, b))
    ok(acl.aclrtStreamWaitEvent(a, event))  # [1]


def what_is_left(block):
    """After a synchronisation."""
    bytes_of_host = (ctypes.c_char * BYTES)()
    ok(acl.aclrtMemcpy(bytes_of_host, ctypes.c_size_t(BYTES), block, ctypes.c_size_t(BYTES), 2))
    return zlib.crc32(bytes_of_host.raw)


def run(body, prints=False):
    ok(acl.aclInit(None))
    ok(acl.aclrtSetDevice(0))
    for stream in (a, b):
        ok(acl.aclrtCreateStream(ctypes.byref(stream)))
    x.value, y.value = new_block().value, new_block().value
    body()
    ok(acl.aclrtSynchronizeDevice())
    if prints:
        print(what_is_left(x), what_is_left(y), loaded)
    for block in (x, y):
        ok(acl.aclrtFree(block))
    ok(acl.aclrtResetDevice(0))
    ok(acl.aclFinalize())


def main():
    global mended
    if sys.argv[1] == "list":
        for name, kind, line, _ in MISTAKES:
            print(name, kind, os.path.abspath(__file__), line, sep="\t")
        return
    if sys.argv[1] == "once":
        mended = sys.argv[3] == "mended"
        run(next(body for name, _, _, body in MISTAKES if name == sys.argv[2]), True)
        return
    for name, _, _, body in MISTAKES:
        for mended in (False, True):
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            child = os.fork()
            if child == 0:
                run(body)
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(child, name, "mended" if mended else "wrong", code, sep="\t", flush=True)


main()
