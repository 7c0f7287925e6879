"""Writes src/graph/onnx/onnx_schemas.inc: the attributes of every version of every operator, of the package onnx.

    pip install onnx && python3 tests/onnx/write_schemas.py > src/graph/onnx/onnx_schemas.inc
"""

import onnx
import onnx.defs


def text(attribute):
    value = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else None
    if isinstance(value, list):
        value = ",".join(item.decode() if isinstance(item, bytes) else str(item) for item in value)
    if isinstance(value, bytes):
        value = value.decode()
    kind = str(attribute.type).rsplit(".", 1)[-1]
    return attribute.name + ":" + kind + ("!" if attribute.required else "") + ("" if value is None else f"={value}")


def main():
    print("// Written by tests/onnx/write_schemas.py from onnx " + onnx.__version__ + ".")
    print("// type, first version, fewest inputs and outputs, attributes: name:KIND, ! where one must be given, =default.")
    rows = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]
    last = None
    for s in sorted(rows, key=lambda s: (s.name, s.since_version)):
        attributes = " ".join(text(a) for _, a in sorted(s.attributes.items()))
        if last == (s.name, s.min_input, s.min_output, attributes):
            continue  # other types only
        last = (s.name, s.min_input, s.min_output, attributes)
        print(f'{{"{s.name}", {s.since_version}, {s.min_input}, {s.min_output},\n "{attributes}"}},')


main()
