"""Imports torch and torch_npu, beside the CUDA build of torch as well."""

import ctypes
import os
import pathlib
import subprocess
import tempfile
import warnings

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
os.environ.setdefault("TASK_QUEUE_ENABLE", "0")
warnings.filterwarnings("ignore")

import torch  # noqa: E402


def _beside_cuda():
    source = pathlib.Path(__file__).with_name("beside_cuda.cc")
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "beside_cuda.so"
        subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
        c10 = pathlib.Path(torch.__file__).parent / "lib" / "libc10.so"
        if ctypes.CDLL(str(library)).forget(str(c10).encode()) != 0:
            raise RuntimeError("libc10.so does not keep the settings of its allocator where they were looked for")


if torch.version.cuda is not None:
    _beside_cuda()

import torch_npu  # noqa: E402,F401

torch.set_num_threads(1)
