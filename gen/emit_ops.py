"""The operators of spec/ops: their C functions for the model, and the tables that the core reads.

  ops/kernels.h                   what hand-written kernels must look like
  ops/forms.h                     the forms by name, for every door
  ops/tables/<family>.cc          their tables
  entries/operators_<family>.cc   the entries of the C functions, which only name a form
"""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ops_model
from emit_entries import entry_declaration
from graph_model import GraphOp
from model import Function, Header, Spec
from ops_model import KINDS, Form, Operator
from prototype import Param, Prototype

_TOP = '// Generated from spec/ops by gen/. Do not edit.\n'

_ERRORS = {161001: 'a required argument is null',
           161002: 'types, shapes or formats do not fit; aclGetRecentErrMsg says which'}

_LAUNCH_ERRORS = {
    161002: 'memory of a tensor or the workspace is missing, freed, too short or on the host, or the executor is '
            "another operator's",
    561103: 'executor is null or spent'}

# A kernel of more parameters gets them as fields with names: neighbours of one type cannot be swapped.
_MOST_PARAMETERS = 8

_operators: list[Operator] = []


def sentence(types: tuple[str, ...]) -> str:
    return ', '.join(types[:-1]) + f' and {types[-1]}' if len(types) > 1 else types[0]


def stage_1(op: Operator, form: Form, spec: Spec, size: str = 'WorkspaceSize') -> Function:
    params = [Param(p.ctype, p.name) for p in form.params]
    params += [Param('uint64_t *', 'workspaceSize'), Param('aclOpExecutor **', 'executor')]
    typed = sorted({p.types for p in op.params if p.types})
    types = f' Types: {sentence(typed[0])}.' if len(typed) == 1 else ''
    return Function(
        Prototype('aclnnStatus', f'{form.symbol}Get{size}', tuple(params)),
        f'ops_{op.family}', op.header, 'libopapi.so', spec.families['aclnn'],
        f'{op.brief} Checks the arguments and makes an executor; up to 8 dimensions, any strides.{types}',
        op.page, 'done', _ERRORS | op.errors,
        optional=frozenset(p.name for p in form.params if p.optional), form=form.name)


def stage_2(op: Operator, form: Form, spec: Spec) -> Function:
    params = (Param('void *', 'workspace'), Param('uint64_t', 'workspaceSize'),
              Param('aclOpExecutor *', 'executor'), Param('aclrtStream', 'stream'))
    return Function(
        Prototype('aclnnStatus', form.symbol, params), f'ops_{op.family}', op.header,
        'libopapi.so', spec.families['aclnn'],
        'Enqueues the work and returns. An executor that is not repeatable is spent by it.', op.page,
        'done', _LAUNCH_ERRORS,
        null={'executor': 561103}, optional=frozenset({'workspace'}), raw=frozenset({'executor'}), form=form.name)


def extend(spec: Spec, root: Path) -> None:
    """Adds the operators' C functions and headers to the model."""
    _operators[:] = ops_model.read_operators(root)
    known = {h.path for h in spec.headers}
    for op in _operators:
        if op.forms and op.header not in known:
            known.add(op.header)
            briefs = ' '.join(o.brief for o in _operators if o.header == op.header)
            spec.headers.append(Header(op.header, briefs.rstrip('.'), ('aclnn/aclnn_base.h',)))
        for form in op.forms:
            spec.functions += [stage_1(op, form, spec), stage_2(op, form, spec)]
            if op.max_workspace:
                spec.functions.append(stage_1(op, form, spec, 'MaxWorkspaceSize'))


def call(op: Operator, text: str) -> str:
    """`Rule(self, out)` of a row as C++ on Args."""
    name, args = ops_model.split_call(text)
    given = [f'a.{KINDS[op.params[op.index(n)].kind][2]}({op.index(n)})' for n in args]
    return f'{name}({", ".join(given)})'


def type_set(types: tuple[str, ...]) -> str:
    names = [{'bf16': 'BF16'}.get(t, t.capitalize()) for t in types]
    return 'TypeSet(' + ', '.join(f'DType::k{name}' for name in names) + ')'


def flags(param: ops_model.OpParam) -> str:
    given = [str(param.optional).lower(), str(param.is_weight).lower(), f'KnownPart::{param.part}']
    while given and given[-1] in ('false', 'KnownPart::kUnknown'):
        given.pop()
    return ''.join(f', {text}' for text in given)


def shape_rule(op: Operator, rule: str) -> str:
    return f'[](const Args& a) {{ return rules::{call(op, rule)}; }}' if rule else 'nullptr'


def type_rule(op: Operator, rule: str) -> str:
    """Of a rule, or of a type by name."""
    if rule and not rule.endswith(')'):
        return f'[](const Args&) {{ return DType::k{rule.capitalize()}; }}'
    return shape_rule(op, rule)


def by_name(op: Operator) -> bool:
    """Whether the operator's kernel takes a struct of its parameters."""
    return len(op.params) > _MOST_PARAMETERS


def kernel_call(op: Operator) -> str:
    given = [f'a.{KINDS[p.kind][2]}({i})' for i, p in enumerate(op.params)]
    if not by_name(op):
        return f'      kernels::{op.kernel}(p, compute, {", ".join(given)});\n'
    fields = ''.join(f'          .{p.field} = {value},\n' for p, value in zip(op.params, given))
    return f'      kernels::{op.kernel}(p, compute, {{\n{fields}      }});\n'


def op_table(op: Operator) -> str:
    params = ''.join(f'    {{"{p.name}", {type_set(p.types)}{flags(p)}}},\n' for p in op.params)
    in_part = {'': '', 'reads': ',\n    InPart::kReads', 'all': ',\n    InPart::kAll'}[op.in_part]
    return (f'constexpr Param k{op.name}Params[] = {{\n{params}}};\n'
            f'constexpr Op k{op.name}Op{{\n    "{op.name}", k{op.name}Params, {op.out},\n'
            f'    {shape_rule(op, op.shape)},\n    {type_rule(op, op.dtype)},\n    [](Plan& p, const Args& a, DType compute) {{\n'
            f'{kernel_call(op)}    }}{in_part}}};\n')


def access(op: Operator, param: ops_model.FormParam) -> str:
    if KINDS[param.kind][2] not in ('operand', 'operands'):
        return 'kNone'
    if not param.is_out:
        return 'kRead'
    return 'kReadWrite' if len(param.indices) > 1 else 'kWrite'


def form_table(op: Operator, form: Form) -> str:
    params = ''.join(f'    {{"{p.name}", Access::{access(op, p)}, {p.indices[0]}}},\n'
                     for p in form.params)
    place = {i: at for at, p in enumerate(form.params) for i in p.indices}
    places = ', '.join(str(place[i]) for i in range(len(op.params)))
    return (f'constexpr FormParam k{form.name}FormParams[] = {{\n{params}}};\n'
            f'constinit const Form forms::{form.name}{{"{form.symbol}", &k{op.name}Op, '
            f'k{form.name}FormParams, {{{places}}}}};\n')


def door_table(op: Operator, door: GraphOp) -> str:
    """The form that a node calls: the operator's own parameters, under the names of the node's ports. With types of
    its own it has an operator of its own, which differs in nothing else."""
    own = ''
    if door.door.types:
        op = replace(op, name=f'{door.type}Door', params=[
            replace(p, types=door.door.types) if s.way in ('input', 'output') and p.types else p
            for p, s in zip(op.params, door.door.sources)])
        own = f'namespace {{\n{op_table(op)}}}  // namespace\n'
    rows = {'input': door.inputs, 'output': door.outputs, 'attribute': door.attributes, 'word': door.attributes}
    params = ''
    for i, (param, source) in enumerate(zip(op.params, door.door.sources)):
        name = rows[source.way][source.index].name if source.way in rows else param.name
        how = 'kNone' if source.way not in ('input', 'output') else 'kWrite' if param.is_out else 'kRead'
        params += f'    {{"{name}", Access::{how}, {i}}},\n'
    places = ', '.join(map(str, range(len(op.params))))
    results = ''.join(f'    {{{shape_rule(op, shape)}, {type_rule(op, dtype)}}},\n' for shape, dtype in door.door.results)
    return (own + f'constexpr FormParam k{door.type}DoorFormParams[] = {{\n{params}}};\n'
            f'constinit const Form forms::ge::{door.type}{{"{door.type}", &k{op.name}Op, '
            f'k{door.type}DoorFormParams, {{{places}}}}};\n'
            f'constinit const ResultRule forms::ge::{door.type}Results[]{{\n{results}}};\n')


def stage_entry(function: Function) -> str:
    names = [p.name for p in function.proto.params]
    given = f'Fn::{function.name}, ops::forms::{function.form}, '
    if names[-1] == 'stream':
        body = f'  return api::RunStage2({given}{", ".join(names)});\n'
    else:
        args = ', '.join(f'api::Given({name})' for name in names[:-2])
        body = (f'  ops::Arg args[] = {{{args}}};\n'
                f'  return api::RunStage1({given}args, {", ".join(names[-2:])});\n')
    return f'{entry_declaration(function.proto)} {{\n{body}}}\n'


def includes(*headers: str) -> str:
    return _TOP + ''.join(f'#include "{h}"\n' for h in headers)


def table_file(operators: list[Operator]) -> str:
    text = includes('ops/forms.h', 'ops/kernels.h', 'ops/rules.h')
    text += '\nnamespace belay::ops {\nnamespace {\n\n' + ''.join(map(op_table, operators))
    text += '\n}  // namespace\n\n'
    text += ''.join(form_table(op, form) for op in operators for form in op.forms)
    text += ''.join(door_table(op, door) for op in operators for door in op.doors)
    return text + '\n}  // namespace belay::ops\n'


def bits_of_params(function: str, operators: list[Operator], holds) -> str:
    text = f'uint64_t {function}(std::string_view op) {{\n'
    for op in operators:
        bits = sum(1 << i for i, p in enumerate(op.params) if holds(p))
        if bits:
            text += f'  if (op == "{op.name}") return {bits:#x};\n'
    return text + '  return 0;\n}\n\n'


def formats_file(operators: list[Operator]) -> str:
    """Which parameters of which operators are read in the tiles of a card, and which with their channels last."""
    return (includes('ops/images.h', 'ops/tiled.h') + '\nnamespace belay::ops {\n\n'
            + bits_of_params('TiledParams', operators, lambda p: p.reads_tiles)
            + bits_of_params('ImageParams', operators, lambda p: p.is_image) + '}  // namespace belay::ops\n')


def entry_file(spec: Spec, operators: list[Operator]) -> str:
    forms = {form.name for op in operators for form in op.forms}
    entries = ''.join(stage_entry(f) for f in spec.functions if f.form in forms)
    return (includes('api/entries.h', 'api/executor.h', 'ops/forms.h') + '\nnamespace belay {\nusing api::Fn;\n\n'
            'extern "C" {\n\n' + entries + '\n}  // extern "C"\n\n}  // namespace belay\n')


def forms_header(operators: list[Operator]) -> str:
    names = ''.join(f'extern const Form {form.name};\n' for op in operators for form in op.forms)
    doors = ''.join(f'extern const Form {door.type};\nextern const ResultRule {door.type}Results[{len(door.outputs)}];\n'
                    for op in operators for door in op.doors)
    return (_TOP + '#pragma once\n\n#include "ops/result_rules.h"\n\nnamespace belay::ops::forms {\n\n' + names
            + f'\n// What nodes of graphs call.\nnamespace ge {{\n{doors}}}  // namespace ge\n'
            + '\n}  // namespace belay::ops::forms\n')


def field_type(param: ops_model.OpParam) -> str:
    """As a parameter is declared, but held: a struct that outlives the call still has its operands."""
    ctype = KINDS[param.kind][1]
    return ctype.removeprefix('const ').removesuffix('&') if ctype.endswith('&') else ctype


def arguments_struct(op: Operator) -> str:
    """The parameters of a kernel by name. What a call may leave out may be left out here."""
    fields = ''.join(f'  {field_type(p)} {p.field}{" = {}" * p.optional};\n' for p in op.params)
    return f'\nstruct {op.kernel}Arguments {{\n{fields}}};\n'


def kernels_header(operators: list[Operator]) -> str:
    declared = {}
    for op in operators:
        if by_name(op):
            params = f'const {op.kernel}Arguments& a'
            declared[arguments_struct(op)] = None
        else:
            params = ', '.join(f'{KINDS[p.kind][1]} {p.name}' for p in op.params)
        declared[f'void {op.kernel}(Plan& plan, DType compute, {params});\n'] = None
    return (_TOP + '#pragma once\n\n#include "ops/schema.h"\n\nnamespace belay::ops::kernels {\n\n'
            + ''.join(declared) + '\n}  // namespace belay::ops::kernels\n')


def doors() -> list[GraphOp]:
    return [door for op in _operators for door in op.doors]


def emit(spec: Spec) -> dict[str, str]:
    files = {'ops/kernels.h': kernels_header(_operators), 'ops/forms.h': forms_header(_operators)}
    files['ops/tables/formats.cc'] = formats_file(_operators)
    for family in dict.fromkeys(op.family for op in _operators):
        mine = [op for op in _operators if op.family == family]
        files[f'ops/tables/{family}.cc'] = table_file(mine)
        files[f'entries/operators_{family}.cc'] = entry_file(spec, mine)
    return files
