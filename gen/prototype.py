"""C prototypes, as the rows of spec/ write them, taken apart and put together again."""
from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Param:
    """One parameter: `type` before the name, `suffix` ("[][2]") after it."""
    type: str
    name: str
    suffix: str = ''

    @property
    def decl(self) -> str:
        space = '' if self.type.endswith('*') else ' '
        return f'{self.type}{space}{self.name}{self.suffix}'

    @property
    def is_pointer(self) -> bool:
        return self.type.endswith(('*', '*const')) or bool(self.suffix)


@dataclass(frozen=True)
class UnnamedUnion(Param):
    """A field of a struct: a union without a name, of which each member is named like a field."""
    members: tuple[Param, ...] = ()

    @property
    def decl(self) -> str:
        return f'union {{ {" ".join(f"{m.decl};" for m in self.members)} }}'


@dataclass(frozen=True)
class Prototype:
    ret: str
    name: str
    params: tuple[Param, ...]
    variadic: bool = False

    def args(self) -> str:
        """The parameter list of a C or C++ declaration; C needs `void` where there is none."""
        decls = [p.decl for p in self.params] + (['...'] if self.variadic else [])
        return ', '.join(decls) if decls else 'void'

    def declaration(self, name: str | None = None) -> str:
        space = '' if self.ret.endswith('*') else ' '
        return f'{self.ret}{space}{name or self.name}({self.args()})'


_FUNCTION = re.compile(r'^(?P<ret>.*?[\s*])(?P<name>\w+)\s*\((?P<params>.*)\)$')
_PARAM = re.compile(r'^(?P<type>.*?[\s*])(?P<name>\w+)(?P<suffix>(\s*\[\w*\])*)$')


def tidy(ctype: str) -> str:
    """One spelling for a C type: `const char *const *`."""
    ctype = re.sub(r'\s*\*\s*', ' *', ctype.strip())
    ctype = re.sub(r'\* \*', '**', ctype)
    return re.sub(r'\s+', ' ', ctype).strip()


def parse_param(text: str) -> Param:
    match = _PARAM.match(text.strip())
    if not match:
        raise ValueError(f'cannot read the parameter "{text}"')
    return Param(tidy(match['type']), match['name'], match['suffix'].replace(' ', ''))


def parse_field(row: str | dict) -> Param:
    """A field of a struct; {union: [...]} is one of its members."""
    if isinstance(row, str):
        return parse_param(row)
    members = tuple(parse_param(member) for member in row['union'])
    return UnnamedUnion(members[0].type, '', members=members)


def parse(text: str) -> Prototype:
    text = re.sub(r'\s+', ' ', text).strip().rstrip(';')
    match = _FUNCTION.match(text)
    if not match:
        raise ValueError(f'cannot read the prototype "{text}"')
    inside = match['params'].strip()
    parts = [] if inside in ('', 'void') else [p.strip() for p in inside.split(',')]
    variadic = bool(parts) and parts[-1] == '...'
    params = tuple(parse_param(p) for p in (parts[:-1] if variadic else parts))
    return Prototype(tidy(match['ret']), match['name'], params, variadic)
