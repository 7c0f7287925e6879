"""Doors: nodes of graphs that are operators of spec/ops under other names."""
import unittest

import samples  # noqa: F401
import emit_graph
import emit_ops
import ops_model
import read

_CONTENT = {'types': {'float': ['f32', 'f16'], 'place': ['i64']}}


def operator(**more):
    row = {'op': 'Loss(self, reduction:int, out, places:out)', 'types': {'self': 'float', 'out': 'float', 'places': 'place'},
           'results': {'out': 'LossOfRows(self, reduction) OfSelf(self)', 'places': 'Same(self) i64'},
           'ge': [{'op': 'Loss(x=self) -> at=places, y=out', 'attrs': {'reduction': 'string = mean'},
                   'args': {'reduction': {'reduction': ['none', 'mean']}}}]}
    return ops_model.read_operator(row | more, 'loss', _CONTENT)


class Doors(unittest.TestCase):
    def test_rules_stand_in_the_order_of_the_outputs(self):
        op = operator()
        self.assertEqual(op.doors[0].door.results,
                         (('Same(self)', 'i64'), ('LossOfRows(self, reduction)', 'OfSelf(self)')))
        self.assertIn('[](const Args&) { return DType::kI64; }', emit_ops.door_table(op, op.doors[0]))

    def test_a_word_is_its_place(self):
        self.assertIn('kLossWords1[] = {"none", "mean"};', emit_graph.door(operator().doors[0]))

    def test_words_are_those_of_an_attribute(self):
        with self.assertRaises(read.SpecError):
            operator(ge=[{'op': 'Loss(x=self) -> at=places, y=out', 'args': {'reduction': {'reduction': ['none']}}}])

    def test_each_result_has_rules(self):
        with self.assertRaises(read.SpecError):
            operator(results={'out': 'Same(self) OfSelf(self)'})


class Arguments(unittest.TestCase):
    """What kernels of many parameters take."""

    def many(self, names):
        return ops_model.read_operator({'op': f'Many({names}, out)', 'types': 'float'}, 'many', _CONTENT)

    def setUp(self):
        self.op = self.many('self, biasOptional?, actualSeqQLen?:ints, a:int, b:int, list:tensors, word:string, c:bool')

    def test_a_kernel_of_few_parameters_takes_them_in_their_order(self):
        op = self.many('self, other')
        self.assertIn('kernels::Many(p, compute, a.operand(0), a.operand(1), a.operand(2));', emit_ops.op_table(op))
        self.assertNotIn('struct', emit_ops.kernels_header([op]))

    def test_one_of_many_takes_them_by_name(self):
        table = emit_ops.op_table(self.op)
        self.assertIn('.actual_seq_q_len = a.ints(2),\n', table)
        self.assertIn('.out = a.operand(8),\n', table)
        self.assertIn('void Many(Plan& plan, DType compute, const ManyArguments& a);', emit_ops.kernels_header([self.op]))

    def test_what_a_call_may_leave_out_has_a_default(self):
        header = emit_ops.kernels_header([self.op])
        for field in ('Operand self;', 'Operand bias = {};', 'std::span<const int64_t> actual_seq_q_len = {};', 'int64_t a;',
                      'OperandList list;', 'const char* word;'):
            self.assertIn(f'  {field}\n', header)


if __name__ == '__main__':
    unittest.main()
