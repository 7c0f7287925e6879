import unittest

import samples  # noqa: F401  first: it finds the generator
import emit_ge
import emit_graph
import ge_symbols
import read
from graph_model import GraphAttribute, GraphOp, Port, read_op


class OperatorClassTest(unittest.TestCase):
    def setUp(self):
        op = GraphOp('Mix', 'family', [Port('x', 'required'), Port('rest', 'dynamic')], [Port('y', 'required')])
        op.attributes = [GraphAttribute('axis', 'int', True, ''), GraphAttribute('body', 'graph', True, '')]
        self.files = emit_ge.emit([op])
        self.text = self.files['opp/built-in/op_proto/inc/family_ops.h']

    def test_methods_are_named_as_users_know_them(self):
        for method in ('set_input_x(', 'set_input_x_by_name(', 'update_input_desc_x(', 'create_dynamic_input_rest(',
                       'set_dynamic_input_rest(', 'get_output_desc_y(', 'set_attr_axis(int64_t v)', 'get_attr_axis()',
                       'set_subgraph_builder_body('):
            self.assertIn(method, self.text)

    def test_all_ops_includes_each_family(self):
        self.assertIn('#include "family_ops.h"', self.files['opp/built-in/op_proto/inc/all_ops.h'])


class RandomTest(unittest.TestCase):
    def test_the_trait_goes_into_the_table(self):
        row = {'op': 'Draw() -> y', 'traits': ['random'], 'attrs': {'seed': 'int = 0', 'seed2': 'int = 0'}}
        self.assertIn('translate::Draw, kTraitRandom, nullptr}', emit_graph.emit([read_op(row, 'random')])['graph/op_table.cc'])

    def test_what_draws_has_seeds(self):
        with self.assertRaises(read.SpecError):
            read_op({'op': 'Draw() -> y', 'traits': ['random'], 'attrs': {'seed': 'int = 0'}}, 'random')


class SymbolsTest(unittest.TestCase):
    def test_a_library_jumps_into_the_core(self):
        files = ge_symbols.emit(['_ZN2ge5GraphC1EPKc'], {'graph': {'symbols': ['5Graph']}}, 'x86_64')
        self.assertIn('_ZN2ge5GraphC1EPKc: jmp belay__ZN2ge5GraphC1EPKc@PLT', files['libgraph.c'])
        self.assertIn('belay__ZN2ge5GraphC1EPKc: jmp _ZN2ge5GraphC1EPKc@PLT', files['ge_core.c'])
        self.assertIn('_ZN2ge5GraphC1EPKc;', files['libgraph.map'])

    def test_the_other_processor_branches(self):
        files = ge_symbols.emit(['_ZN2ge1fEv'], {'graph': {'symbols': ['1f']}}, 'aarch64')
        self.assertIn('_ZN2ge1fEv: b belay__ZN2ge1fEv\\n', files['libgraph.c'])

    def test_a_function_without_a_library_is_an_error(self):
        with self.assertRaises(SystemExit):
            ge_symbols.emit(['_ZN2ge1fEv'], {'graph': {'symbols': ['5Graph']}}, 'x86_64')


if __name__ == '__main__':
    unittest.main()
