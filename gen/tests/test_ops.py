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


if __name__ == '__main__':
    unittest.main()
