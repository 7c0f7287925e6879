"""Networks stored as FLOAT16: what was FLOAT in the model becomes FLOAT16, from its inputs to its results."""
from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

KEPT = {'Resize': (1, 2), 'Upsample': (1,)}  # inputs that the standard wants to be FLOAT


def half_of(model, feeds):
    """The model and what it is called with."""
    whole = onnx.load_from_string(model)
    halve(whole.graph)
    return whole.SerializeToString(), {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in feeds.items()}


def halve(graph):
    kept = {node.input[i] for node in graph.node for i in KEPT.get(node.op_type, ()) if i < len(node.input)}
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in graph.initializer:
        if tensor.name not in kept:
            halve_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField('g'):
                halve(attribute.g)
            elif attribute.HasField('t') and not kept.intersection(node.output):
                halve_tensor(attribute.t)
            elif node.op_type == 'Cast' and attribute.name == 'to' and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16


def halve_tensor(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        most = np.finfo(np.float16).max
        tensor.CopyFrom(numpy_helper.from_array(np.clip(numpy_helper.to_array(tensor), -most, most).astype(np.float16), tensor.name))
