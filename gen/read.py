"""Reads spec/*.yaml into the model and refuses what it does not know: a typo in a row is an error."""
from __future__ import annotations

from pathlib import Path

import yaml

import prototype
from model import (STATUSES, STATUS_TYPES, Alias, Callback, Constants, Enum, ErrorCode, Family, Function, Handle,
                   Header, Library, Spec, Struct)

_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_FILE_KEYS = {'header', 'lib', 'family', 'functions'}
_ROW_KEYS = {'fn', 'header', 'lib', 'family', 'brief', 'page', 'status', 'errors', 'init', 'fallback',
             'null', 'optional', 'raw', 'returns', 'same_as', 'slow', 'note', 'also'}


class SpecError(Exception):
    """A row that cannot be right; the text says which and why."""


def _plain_keys(node):
    """YAML reads the key `null` as no key at all; rows mean the word."""
    if isinstance(node, dict):
        return {'null' if key is None else key: _plain_keys(value) for key, value in node.items()}
    return [_plain_keys(item) for item in node] if isinstance(node, list) else node


def load(path: Path):
    with open(path, encoding='utf-8') as stream:
        return _plain_keys(yaml.load(stream, Loader=_LOADER))


def _known(where: str, found, allowed: set[str]):
    unknown = set(found) - allowed
    if unknown:
        raise SpecError(f'{where}: unknown key {", ".join(sorted(unknown))}')


def read_row(row: dict, subject: str, defaults: dict, families: dict[str, Family]) -> Function:
    where = f'{subject}.yaml: {row.get("fn", "a row without fn")}'
    _known(where, row, _ROW_KEYS)
    proto = prototype.parse(row['fn'])
    status = row.get('status', 'absent')
    if status not in STATUSES:
        raise SpecError(f'{where}: status is "{status}", not one of {", ".join(STATUSES)}')
    names = {p.name for p in proto.params}
    for key in ('optional', 'raw', 'null'):
        for name in row.get(key, ()):
            if name not in names:
                raise SpecError(f'{where}: {key} names "{name}", which is no parameter')
    return Function(
        proto=proto, subject=subject,
        header=row.get('header', defaults['header']), lib=row.get('lib', defaults['lib']),
        family=families[row.get('family', defaults['family'])],
        brief=' '.join(str(row.get('brief', '')).split()), page=str(row.get('page') or ''),
        status=status, errors=row.get('errors', {}), needs_init=row.get('init', True),
        fallback=str(row.get('fallback', '')), null=row.get('null', {}),
        optional=frozenset(row.get('optional', ())), raw=frozenset(row.get('raw', ())),
        returns_value=row.get('returns') == 'value' or proto.ret not in STATUS_TYPES,
        same_as=row.get('same_as', ''), note=row.get('note', ''), also=row.get('also', ''))


def read_functions(root: Path, families: dict[str, Family]) -> list[Function]:
    functions = []
    for path in sorted((root / 'api').glob('*.yaml')):
        content = load(path)
        _known(path.name, content, _FILE_KEYS)
        functions += [read_row(row, path.stem, content, families) for row in content['functions']]
    return functions


def read_seen(root: Path, how: str) -> dict[str, frozenset[str]]:
    """The names that each program needs: `linked` at load, `dlsym` when it looks them up."""
    return {path.name.split('.')[0]:
            frozenset(n for n in path.read_text().split('\n') if n and n[0] != '#')
            for path in sorted((root / 'seen').glob(f'*.{how}.sym'))}


def read_errors(content: dict) -> list[ErrorCode]:
    return [ErrorCode(row['code'], row['name'], row.get('brief', ''), group['header'] or '',
                      group.get('enum', ''))
            for group in content['headers'] for row in group['codes']]


def _handle(row: dict) -> Handle:
    return Handle(row['name'], row['kind'] == 'struct', row['header'], row.get('class', ''),
                  row.get('null') == 'default', row.get('tag', row['name']))


def _struct(row: dict) -> Struct:
    return Struct(row.get('struct') or row['union'], row['header'],
                  tuple(prototype.parse_field(f) for f in row['fields']), 'union' in row)


def read(root: Path) -> Spec:
    errors = load(root / 'errors.yaml')
    enums = load(root / 'enums.yaml')
    types = load(root / 'structs.yaml')
    libs = load(root / 'libs.yaml')
    families = {name: Family(name, **codes) for name, codes in errors['families'].items()}
    text = lambda values: {k: str(v) for k, v in values.items()}  # noqa: E731
    spec = Spec(
        functions=read_functions(root, families),
        handles=[_handle(row) for row in load(root / 'handles.yaml')['handles']],
        enums=[Enum(r['enum'], r['header'], text(r['values']), r.get('brief', ''))
               for r in enums['enums']],
        constants=[Constants(r['group'], r['header'], text(r['values'])) for r in enums['constants']],
        errors=read_errors(errors), families=families,
        aliases=[Alias(**row) for row in types['aliases']],
        callbacks=[Callback(prototype.parse(r['fn']), r['header']) for r in types['callbacks']],
        structs=[_struct(row) for row in types['structs']],
        libraries=[Library(r['lib'], tuple(r.get('needs', ()))) for r in libs['libraries']],
        headers=[Header(r['header'], r['brief'], tuple(r.get('includes', ())),
                        tuple(r.get('cpp_includes', ())))
                 for r in libs['headers']],
        linked=read_seen(root, 'linked'), looked_up=read_seen(root, 'dlsym'),
        seen_errors=[ErrorCode(r['code'], r['called'], r['brief'], '') for r in errors['seen']],
        graph_absent=[(r['names'], r['why']) for r in load(root / 'ge' / 'absent.yaml')['absent']])
    return spec


def finish(spec: Spec) -> Spec:
    """Settles what follows from all rows together; call it once every row is in."""
    seen: dict[str, str] = {}
    libraries = {lib.name for lib in spec.libraries}
    for function in spec.functions:
        if function.name in seen:
            raise SpecError(f'{function.name} stands in {seen[function.name]} and {function.subject}')
        for lib in (function.lib, function.also or function.lib):
            if lib not in libraries:
                raise SpecError(f'{function.name}: {lib} is not in libs.yaml')
        seen[function.name] = function.subject
        # A program that only looks a name up has a fallback, so the name appears when it works.
        only_looked_up = (any(function.name in names for names in spec.looked_up.values())
                          and not any(function.name in names for names in spec.linked.values()))
        function.exported = function.works or not only_looked_up
    by_name = {function.name: function for function in spec.functions}
    for function in spec.functions:
        if function.same_as:
            function.errors = function.errors or by_name[function.same_as].errors
    return spec
