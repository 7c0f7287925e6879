"""Each header compiles alone, in C and in the oldest and newest C++ it is meant for, and all of them together in those
between, without a warning."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.environ['BELAY_GENERATOR'])
import generate  # noqa: E402

INCLUDE = Path(os.environ['BELAY_INCLUDE'])
SPEC = generate.load(Path(os.environ['BELAY_SPEC']))[0]
STANDARDS = ([(os.environ.get('CC', 'gcc'), 'c', 'c11')]
             + [(os.environ.get('CXX', 'g++'), 'c++', f'c++{year}') for year in (11, 14, 17, 20)])


def compile_text(text, compiler, language, standard):
    command = [compiler, f'-std={standard}', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror',
               '-fsyntax-only', f'-I{INCLUDE}', '-x', language, '-']
    return subprocess.run(command, input=text, text=True, capture_output=True)


class HeadersTest(unittest.TestCase):
    def test_together(self):
        text = ''.join(f'#include "{header.path}"\n' for header in SPEC.headers)
        for compiler, language, standard in STANDARDS:
            with self.subTest(standard=standard):
                result = compile_text(text, compiler, language, standard)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_each_alone(self):
        for compiler, language, standard in (STANDARDS[0], STANDARDS[1], STANDARDS[-1]):
            for header in SPEC.headers:
                with self.subTest(header=header.path, standard=standard):
                    result = compile_text(f'#include "{header.path}"\n#include "{header.path}"\n',
                                          compiler, language, standard)
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_nothing_lies_about_in_include(self):
        wanted = {header.path for header in SPEC.headers}
        hand_written = {str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob('*.h')
                        if 'Generated from spec/' not in p.read_text()}
        found = {str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob('*.h')}
        self.assertEqual(found - hand_written, wanted)

    def test_how_programs_spell_things(self):
        text = '''
          #include "acl/acl.h"
          #include "aclnn/acl_meta.h"
          int main() {
            aclrtStream stream = nullptr;
            aclDataType type = aclDataType::ACL_FLOAT;
            int64_t shape[] = {2};
            aclTensor* tensor = aclCreateTensor(shape, 1, type, nullptr, 0, aclFormat::ACL_FORMAT_ND,
                                                shape, 1, nullptr);
            if (aclInit(nullptr) != ACL_SUCCESS || tensor == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
            float* numbers = nullptr;
            void* bytes = nullptr;
            aclError ret = aclrtCreateStream(&stream);
            ret |= aclrtCreateStream(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
            ret |= aclrtMalloc(&bytes, 8, ACL_MEM_MALLOC_HUGE_FIRST);
            ret |= aclrtMalloc((void**)&numbers, 8, ACL_MEM_MALLOC_HUGE_FIRST);
            ret |= aclrtMalloc(&numbers, 8);
            ret |= aclrtMemcpy(numbers, 8, shape, 8, ACL_MEMCPY_HOST_TO_DEVICE);
            ret |= aclrtMemcpyAsync(bytes, 8, numbers, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
            ret |= aclrtSynchronizeStream(stream) | aclrtSynchronizeStream(stream, -1);
            return ret == ACL_ERROR_NONE ? 0 : static_cast<int>(ret);
          }'''
        result = compile_text(text, STANDARDS[1][0], 'c++', 'c++11')
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == '__main__':
    unittest.main()
