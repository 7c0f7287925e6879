#!/usr/bin/env python3
"""msprof, for programs that look for it as a script: see tools/profiler/bin/msprof."""

import os
import sys

COMMAND = os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 4, 'profiler', 'bin', 'msprof')

if __name__ == '__main__':
    os.execv(os.path.realpath(COMMAND), ['msprof', *sys.argv[1:]])
