import unittest

import samples  # first: it finds the generator
import emit_entries
import emit_handlers
import emit_headers
import emit_limits
import emit_status
import emit_thunks
import emit_watched


def done(fn, **more):
    return dict(fn=fn, status='done', **more)


def entry_of(row):
    spec = samples.spec_of(row)
    return emit_entries.entry(spec, spec.functions[0])


class EntryTest(unittest.TestCase):
    def test_handles_become_objects(self):
        text = entry_of(done('aclError f(aclrtStream s, aclrtEvent e, const aclThing *t)'))
        self.assertIn('api::StreamArg(s, "s")', text)
        self.assertIn('api::Need<rt::Event>(e, "e")', text)
        self.assertIn('api::Need<rt::Thing>(t, "t")', text)
        self.assertNotIn('if (s == nullptr)', text)
        self.assertIn('if (e == nullptr) [[unlikely]] api::RefuseNull("e", 100000);', text)

    def test_null_default_refused(self):
        text = entry_of(done('aclError f(aclrtStream s)', null={'s': 'refuse'}))
        self.assertIn('if (s == nullptr)', text)
        self.assertIn('api::Need<rt::Stream>', text)

    def test_null_with_a_code_of_its_own(self):
        self.assertIn('RefuseNull("p", 42)', entry_of(done('aclError f(int *p)', null={'p': 42})))

    def test_optional(self):
        text = entry_of(done('aclError f(aclrtEvent e, int *p, aclCallback c)', optional=['e', 'p']))
        self.assertIn('api::Optional<rt::Event>(e, "e")', text)
        self.assertNotIn('RefuseNull("p"', text)
        self.assertIn('RefuseNull("c"', text)

    def test_out_handles_and_raw_handles_stay(self):
        text = entry_of(done('aclError f(aclrtEvent *made, aclrtEvent e)', raw=['e']))
        self.assertIn('api::f(made, e);', text)

    def test_values_have_a_fallback(self):
        self.assertIn('RunValue(Fn::f, static_cast<size_t>(7), [&]() -> size_t',
                      entry_of(done('size_t f(int a)', fallback='7')))
        self.assertIn('static_cast<int *>(nullptr)', entry_of(done('int *f(int a)')))
        self.assertIn('return api::f(a);', entry_of(done('aclError f(int a)', returns='value')))

    def test_void_variadic(self):
        text = entry_of(done('void f(const char *fmt, ...)'))
        self.assertIn('belay_f(const char *fmt, va_list arguments)', text)
        self.assertIn('static_cast<void>(api::Run(Fn::f', text)

    def test_absent_needs_no_handler(self):
        text = entry_of({'fn': 'aclError f(int *p)'})
        self.assertIn('RefuseAbsent(Fn::f)', text)
        self.assertNotIn('api::f(', text)

    def test_another_spelling_shares_the_handler(self):
        rows = done('aclError f(int a)'), done('aclError F(int a)', same_as='f')
        spec = samples.spec_of(*rows)
        self.assertIn('api::f(a);', emit_entries.entry(spec, spec.functions[1]))
        self.assertEqual(emit_handlers.emit(spec)['api/handlers.h'].count('(int a);'), 1)


class ThunkTest(unittest.TestCase):
    def test_variadic_hands_on_a_list(self):
        spec = samples.spec_of(done('void f(const char *fmt, ...)'))
        text = emit_thunks.thunk(spec.functions[0])
        self.assertIn('va_start(arguments, fmt);', text)
        self.assertIn('belay_f(fmt, arguments);', text)

    def test_only_looked_up_names_wait_until_they_work(self):
        rows = {'fn': 'aclError f(int a)'}, {'fn': 'aclError g(int a)'}, done('aclError h(int a)')
        spec = samples.spec_of(*rows, linked=['g'], looked_up=['f', 'g', 'h'])
        files = emit_thunks.emit(spec)
        self.assertNotIn(' f;', files['thunks/libt.map'])
        self.assertIn(' g;', files['thunks/libt.map'])
        self.assertIn(' h;', files['thunks/libt.map'])
        self.assertNotIn('belay_f(', files['thunks/libt.c'])
        self.assertIn('not exported', emit_status.emit(spec, [])['status.md'])

    def test_version_script_has_no_version(self):
        self.assertTrue(emit_thunks.version_script([]).startswith('{'))


class WatchedTest(unittest.TestCase):
    def text_of(self, *rows):
        return emit_watched.emit(samples.spec_of(*(done(row) for row in rows)))['calls/watched.c']

    def test_a_call_goes_on_to_the_entry(self):
        text = self.text_of('aclError f(int a, float b)')
        self.assertIn('((__typeof__(&belay_f))belay_real_call(0))(a, b);', text)
        self.assertIn('{(uint64_t)a, belay_bits(b)}', text)
        self.assertIn('{"f", "r", "a:i,b:d"},', text)

    def test_results_are_told_from_input(self):
        text = self.text_of('aclError f(void **p, size_t *n, const size_t *m, const char *s, const int64_t *a, int b[])')
        self.assertIn('"p:P,n:Q,m:p,s:s,a:p,b:p"', text)

    def test_what_gives_no_status(self):
        text = self.text_of('void f(bool on)', 'size_t g(void)')
        self.assertIn('{"f", "v", "on:b"},', text)
        self.assertIn('{"g", "u", ""},', text)

    def test_what_takes_a_list_is_not_watched(self):
        self.assertNotIn('belay_f', self.text_of('void f(const char *fmt, ...)'))


class LimitsTest(unittest.TestCase):
    def test_what_is_not_done(self):
        spec = samples.spec_of(done('aclError f(int a)'),
                               {'fn': 'aclError g(int a)', 'status': 'partial', 'note': 'says "half"'},
                               {'fn': 'aclError h(int a)', 'status': 'absent', 'note': 'never'})
        text = emit_limits.emit(spec)['tools/limits.h']
        self.assertNotIn('{"f"', text)
        self.assertIn('{"g", true, "says \\"half\\""},', text)
        self.assertIn('{"h", false, "never"},', text)


class HeaderTest(unittest.TestCase):
    def test_long_prototypes_wrap(self):
        spec = samples.spec_of({'fn': 'aclError f(' + ', '.join(f'int number{i}' for i in range(12)) + ')'})
        text = emit_headers.emit(spec)['acl/t.h']
        self.assertTrue(all(len(line) <= 100 for line in text.split('\n')))

    def test_errors_and_page_are_in_the_comment(self):
        spec = samples.spec_of({'fn': 'aclError f(int a)', 'brief': 'Does it.', 'page': 'p1',
                                'status': 'done', 'errors': {3: 'no'}})
        text = emit_headers.emit(spec)['acl/t.h']
        self.assertIn(' * Does it.\n * Errors: 3: no.\n * Page: p1\n', text)

    def test_what_is_missing_is_in_the_comment(self):
        spec = samples.spec_of({'fn': 'aclError f(int a)', 'brief': 'One.', 'note': 'no card'},
                               {'fn': 'int32_t g(int a)', 'brief': 'Two.', 'fallback': '-1'},
                               {'fn': 'aclError h(int a)', 'brief': 'Three.', 'status': 'partial', 'note': 'half'})
        text = emit_headers.emit(spec)['acl/t.h']
        self.assertIn(' * One.\n * Not implemented (no card): returns 207000.\n', text)
        self.assertIn(' * Two.\n * Not implemented: returns -1.\n', text)
        self.assertIn(' * Three.\n * In part: half.\n', text)

    def test_what_all_functions_return_is_said_once_a_header(self):
        plain = {'fn': 'aclError f(int a)', 'status': 'done'}
        self.assertIn('for a null pointer or handle', emit_headers.emit(samples.spec_of(plain))['acl/t.h'])
        self.assertNotIn('With a stream', emit_headers.emit(samples.spec_of(plain))['acl/t.h'])
        stream = {'fn': 'aclError g(aclrtStream stream)', 'status': 'done'}
        self.assertIn('With a stream', emit_headers.emit(samples.spec_of(plain, stream))['acl/t.h'])
        absent = {'fn': 'aclError h(int a)'}
        self.assertNotIn('Errors', emit_headers.emit(samples.spec_of(absent))['acl/t.h'])

    def test_functions_that_differ_from_most_say_whether_they_need_init(self):
        free = {'fn': 'aclError f(int a)', 'brief': 'One.', 'init': False, 'status': 'done'}
        bound = [{'fn': f'aclError {name}(int a)', 'brief': 'Two.', 'status': 'done'} for name in 'gh']
        text = emit_headers.emit(samples.spec_of(free, *bound))['acl/t.h']
        self.assertIn('/** One. Needs no aclInit. */', text)
        self.assertEqual(text.count('/** Two. */'), 2)
        text = emit_headers.emit(samples.spec_of(free, free | {'fn': 'aclError k(int a)'}, bound[0]))['acl/t.h']
        self.assertIn('/** Two. Needs aclInit. */', text)
        self.assertIn('100001 without aclInit, where it is needed;', text)

    def test_another_spelling_has_the_same_errors(self):
        spec = samples.spec_of({'fn': 'aclError f(int a)', 'status': 'done', 'errors': {3: 'no'}},
                               {'fn': 'aclError F(int a)', 'status': 'done', 'same_as': 'f'})
        self.assertEqual(emit_headers.emit(spec)['acl/t.h'].count(' * Errors: 3: no. */'), 0)
        self.assertEqual(emit_headers.emit(spec)['acl/t.h'].count('Errors: 3: no.'), 2)


if __name__ == '__main__':
    unittest.main()
