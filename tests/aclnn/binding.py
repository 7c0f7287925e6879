"""The two stages of the functions in include/aclnnop, called through ctypes as a program calls them."""
from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

OK, NULL_ARGUMENT, BAD_ARGUMENT, INDEX_FAULT = 0, 161001, 161002, 507035
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

_STAGE_ONE = re.compile(r'aclnnStatus acl(?:nn)?(\w+)GetWorkspaceSize\(\s*(.*?)\);', re.S)
_ARGUMENT = re.compile(r'(?:const )?(\w+) (\*?)(\w+)')
_PLAIN = {'int64_t': ctypes.c_int64, 'uint64_t': ctypes.c_uint64, 'int8_t': ctypes.c_int8, 'int': ctypes.c_int, 'bool': ctypes.c_bool,
          'float': ctypes.c_float, 'double': ctypes.c_double, 'aclDataType': ctypes.c_int, 'char': ctypes.c_char_p}


@dataclass(frozen=True)
class Argument:
    type: str  # 'aclTensor', 'int64_t', ...
    name: str

    @property
    def ctype(self):
        return _PLAIN.get(self.type, ctypes.c_void_p)

    @property
    def handle(self) -> bool:
        return self.type not in _PLAIN


def symbol(name: str) -> str:
    """The function of a name in the tables; one has the prefix of the rest of the interface."""
    return f'acl{name}' if name == 'Stft' else f'aclnn{name}'


def read_signatures(folder: Path) -> dict[str, list[Argument]]:
    """Each function of the headers, without its prefix, and its arguments but the last two."""
    found = {}
    for path in sorted(folder.glob('*.h')):
        for name, text in _STAGE_ONE.findall(path.read_text()):
            arguments = [' '.join(part.split()) for part in text.split(',')][:-2]
            found[name] = [Argument(*_ARGUMENT.fullmatch(a).group(1, 3)) for a in arguments]
    return found


class Device:
    """Device 0 with a stream, and the libraries of the build."""

    def __init__(self, lib64: Path):
        self.signatures = read_signatures(headers())
        libraries = [ctypes.CDLL(str(lib64 / f'lib{name}.so'), ctypes.RTLD_GLOBAL)
                     for name in ('ascendcl', 'nnopbase', 'opapi')]
        self._acl, self._base, self._ops = libraries
        ctypes.CDLL('libstdc++.so.6', ctypes.RTLD_GLOBAL)
        self._delete_array = ctypes.CDLL(None)._ZdaPv  # of whoever replaces it: AddressSanitizer does
        self._acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self._check(self._acl.aclInit(None), 'aclInit')
        self._check(self._acl.aclrtSetDevice(0), 'aclrtSetDevice')
        self.stream = ctypes.c_void_p()
        self._check(self._acl.aclrtCreateStream(ctypes.byref(self.stream)), 'aclrtCreateStream')

    def close(self):
        self._check(self._acl.aclrtDestroyStream(self.stream), 'aclrtDestroyStream')
        self._check(self._acl.aclrtResetDevice(0), 'aclrtResetDevice')
        self._check(self._acl.aclFinalize(), 'aclFinalize')

    def _check(self, code: int, what: str):
        if code != OK:
            raise RuntimeError(f'{what}: {code}: {self.message()}')

    def message(self) -> str | None:
        """The text of the last error of this thread, which reading removes."""
        text = self._acl.aclGetRecentErrMsg()
        return text.decode(errors='replace') if text else None

    def malloc(self, size: int) -> int:
        address = ctypes.c_void_p()
        self._check(self._acl.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(max(size, 1)), 0),
                    'aclrtMalloc')
        return address.value

    def free(self, address: int):
        self._check(self._acl.aclrtFree(ctypes.c_void_p(address)), 'aclrtFree')

    def copy(self, to: int, source: int, size: int, kind: int):
        if size:
            size = ctypes.c_size_t(size)
            self._check(self._acl.aclrtMemcpy(ctypes.c_void_p(to), size, ctypes.c_void_p(source), size,
                                              kind), 'aclrtMemcpy')

    def view_shape(self, tensor: int) -> tuple[int, ...]:
        dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        self._check(self._base.aclGetViewShape(ctypes.c_void_p(tensor), ctypes.byref(dims), ctypes.byref(rank)),
                    'aclGetViewShape')
        shape = tuple(dims[i] for i in range(rank.value))
        self._delete_array(dims)
        return shape

    def create(self, kind: str, *arguments) -> int:
        """A handle of aclCreate<kind>."""
        function = getattr(self._base, f'aclCreate{kind}')
        function.restype = ctypes.c_void_p
        handle = function(*arguments)
        if not handle:
            raise RuntimeError(f'aclCreate{kind}: {self.message()}')
        return handle

    def destroy(self, kind: str, handle: int):
        self._check(getattr(self._base, f'aclDestroy{kind}')(ctypes.c_void_p(handle)),
                    f'aclDestroy{kind}')

    def plan(self, name: str, values: list, without: str = '') -> tuple[int, int, int | None]:
        """Stage one: the code, the size of the workspace and the executor."""
        size, executor = ctypes.c_uint64(0), ctypes.c_void_p()
        converted = [a.ctype(v) for a, v in zip(self.signatures[name], values, strict=True)]
        code = getattr(self._ops, f'{symbol(name)}GetWorkspaceSize')(
            *converted, None if without == 'size' else ctypes.byref(size),
            None if without == 'executor' else ctypes.byref(executor))
        return code, size.value, executor.value

    def second(self, name: str) -> ctypes.c_void_p:
        return ctypes.cast(getattr(self._ops, symbol(name)), ctypes.c_void_p)

    @property
    def synchronise(self) -> ctypes.c_void_p:
        return ctypes.cast(self._acl.aclrtSynchronizeStream, ctypes.c_void_p)

    @property
    def watcher(self):
        """What runs a second stage with memory watched, where it is preloaded."""
        return ctypes.CDLL(None).short_memory_run

    def execute(self, name: str, size: int, executor: int):
        """Stage two, and the wait for its end."""
        self._check(self.try_execute(name, size, executor), f'aclnn{name}')

    def try_execute(self, name: str, size: int, executor: int) -> int:
        """The same, where stage two or its task may refuse: the code of the first that does."""
        workspace = self.malloc(size) if size else None
        if workspace:  # which holds anything: NaN where a kernel reads what it has not written
            ctypes.memset(workspace, 0xFF, size)
        code = getattr(self._ops, symbol(name))(
            ctypes.c_void_p(workspace), ctypes.c_uint64(size), ctypes.c_void_p(executor), self.stream)
        waited = self._acl.aclrtSynchronizeStream(self.stream)
        if workspace:
            self.free(workspace)
        return code or waited


def headers() -> Path:
    return Path(os.environ['BELAY_INCLUDE']) / 'aclnnop'


def open_device(kind: type = Device) -> Device:
    return kind(Path(os.environ['BELAY_LIB64']))
