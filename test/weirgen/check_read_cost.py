#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of a READ handler of weirgen and of one that is written by hand, by
callgrind, and compares them. Arguments: test_read_cost, and the folder of bench/micro."""

import os
import re
import shutil
import sys
import tempfile

OVER = 0.03
ROUNDS = 1000 # as in read_cost.c
SKIPPED = 77

PROGRAM, MICRO = sys.argv[1:]
sys.path.insert(0, MICRO)
import check_budget # pylint: disable=wrong-import-position


def count(which, folder):
    """Returns the instructions of one request."""
    said = check_budget.callgrind(os.path.join(folder, which), 'measure_handle', PROGRAM, which)
    return int(re.search(r'Collected : (\d+)', said).group(1)) / ROUNDS


def main():
    if not shutil.which('valgrind'):
        print('valgrind is not installed: apt-get install valgrind')
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        hand, generated = count('hand', folder), count('generated', folder)
    print('by hand %.1f, generated %.1f instructions: %+.1f %%' % (
        hand, generated, 100 * (generated / hand - 1)))
    sys.exit(generated > hand * (1 + OVER))


main()
