"""The libraries export what spec/ says, no more and no less, in a form that other builds accept."""
import ctypes
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.environ['BELAY_GENERATOR'])
import generate  # noqa: E402

LIB64 = Path(os.environ['BELAY_LIB64'])
SPEC = generate.load(Path(os.environ['BELAY_SPEC']))[0]
# The core, and what it loads when it needs it.
PRIVATE = sorted(path.name for path in LIB64.glob('libbelay_*.so'))
C_LIBRARY = ctypes.CDLL(None)
ALL = [library.name for library in SPEC.libraries] + PRIVATE


def output_of(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


def exports(library):
    lines = output_of('nm', '-D', '--defined-only', str(LIB64 / library)).split('\n')
    return {line.split()[-1] for line in lines if line}


def dynamic(library, tag):
    text = output_of('readelf', '-dW', str(LIB64 / library))
    return re.findall(rf'\({tag}\).*?\[(.*?)\]', text)


class LibrariesTest(unittest.TestCase):
    def test_exports(self):
        for library in SPEC.libraries:
            with self.subTest(library=library.name):
                wanted = {f.name for f in SPEC.functions if library.name in (f.lib, f.also) and f.exported}
                self.assertEqual(exports(library.name), wanted)

    def test_private_libraries_export_entries_only(self):
        for library in PRIVATE:
            with self.subTest(library=library):
                strangers = {name for name in exports(library) if not name.startswith('belay_')}
                if library == 'libbelay_host.so':  # stands before the C library
                    strangers = {name for name in strangers if not hasattr(C_LIBRARY, name)}
                self.assertEqual(strangers, set())

    def test_soname_is_the_file_name(self):
        for library in ALL:
            with self.subTest(library=library):
                self.assertEqual(dynamic(library, 'SONAME'), [library])

    def test_libraries_find_each_other_beside_themselves(self):
        for library in ALL:
            self.assertEqual(dynamic(library, 'RUNPATH'), ['$ORIGIN'], library)
        for library in SPEC.libraries:
            with self.subTest(library=library.name):
                self.assertIn('libbelay_core.so', dynamic(library.name, 'NEEDED'))
                for need in library.needs:
                    self.assertIn(need, dynamic(library.name, 'NEEDED'))

    def test_no_version_nodes(self):
        for library in ALL:
            with self.subTest(library=library):
                text = output_of('readelf', '-VW', str(LIB64 / library))
                self.assertNotIn('Version definition', text)

    def test_libraries_stay_loaded(self):
        for library in ALL:
            with self.subTest(library=library):
                self.assertIn('NODELETE', output_of('readelf', '-dW', str(LIB64 / library)))


if __name__ == '__main__':
    unittest.main()
