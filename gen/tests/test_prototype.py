import unittest

import samples  # noqa: F401  first: it finds the generator
import prototype


class PrototypeTest(unittest.TestCase):
    def test_pointers_arrays_and_constness(self):
        proto = prototype.parse(
            'aclError f(const aclTensor *const *value, int64_t range[][N], int32_t *const id)')
        self.assertEqual([p.decl for p in proto.params],
                         ['const aclTensor *const *value', 'int64_t range[][N]', 'int32_t *const id'])
        self.assertTrue(all(p.is_pointer for p in proto.params))

    def test_one_spelling(self):
        self.assertEqual(prototype.tidy('const  char* * '), 'const char **')

    def test_no_parameters(self):
        for text in ('int f()', 'int f(void)'):
            self.assertEqual(prototype.parse(text).declaration(), 'int f(void)')

    def test_variadic(self):
        proto = prototype.parse('void log(const char *fmt, ...)')
        self.assertTrue(proto.variadic)
        self.assertEqual(proto.declaration('log2'), 'void log2(const char *fmt, ...)')

    def test_pointer_result(self):
        self.assertEqual(prototype.parse('const char *name(int i)').ret, 'const char *')

    def test_a_union_without_a_name(self):
        field = prototype.parse_field({'union': ['const void *pointer', 'int *handle']})
        self.assertEqual(field.decl, 'union { const void *pointer; int *handle; }')
        self.assertTrue(field.is_pointer)
        self.assertEqual(prototype.parse_field('size_t count').decl, 'size_t count')

    def test_nonsense_is_refused(self):
        for text in ('f', 'int f(int)', 'int f(,)'):
            with self.assertRaises(ValueError):
                prototype.parse(text)


if __name__ == '__main__':
    unittest.main()
