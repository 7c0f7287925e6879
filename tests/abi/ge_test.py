"""The libraries of the graph interface: the symbols that others' binaries need, and their form."""
import ctypes
import os
import re
import subprocess
import unittest
from pathlib import Path

LIB64 = Path(os.environ['BELAY_LIB64'])
SPEC = Path(os.environ['BELAY_SPEC'])
INCLUDE = Path(os.environ['BELAY_INCLUDE'])
LIBRARIES = ['graph', 'graph_base', 'ge_compiler', 'ge_runner', 'fmk_onnx_parser', 'fmk_parser', 'opsproto', 'exe_graph',
             'ascend_protobuf']
# What each client's binaries are linked with.
LINKED = {'onnxruntime': ['fmk_onnx_parser'], 'torchair': ['ge_runner', 'fmk_parser', 'graph']}
HEADERS = ['ge/ge_api.h', 'ge/ge_ir_build.h', 'ge/ge_api_types.h', 'ge/ge_allocator.h', 'ge/ge_graph_compile_summary.h',
           'ge/ge_error_codes.h', 'graph/graph.h', 'graph/operator.h', 'graph/operator_factory.h', 'graph/tensor.h',
           'graph/types.h', 'graph/ascend_string.h', 'graph/attr_value.h', 'graph/gnode.h', 'graph/ge_error_codes.h',
           'parser/onnx_parser.h', 'parser/tensorflow_parser.h', 'parser/caffe_parser.h', 'ge/ge_feature_memory.h']


def rows():
    lines = (SPEC / 'ge/seen.tsv').read_text().splitlines()
    return [line.split('\t') for line in lines if not line.startswith('#')]


def output_of(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


class GeTest(unittest.TestCase):
    def test_what_binaries_need_is_there(self):
        for client, libraries in LINKED.items():
            handles = [ctypes.CDLL(str(LIB64 / f'lib{name}.so')) for name in libraries]
            for symbol, clients in rows():
                if client not in clients.split(','):
                    continue
                # A library's handle finds the symbols of what it needs too, as the loader does.
                found = any(hasattr(handle, symbol) for handle in handles)
                self.assertTrue(found, f'{client} needs {symbol}')

    def test_form(self):
        for name in LIBRARIES:
            with self.subTest(library=name):
                text = output_of('readelf', '-dW', str(LIB64 / f'lib{name}.so'))
                self.assertIn(f'[lib{name}.so]', text)
                self.assertIn('[$ORIGIN]', text)
                self.assertIn('NODELETE', text)
                self.assertNotIn('Version definition', output_of('readelf', '-VW', str(LIB64 / f'lib{name}.so')))

    def test_nothing_but_the_interface_is_exported(self):
        for name in LIBRARIES:
            text = output_of('nm', '-D', '--defined-only', str(LIB64 / f'lib{name}.so'))
            for symbol in re.findall(r'\S+$', text, re.M):
                self.assertRegex(symbol, r'^_ZNK?2ge', name)

    def test_both_kinds_of_string(self):
        text = output_of('nm', '-D', '--defined-only', str(LIB64 / 'libge_runner.so'))
        self.assertRegex(text, r'_ZN2ge13GEGetErrorMsgEv\n')
        self.assertRegex(text, r'_ZN2ge13GEGetErrorMsgB5cxx11Ev\n')

    def test_each_header_alone(self):
        for header in HEADERS:
            for standard in ('c++11', 'c++20'):
                with self.subTest(header=header, standard=standard):
                    command = [os.environ.get('CXX', 'g++'), f'-std={standard}', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                               f'-I{INCLUDE}', '-x', 'c++', '-']
                    text = f'#include "{header}"\n#include "{header}"\n'
                    result = subprocess.run(command, input=text, text=True, capture_output=True)
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_headers_by_their_folders(self):
        text = '#include "ge_api.h"\n#include "acl.h"\n#include "acl_rt.h"\n#include "graph.h"\nint main() { ge::Graph graph; }\n'
        command = [os.environ.get('CXX', 'g++'), '-std=c++11', '-fsyntax-only', '-x', 'c++', '-', f'-I{INCLUDE}',
                   *(f'-I{INCLUDE}/{folder}' for folder in ('ge', 'acl', 'graph'))]
        result = subprocess.run(command, input=text, text=True, capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == '__main__':
    unittest.main()
