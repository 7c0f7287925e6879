import re
import unittest
from pathlib import Path

import samples  # first: it finds the generator
import read

ROOT = Path(__file__).resolve().parents[2]


class ReadTest(unittest.TestCase):
    def test_a_typo_is_an_error(self):
        for row in ({'fn': 'aclError f(int a)', 'breif': 'x'},
                    {'fn': 'aclError f(int a)', 'status': 'finished'},
                    {'fn': 'aclError f(int a)', 'optional': ['b']}):
            with self.assertRaises(read.SpecError):
                samples.spec_of(row)

    def test_a_function_stands_once(self):
        with self.assertRaises(read.SpecError):
            samples.spec_of({'fn': 'aclError f(int a)'}, {'fn': 'aclError f(int b)'})

    def test_the_word_null_is_a_key(self):
        self.assertEqual(read._plain_keys({None: {'a': [{None: 1}]}}), {'null': {'a': [{'null': 1}]}})


class SpecTest(unittest.TestCase):
    """The real spec/."""

    @classmethod
    def setUpClass(cls):
        cls.spec = read.finish(read.read(ROOT / 'spec'))

    def test_every_row_says_what_it_does(self):
        self.assertEqual([f.name for f in self.spec.functions if not f.brief], [])

    def test_partial_says_what_is_missing(self):
        rows = [f.name for f in self.spec.functions if f.status == 'partial' and not f.note]
        self.assertEqual(rows, [])

    def test_done_has_a_conformance_test(self):
        tests = ''.join(p.read_text() for p in (ROOT / 'tests').rglob('*') if p.suffix in ('.cc', '.c', '.h'))
        called = set(re.findall(r'\w+', tests))
        rows = [f.name for f in self.spec.functions
                if f.status == 'done' and f.name not in called and f.same_as not in called]
        self.assertEqual(rows, [], 'status is done, but no test below tests/ calls them')

    def test_an_error_name_stands_once(self):
        names = [e.name for e in self.spec.errors]
        self.assertEqual(len(names), len(set(names)))

    def test_what_the_samples_use_is_here(self):
        names = {f.name for f in self.spec.functions}
        wanted = {n for n in self.spec.linked['samples'] if not n.startswith('aclnn')}
        self.assertEqual(sorted(wanted - names), [])


if __name__ == '__main__':
    unittest.main()
