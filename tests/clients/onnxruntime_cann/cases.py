"""The cases that onnxruntime-cann runs on Belay: ONNX's own backend tests, and real models.

A case is (name, model bytes, inputs, outputs, tolerance); outputs None: those of onnxruntime's CPU provider.
"""
import glob
import importlib.util
import os
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

import models

warnings.filterwarnings('ignore')
NEWEST_OPSET = 22
# float, the integers of 8 to 64 bits, bool, float16, double: what a card and numpy both know.
ELEMENT_TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13}


def opset(model):
    return next((i.version for i in model.opset_import if i.domain in ('', 'ai.onnx')), 0)


def is_plain(model):
    """Tensors in and out, and operators of ONNX proper."""
    values = list(model.graph.input) + list(model.graph.output)
    plain = all(v.type.tensor_type.elem_type in ELEMENT_TYPES for v in values)
    domains = {i.domain for i in model.opset_import}
    return plain and (all(v.type.HasField('tensor_type') for v in values) and domains <= {'', 'ai.onnx'}
            and 7 <= opset(model) <= NEWEST_OPSET)


def node_cases():
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        if case.model is None or not is_plain(case.model) or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        names = [i.name for i in case.model.graph.input]
        yield (case.name, case.model.SerializeToString(), dict(zip(names, map(np.asarray, inputs))),
               list(map(np.asarray, outputs)), (case.rtol, case.atol))


def read_tensor(path):
    with open(path, 'rb') as file:
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def stored_cases(kinds=('simple', 'light', 'pytorch-converted', 'pytorch-operator')):
    root = os.path.join(os.path.dirname(onnx.__file__), 'backend', 'test', 'data')
    for kind in kinds:
        for folder in sorted(glob.glob(os.path.join(root, kind, '*'))):
            yield from stored_case(kind, folder)


def stored_case(kind, folder):
    path = folder if folder.endswith('.onnx') else os.path.join(folder, 'model.onnx')
    if not os.path.exists(path):
        return
    model = onnx.load(path)
    if not is_plain(model):
        return
    constants = {c.name for c in model.graph.initializer}
    wanted = [i for i in model.graph.input if i.name not in constants]
    data = os.path.join(folder, 'test_data_set_0')
    name = f'{kind}:{os.path.basename(folder).removesuffix(".onnx")}'
    if os.path.isdir(data):
        inputs = [read_tensor(os.path.join(data, f'input_{i}.pb')) for i in range(len(wanted))]
        outputs = [read_tensor(os.path.join(data, f'output_{i}.pb')) for i in range(len(model.graph.output))]
        yield name, model.SerializeToString(), dict(zip([i.name for i in wanted], inputs)), outputs, (1e-3, 1e-5)
        return
    stored = path.removesuffix('.onnx') + '_output_0.pb'
    outputs = [read_tensor(stored)] if os.path.exists(stored) else None
    yield name, model.SerializeToString(), {i.name: rising_input(i) for i in wanted}, outputs, (1e-3, 1e-5)


def rising_input(value):
    """From 0 to 1, as ONNX's runner feeds its light models."""
    dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
    count = int(np.prod(dims))
    return (np.arange(count).reshape(dims) / count).astype(np.float32)


def random_input(value, rng, sizes=None):
    kind = value.type.tensor_type
    dims = [d.dim_value if d.HasField('dim_value') and d.dim_value > 0 else 1 for d in kind.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    array = rng.standard_normal(sizes or dims)
    return array.astype(dtype)


def ocr_models():
    """The detection, recognition and direction models of rapidocr-onnxruntime."""
    spec = importlib.util.find_spec('rapidocr_onnxruntime')
    if spec is None:
        return
    sizes = {'det': [1, 3, 320, 320], 'rec': [1, 3, 48, 320], 'cls': [1, 3, 48, 192]}
    rng = np.random.default_rng(1)
    for path in sorted(glob.glob(os.path.join(os.path.dirname(spec.origin), 'models', '*.onnx'))):
        kind = next((k for k in sizes if f'_{k}_' in path), None)
        if kind is None:
            continue
        model = onnx.load(path)
        inputs = {model.graph.input[0].name: random_input(model.graph.input[0], rng, sizes[kind])}
        yield f'ocr:{kind}', model.SerializeToString(), inputs, None, (1e-2, 1e-3)


def small_models():
    for name, model, inputs in models.all_models():
        yield f'model:{name}', model.SerializeToString(), inputs, None, (1e-3, 1e-5)


def all_cases():
    yield from node_cases()
    yield from stored_cases()
    yield from small_models()
    yield from ocr_models()
