"""What runs a model here: Belay through aclmdlExecute, onnxruntime's CPU provider and OpenVINO, each on some cores."""
from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np


class Belay:
    """Device 0, with the libraries of the environment's toolkit or of a build folder."""

    def __init__(self, lib64, atc):
        self.lib, self.atc = ctypes.CDLL(str(lib64 / 'libascendcl.so'), ctypes.RTLD_GLOBAL), atc
        for name in ('aclGetRecentErrMsg',):
            getattr(self.lib, name).restype = ctypes.c_char_p
        for name in ('aclmdlCreateDesc', 'aclmdlCreateDataset', 'aclCreateDataBuffer', 'aclmdlGetDatasetBuffer'):
            getattr(self.lib, name).restype = ctypes.c_void_p
        for name in ('aclmdlGetInputSizeByIndex', 'aclmdlGetOutputSizeByIndex', 'aclmdlGetNumInputs', 'aclmdlGetNumOutputs'):
            getattr(self.lib, name).restype = ctypes.c_size_t
        self.check(self.lib.aclInit(None))
        self.check(self.lib.aclrtSetDevice(0))

    def check(self, code):
        if code:
            raise RuntimeError((self.lib.aclGetRecentErrMsg() or str(code).encode()).decode())

    def compiled(self, onnx_bytes, folder, precision_mode='must_keep_origin_dtype'):
        source, target = Path(folder) / 'case.onnx', Path(folder) / 'case'
        source.write_bytes(onnx_bytes)
        done = subprocess.run([self.atc, '--framework=5', f'--model={source}', f'--output={target}',
                               f'--precision_mode={precision_mode}', '--soc_version=Ascend910B3'], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip())
        return target.with_suffix('.om').read_bytes()


class Network:
    """A loaded model with memory for what it reads and writes."""

    def __init__(self, belay, om, results):
        self.belay, self.lib, self.id = belay, belay.lib, ctypes.c_uint32()
        belay.check(self.lib.aclmdlLoadFromMem(om, ctypes.c_size_t(len(om)), ctypes.byref(self.id)))
        self.desc = ctypes.c_void_p(self.lib.aclmdlCreateDesc())
        belay.check(self.lib.aclmdlGetDesc(self.desc, self.id))
        self.blocks = []
        sizes = [self.lib.aclmdlGetInputSizeByIndex(self.desc, ctypes.c_size_t(i))
                 for i in range(self.lib.aclmdlGetNumInputs(self.desc))]
        self.inputs = self.dataset(sizes)
        # A size that the model does not know is 0; what the peer gave fits.
        sizes = [self.lib.aclmdlGetOutputSizeByIndex(self.desc, ctypes.c_size_t(i)) or r.nbytes
                 for i, r in enumerate(results)]
        self.outputs = self.dataset(sizes)

    def dataset(self, sizes):
        data = ctypes.c_void_p(self.lib.aclmdlCreateDataset())
        for bytes_of in sizes:
            at = ctypes.c_void_p()
            self.belay.check(self.lib.aclrtMalloc(ctypes.byref(at), ctypes.c_size_t(max(bytes_of, 1)), 0))
            buffer = ctypes.c_void_p(self.lib.aclCreateDataBuffer(at, ctypes.c_size_t(bytes_of)))
            self.belay.check(self.lib.aclmdlAddDatasetBuffer(data, buffer))
            self.blocks.append((at, bytes_of))
        return data

    def feed(self, feeds):
        """Inputs lie in memory of the device, which is the host's: what is copied is the array."""
        for name, array in feeds.items():
            at = ctypes.c_size_t()
            self.belay.check(self.lib.aclmdlGetInputIndexByName(self.desc, name.encode(), ctypes.byref(at)))
            block, size = self.blocks[at.value]
            array = np.ascontiguousarray(array)
            assert array.nbytes == size, (name, array.nbytes, size)
            self.belay.check(self.lib.aclrtMemcpy(block, ctypes.c_size_t(size), array.ctypes.data_as(ctypes.c_void_p),
                                                  ctypes.c_size_t(size), 1))

    def run(self):
        self.belay.check(self.lib.aclmdlExecute(self.id, self.inputs, self.outputs))

    def result(self, i, like):
        block, size = self.blocks[len(self.blocks) - self.lib.aclmdlGetNumOutputs(self.desc) + i]
        if size < like.nbytes:
            raise RuntimeError(f'result {i} has {size} bytes instead of {like.nbytes}')
        array = np.empty(like.shape, like.dtype)
        if not array.nbytes:
            return array
        self.belay.check(self.lib.aclrtMemcpy(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), block,
                                              ctypes.c_size_t(array.nbytes), 2))
        return array

    def close(self):
        self.lib.aclmdlUnload(self.id)
        for block, _ in self.blocks:
            self.lib.aclrtFree(block)


def onnxruntime_of(case, cores):
    """What it gives, and a function that runs it once more."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = cores, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(case.model, options, providers=['CPUExecutionProvider'])
    results = session.run(None, case.feeds)
    binding = session.io_binding()
    for name, array in case.feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    for output, array in zip(session.get_outputs(), results):
        binding.bind_ortvalue_output(output.name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    return results, lambda: session.run_with_iobinding(binding)


def openvino_of(case, cores, precision='f32'):
    import openvino
    core = openvino.Core()
    settings = {'INFERENCE_NUM_THREADS': cores, 'NUM_STREAMS': 1, 'PERFORMANCE_HINT': 'LATENCY',
                'INFERENCE_PRECISION_HINT': precision, 'ENABLE_CPU_PINNING': False}
    request = core.compile_model(core.read_model(case.model), 'CPU', settings).create_infer_request()
    for name, array in case.feeds.items():
        request.set_tensor(name, openvino.Tensor(np.ascontiguousarray(array)))
    request.infer()
    return request.infer
