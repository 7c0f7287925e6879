"""The classes ge::op::X of the graph interface: a header a family of spec/graph, and all_ops.h.

  opp/built-in/op_proto/inc/<family>_ops.h, all_ops.h
"""
from __future__ import annotations

from graph_model import GraphAttribute, GraphOp, Port

_TOP = '// Generated from spec/graph by gen/. Do not edit.\n#pragma once\n\n'
_INCLUDES = '#include <cstdint>\n#include <string>\n#include <vector>\n\n#include "graph/graph.h"\n#include "graph/operator.h"\n\n'
# How an attribute is set and read.
_TYPES = {'int': ('int64_t', 'int64_t'), 'float': ('float32_t', 'float32_t'), 'bool': ('bool', 'bool'),
          'type': ('int64_t', 'int64_t'), 'ints': ('const std::vector<int64_t>&', 'std::vector<int64_t>'),
          'floats': ('const std::vector<float32_t>&', 'std::vector<float32_t>'),
          'strings': ('const std::vector<AscendString>&', 'std::vector<AscendString>'),
          'tensor': ('const Tensor&', 'Tensor'), 'string': ('const AscendString&', 'AscendString')}


def single_input(op: str, name: str) -> str:
    def setter(parameters: str, arguments: str, suffix: str = '') -> str:
        return (f'  {op}& set_input_{name}{suffix}(const Operator& v{parameters}) {{\n'
                f'    SetInput("{name}", v{arguments});\n    return *this;\n  }}\n')
    return (setter('', '') + setter(', uint32_t index', ', index')
            + setter(', const std::string& output', ', output.c_str()')
            + setter(', const char_t* output', ', output', '_by_name')
            + f'  TensorDesc get_input_desc_{name}() const {{ return GetInputDescByName("{name}"); }}\n'
            f'  graphStatus update_input_desc_{name}(const TensorDesc& desc) {{ return UpdateInputDesc("{name}", desc); }}\n')


def list_port(op: str, name: str, way: str) -> str:
    text = (f'  {op}& create_dynamic_{way.lower()}_{name}(uint32_t count, bool = true) {{\n'
            f'    CreateDynamic{way}("{name}", count);\n    return *this;\n  }}\n'
            f'  TensorDesc get_dynamic_{way.lower()}_desc_{name}(uint32_t index) const {{\n'
            f'    return GetDynamic{way}Desc("{name}", index);\n  }}\n'
            f'  graphStatus update_dynamic_{way.lower()}_desc_{name}(uint32_t index, const TensorDesc& desc) {{\n'
            f'    return UpdateDynamic{way}Desc("{name}", index, desc);\n  }}\n')
    if way == 'Input':
        text += (f'  {op}& set_dynamic_input_{name}(uint32_t index, const Operator& v) {{\n'
                 f'    SetDynamicInput("{name}", index, v, nullptr);\n    return *this;\n  }}\n'
                 f'  {op}& set_dynamic_input_{name}(uint32_t index, const Operator& v, const char_t* output) {{\n'
                 f'    SetDynamicInput("{name}", index, v, output);\n    return *this;\n  }}\n'
                 f'  {op}& set_dynamic_input_{name}(uint32_t index, const Operator& v, const std::string& output) {{\n'
                 f'    return set_dynamic_input_{name}(index, v, output.c_str());\n  }}\n')
    return text


def input_methods(op: str, port: Port) -> str:
    return list_port(op, port.name, 'Input') if port.kind == 'dynamic' else single_input(op, port.name)


def output_methods(op: str, port: Port) -> str:
    if port.kind == 'dynamic':
        return list_port(op, port.name, 'Output')
    return (f'  TensorDesc get_output_desc_{port.name}() const {{ return GetOutputDescByName("{port.name}"); }}\n'
            f'  graphStatus update_output_desc_{port.name}(const TensorDesc& desc) {{ return UpdateOutputDesc("{port.name}", desc); }}\n')


def body_methods(op: str, name: str) -> str:
    return (f'  {op}& set_subgraph_builder_{name}(const SubgraphBuilder& builder) {{\n'
            f'    SetSubgraphBuilder("{name}", 0, builder);\n    return *this;\n  }}\n'
            f'  SubgraphBuilder get_subgraph_builder_{name}() const {{ return GetSubgraphBuilder("{name}"); }}\n'
            f'  Graph get_subgraph_{name}() const {{ return GetSubgraph("{name}"); }}\n')


def attribute_methods(op: str, attribute: GraphAttribute) -> str:
    name = attribute.name
    if attribute.kind == 'graph':
        return body_methods(op, name)
    by, plain = _TYPES[attribute.kind]
    setter = lambda parameter, value: (  # noqa: E731
        f'  {op}& set_attr_{name}({parameter} v) {{\n    SetAttr("{name}", {value});\n    return *this;\n  }}\n')
    text = setter(by, 'v')
    if attribute.kind == 'string':
        text += setter('const char_t*', 'v') + setter('const std::string&', 'v.c_str()')
    return text + (f'  {plain} get_attr_{name}() const {{\n    {plain} v{{}};\n    GetAttr("{name}", v);\n    return v;\n  }}\n')


def operator_class(op: GraphOp) -> str:
    brief = f'// {op.brief}\n' if op.brief else ''
    return (f'{brief}class {op.type} : public Operator {{\n public:\n'
            f'  {op.type}() : Operator("{op.type}", "{op.type}") {{}}\n'
            f'  explicit {op.type}(const char_t* name) : Operator(name, "{op.type}") {{}}\n'
            f'  explicit {op.type}(const AscendString& name) : Operator(name.GetString(), "{op.type}") {{}}\n'
            f'  explicit {op.type}(const std::string& name) : Operator(name.c_str(), "{op.type}") {{}}\n\n'
            + ''.join(input_methods(op.type, p) for p in op.inputs) + ''.join(output_methods(op.type, p) for p in op.outputs)
            + ''.join(attribute_methods(op.type, a) for a in op.attributes) + '};\n\n')


def emit(operators: list[GraphOp]) -> dict[str, str]:
    folder = 'opp/built-in/op_proto/inc'
    families = sorted({op.family for op in operators})
    files = {f'{folder}/{family}_ops.h': _TOP + _INCLUDES + 'namespace ge {\nnamespace op {\n\n'
             + ''.join(operator_class(op) for op in operators if op.family == family)
             + '}  // namespace op\n}  // namespace ge\n' for family in families}
    files[f'{folder}/all_ops.h'] = _TOP + ''.join(f'#include "{family}_ops.h"\n' for family in families)
    return files
