"""What spec/ says, as objects. Emitters read these and nothing else.

The generator never branches on a function's name: what is special about a function is a field of its
row.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from prototype import Param, Prototype

STATUSES = ('done', 'partial', 'absent')
STATUS_TYPES = ('aclError', 'aclnnStatus', 'HcclResult')  # a result that says how the call went


@dataclass(frozen=True)
class Family:
    """Functions that answer with the same codes."""
    name: str
    absent: int  # the code of a function that does not work yet
    null: int    # the code for a null argument
    # What stands for the codes of the runtime, where the functions give none of them: for those of arguments and
    # handles, of memory, and all others (0: they are given as they are).
    argument: int = 0
    memory: int = 0
    other: int = 0


@dataclass(frozen=True)
class Handle:
    """An opaque type. `cls` is the C++ class of the object behind it, or empty: not converted."""
    name: str
    is_struct: bool
    header: str
    cls: str = ''
    null_is_default: bool = False
    tag: str = ''

    def matches(self, param: Param) -> bool:
        if self.is_struct:
            return param.type in (f'{self.name} *', f'const {self.name} *') and not param.suffix
        return param.type in (self.name, f'const {self.name}') and not param.suffix


@dataclass
class Function:
    """One exported C function."""
    proto: Prototype
    subject: str
    header: str
    lib: str
    family: Family
    brief: str = ''
    page: str = ''
    status: str = 'absent'
    errors: dict[int, str] = field(default_factory=dict)
    needs_init: bool = True
    fallback: str = ''                                  # what a value-returning function gives on error
    null: dict[str, object] = field(default_factory=dict)  # parameter -> 'refuse' or a code
    optional: frozenset[str] = frozenset()              # parameters that may be null
    raw: frozenset[str] = frozenset()                   # handles passed on as they are
    returns_value: bool = False                         # the result is an answer, not a status
    same_as: str = ''                                   # the function whose handler serves this one
    note: str = ''                                      # for docs/status.md
    also: str = ''                                      # another library that has the name
    form: str = ''                                      # of an operator: whose stage this is (emit_ops writes the entry)
    exported: bool = True

    @property
    def name(self) -> str:
        return self.proto.name

    @property
    def handler(self) -> str:
        return self.same_as or self.name

    @property
    def works(self) -> bool:
        return self.status != 'absent'


@dataclass(frozen=True)
class ErrorCode:
    code: int
    name: str
    brief: str
    header: str
    enum: str = ''  # the type whose value it is; else an int


@dataclass(frozen=True)
class Enum:
    name: str
    header: str
    values: dict[str, str]
    brief: str = ''


@dataclass(frozen=True)
class Constants:
    group: str
    header: str
    values: dict[str, str]


@dataclass(frozen=True)
class Alias:
    name: str
    type: str
    header: str
    brief: str = ''


@dataclass(frozen=True)
class Callback:
    proto: Prototype
    header: str


@dataclass(frozen=True)
class Struct:
    name: str
    header: str
    fields: tuple[Param, ...]
    is_union: bool = False


@dataclass(frozen=True)
class Library:
    name: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    path: str
    brief: str
    includes: tuple[str, ...] = ()
    cpp_includes: tuple[str, ...] = ()  # hand-written headers for C++ alone


@dataclass
class Spec:
    functions: list[Function]
    handles: list[Handle]
    enums: list[Enum]
    constants: list[Constants]
    errors: list[ErrorCode]
    families: dict[str, Family]
    aliases: list[Alias]
    callbacks: list[Callback]
    structs: list[Struct]
    libraries: list[Library]
    headers: list[Header]
    linked: dict[str, frozenset[str]] = field(default_factory=dict)     # program: names it links
    looked_up: dict[str, frozenset[str]] = field(default_factory=dict)  # program: names it looks up
    seen_errors: list[ErrorCode] = field(default_factory=list)  # of which no page tells a name
    graph_absent: list[tuple[str, str]] = field(default_factory=list)   # names of namespace ge, why

    def subjects(self) -> list[str]:
        return list(dict.fromkeys(f.subject for f in self.functions))

    def of_subject(self, subject: str) -> list[Function]:
        return [f for f in self.functions if f.subject == subject]

    def handle_of(self, function: Function, param: Param) -> Handle | None:
        """The handle that the entry converts, or None where the handler gets the value as it is."""
        if param.name in function.raw:
            return None
        return next((h for h in self.handles if h.cls and h.matches(param)), None)

    def may_be_null(self, function: Function, param: Param) -> bool:
        if param.name in function.optional:
            return True
        handle = next((h for h in self.handles if h.matches(param)), None)
        return bool(handle and handle.null_is_default and param.name not in function.null)

    def is_nullable_type(self, param: Param) -> bool:
        if param.is_pointer or any(c.proto.name == param.type for c in self.callbacks):
            return True
        return any(h.matches(param) and not h.is_struct for h in self.handles)

    def null_checks(self, function: Function) -> list[tuple[Param, int]]:
        """Parameters that must not be null, each with the code that says so."""
        checks = []
        for param in function.proto.params:
            if self.is_nullable_type(param) and not self.may_be_null(function, param):
                code = function.null.get(param.name, 'refuse')
                checks.append((param, code if isinstance(code, int) else function.family.null))
        return checks
