"""A small model for the emitters' tests."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import read  # noqa: E402
from model import Callback, Family, Handle, Header, Library, Spec  # noqa: E402
import prototype  # noqa: E402

RT = Family('rt', absent=207000, null=100000)


def spec_of(*rows, linked=(), looked_up=()):
    """A finished Spec with these rows, all of one subject and one library."""
    defaults = {'header': 'acl/t.h', 'lib': 'libt.so', 'family': 'rt'}
    spec = Spec(
        functions=[read.read_row(dict(row), 'thing', defaults, {'rt': RT}) for row in rows],
        handles=[Handle('aclrtStream', False, 'acl/t.h', 'rt::Stream', null_is_default=True),
                 Handle('aclrtEvent', False, 'acl/t.h', 'rt::Event'),
                 Handle('aclThing', True, 'acl/t.h', 'rt::Thing')],
        enums=[], constants=[], errors=[], families={'rt': RT}, aliases=[],
        callbacks=[Callback(prototype.parse('void aclCallback(void *data)'), 'acl/t.h')], structs=[],
        libraries=[Library('libt.so')], headers=[Header('acl/t.h', 'Things')],
        linked={'a': frozenset(linked)}, looked_up={'b': frozenset(looked_up)})
    return read.finish(spec)
