#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of posting and polling a burst of 16 work requests, by the driver mlx5
and by libmlx5. Fails if the driver takes more than half. It is started by hand. The arguments are
the program 'burst' and the library of the model, which it preloads."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 200  # the same as in burst.c
BURST = 16


def count(program, model):
    """Returns the instructions of each part per work request, by the name after 'measure_'."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'out'
        subprocess.run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
                        '--toggle-collect=measure_*', f'--callgrind-out-file={out}', program],
                       check=True, timeout=300, env={**os.environ, 'LD_PRELOAD': model})
        text = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100',
                               '--auto=no', out],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    counts = {}
    for amount, name in re.findall(r'^ *([\d,]+) \([ \d.]+%\)  \S+:measure_(\w+)', text, re.M):
        counts[name] = max(counts.get(name, 0), int(amount.replace(',', '')) / ROUNDS / BURST)
    return counts


def main():
    if not shutil.which('valgrind'):
        print('valgrind is not installed: apt-get install valgrind')
        return 77
    counts, is_over = count(*sys.argv[1:]), False
    for part in 'post', 'poll':
        mine, theirs = counts[part + '_mlx5'], counts[part + '_libmlx5']
        is_over |= mine > theirs / 2
        print(f'{part}: {mine:.1f} instructions for each work request, libmlx5 {theirs:.1f}')
    return is_over


sys.exit(main())
