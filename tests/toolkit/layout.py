"""layout.py TOOLKIT SCRATCH: the places of the toolkit that clients look into by name, before and after it was moved."""
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ARCH = platform.machine()
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def check_links(home):
    for folder, folders, files in os.walk(home):
        for path in (Path(folder, name) for name in folders + files):
            if path.is_symlink():
                check(not os.readlink(path).startswith('/'), f'{path} is an absolute link')
                check(path.exists(), f'{path} leads nowhere')
                check(home in path.resolve().parents, f'{path} leads out of the toolkit')


def check_debug_apart(home):
    """Nothing that only a debugger reads is in what programs load; it lies where gdb looks for it."""
    for path in [*(home / 'lib64').glob('lib*.so'), *(home / 'bin').iterdir()]:
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b'\x7fELF':
            continue
        sections = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True).stdout
        check('.debug_info' not in sections and '.gnu_debuglink' in sections, f'{path} has its debug information')
        check((path.parent / '.debug' / f'{path.name}.debug').is_file(), f'{path} has no debug information beside it')
    check('.debug_line' in subprocess.run(['readelf', '-SW', home / 'lib64/.debug/libbelay_core.so.debug'],
                                          capture_output=True, text=True).stdout, 'no line numbers of the core')


def check_no_loop(home):
    loops = subprocess.run(['find', '-L', home, '-name', 'no such file'], capture_output=True, text=True).stderr
    check(loops == '', f'find -L: {loops}')


def torch_npu_start(home):
    """What torch_npu asks for when it is imported: folders, and the version in the first install.info."""
    for part in ('', 'runtime', 'compiler', 'opp'):
        check((home / part).is_dir(), f'torch_npu: {part} is missing')
    for folder, _, files in os.walk(home):
        for name in files:
            if re.match(r'ascend_.*_install\.info', name):
                lines = Path(folder, name).read_text().splitlines()
                return next(line.split('=')[1] for line in lines if 'version' in line)
    return None


def check_versions(home):
    wanted = torch_npu_start(home)
    check(wanted is not None and re.fullmatch(r'\d+\.\d+\.\d+', wanted), f'torch_npu: version {wanted}')
    for part in ('runtime', 'compiler', 'toolkit', 'opp'):
        text = (home / part / 'version.info').read_text()
        check(f'Version={wanted}\n' in text, f'{part}/version.info: {text}')
    # An awk rule that is in use: the text behind "=" without its brackets.
    rule = r'''{ gsub(/\[/, ""); gsub(/\]/, ""); if ($1 == "runtime_running_version") print $2 }'''
    found = subprocess.run(['awk', '-F=', rule, home / 'version.cfg'], capture_output=True, text=True).stdout
    check(found == f'{wanted}:{wanted}\n', f'version.cfg: {found}')
    probe = 'import ctypes, sys; v = ctypes.create_string_buffer(64); ' \
        'print(ctypes.CDLL(sys.argv[1]).aclsysGetVersionStr(b"runtime", v), v.value.decode())'
    told = subprocess.run([sys.executable, '-c', probe, home / 'lib64/libascendcl.so'], capture_output=True, text=True)
    check(told.stdout == f'0 {wanted}\n', f'aclsysGetVersionStr: {told.stdout}{told.stderr}')


def check_places(home):
    linked = ['ascendcl', 'nnopbase', 'opapi', 'acl_op_compiler', 'acl_cblas', 'graph', 'graph_base', 'ge_compiler',
              'ge_runner', 'fmk_onnx_parser', 'opsproto', 'hccl']
    stubs = ['lib64/stub', f'lib64/stub/linux/{ARCH}', 'runtime/lib64/stub', 'acllib/lib64/stub', 'compiler/lib64/stub',
             'fwkacllib/lib64/stub', f'{ARCH}-linux/devlib', f'{ARCH}-linux/devlib/linux/{ARCH}', f'{ARCH}-linux/lib64']
    for folder in stubs + ['lib64', 'runtime/lib64', f'opp/built-in/op_proto/lib/linux/{ARCH}']:
        for name in linked:
            check((home / folder / f'lib{name}.so').exists(), f'{folder}/lib{name}.so is missing')
    for part in ('acllib', 'fwkacllib', 'runtime', 'compiler', 'atc', f'{ARCH}-linux'):
        check((home / part / 'include/acl/acl.h').exists(), f'{part}/include')
    for path in ('include/aclnn/aclnn_base.h', 'opp/built-in/op_proto/inc/all_ops.h', 'python/site-packages', 'toolkit',
                 'atc/bin/atc', 'compiler/bin/atc', f'{ARCH}-linux/bin/atc'):
        check((home / path).exists(), f'{path} is missing')


def check_loads_from(home):
    """A library that is loaded by any of its names finds what it needs beside it."""
    for folder in ('lib64', 'lib64/stub', f'lib64/stub/linux/{ARCH}', f'opp/built-in/op_proto/lib/linux/{ARCH}'):
        for name in ('ascendcl', 'opsproto'):
            library = home / folder / f'lib{name}.so'
            result = subprocess.run([sys.executable, '-c', f'import ctypes; ctypes.CDLL("{library}")'],
                                    capture_output=True, text=True)
            check(result.returncode == 0, result.stderr)


def check_all(home):
    check_links(home)
    check_no_loop(home)
    check_debug_apart(home)
    check_versions(home)
    check_places(home)
    check_loads_from(home)


toolkit, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
check_all(toolkit)
moved = scratch / 'a new place'
shutil.copytree(toolkit, moved, symlinks=True)
check_all(moved.resolve())
print('\n'.join(failures))
sys.exit(1 if failures else 0)
