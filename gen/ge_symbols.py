"""Thunks for the graph interface, which is C++: its functions are known by their symbols.

    ge_symbols.py --libraries spec/ge/libraries.yaml --readelf readelf --arch x86_64 --out DIR OBJECT...

Reads the objects of src/ge. For each function with default visibility whose symbol S begins with _ZN2ge
or _ZNK2ge the core exports belay_S, and each library that has S defines it as a jump to belay_S:

  ge_core.c           belay_S: jump to S
  lib<name>.c, .map   S: jump to belay_S, and the version script that exports nothing else

A jump leaves registers and stack as they are, so it serves every signature.
"""
from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import yaml

_TOP = '// Generated from the symbols of src/ge by gen/ge_symbols.py. Do not edit.\n'
_JUMPS = {'x86_64': 'jmp', 'aarch64': 'b'}
_ROW = re.compile(r'^\s*\d+:\s+\S+\s+\S+\s+FUNC\s+GLOBAL\s+DEFAULT\s+\d+\s+(_ZNK?2ge\S+)\s*$', re.M)
_START = re.compile(r'^_ZNK?2ge')


def symbols_of(readelf: str, objects: list[str]) -> list[str]:
    text = subprocess.run([readelf, '-sW', *objects], check=True, capture_output=True, text=True).stdout
    return sorted(set(_ROW.findall(text)))


def jumps(pairs: list[tuple[str, str]], arch: str) -> str:
    plt = '@PLT' if arch == 'x86_64' else ''
    rows = ''.join(f'        ".globl {name}\\n.type {name}, %function\\n{name}: {_JUMPS[arch]} {target}{plt}\\n"\n'
                   f'        ".size {name}, .-{name}\\n"\n' for name, target in pairs)
    return _TOP + (f'__asm__(".text\\n"\n{rows});\n' if pairs else 'typedef int nothing;\n')


def matching(symbols: list[str], starts: list[str]) -> list[str]:
    patterns = [re.compile(start) for start in starts]
    return [s for s in symbols if any(p.match(_START.sub('', s)) for p in patterns)]


def emit(symbols: list[str], libraries: dict, arch: str) -> dict[str, str]:
    files = {'ge_core.c': jumps([(f'belay_{s}', s) for s in symbols], arch)}
    homeless = set(symbols)
    for name, row in libraries.items():
        mine = matching(symbols, row['symbols'])
        homeless -= set(mine)
        files[f'lib{name}.c'] = jumps([(s, f'belay_{s}') for s in mine], arch)
        names = ''.join(f'    {s};\n' for s in mine)
        files[f'lib{name}.map'] = '{\n' + (f'  global:\n{names}' if mine else '') + '  local:\n    *;\n};\n'
    if homeless:
        raise SystemExit(f'spec/ge/libraries.yaml names no library for {", ".join(sorted(homeless))}')
    return files


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ('--libraries', '--readelf', '--arch', '--out'):
        parser.add_argument(option, required=True)
    parser.add_argument('objects', nargs='+')
    args = parser.parse_args()
    libraries = yaml.safe_load(Path(args.libraries).read_text(encoding='utf-8'))['libraries']
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in emit(symbols_of(args.readelf, args.objects), libraries, args.arch).items():
        path = out / name
        if not path.exists() or path.read_text(encoding='utf-8') != text:
            path.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
