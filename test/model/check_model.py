#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a model with Spin, and that Spin finds each weakened operation.

A model is a .pml file. A line '#define NAME NUMBER /* FILE: FUNCTION: OPERATION */' describes an
operation of the code, which the environment variable VARIANT=NUMBER weakens. The correct model,
with VARIANT=0, must have no error. Each weakened model must have one, except where the line says
', reserve': the code is stronger there than it needs to be. REACHES_END is a variant that fails
if the model reaches its end at all. In litmus.pml, the comment is the expected result instead."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VARIANT = re.compile(r'^#define (\w+) (\d+)\s*/\* (\S+: \w+: \w+(?:, reserve)?|'
                     r'(?:allowed|forbidden|race)\b.*) \*/$', re.M)
ENDS = re.compile(r'^#define REACHES_END (\d+)$', re.M)
# No state may be skipped: neither by partial order reduction, which does not see what the embedded
# C code reads, nor because of a limit.
DEFINES = ['-DNOREDUCE', '-DSAFETY', '-DMEMLIM=1500']
DEPTH = '1000000'


def build(model, compiler, folder):
    """Returns the path of the program that explores the model."""
    subprocess.run(['spin', '-a', str(model)], cwd=folder, check=True)
    subprocess.run([*compiler, '-w', '-O1', *DEFINES, '-o', 'pan', 'pan.c'], cwd=folder, check=True)
    return folder / 'pan'


def explore(pan, number):
    """Returns 'pass', 'race', 'assertion' or 'deadlock', and the number of states."""
    out = subprocess.run([str(pan), '-m' + DEPTH], cwd=pan.parent, check=False,
                         env={**os.environ, 'VARIANT': number}, stdout=subprocess.PIPE,
                         text=True).stdout
    states = re.search(r'(\d+) states, stored', out)
    errors = re.search(r'errors: (\d+)', out)
    if not states or not errors or 'max search depth too small' in out:
        sys.exit('spin did not complete:\n' + out)
    if errors.group(1) == '0':
        if 'Search not completed' in out:
            sys.exit('spin did not look at all states:\n' + out)
        return 'pass', int(states.group(1))
    failure = re.search(r'^pan:\d+: (assertion violated|invalid end state)(.*)', out, re.M)
    if not failure:
        sys.exit('spin failed:\n' + out)
    if failure.group(1) != 'assertion violated':
        return 'deadlock', int(states.group(1))
    return 'race' if '.clock[' in failure.group(2) else 'assertion', int(states.group(1))


def expectations(text):
    """Yields the number of each variant, what it is, and the results that it may have."""
    failed = ('race', 'assertion', 'deadlock')
    rows = VARIANT.findall(text)
    if not any(re.match('allowed|forbidden|race', what) for _, _, what in rows):
        yield '0', 'as in the code', ('pass',)
    for name, number, what in rows:
        if what.startswith('allowed'):
            yield number, name, ('assertion',)
        elif what.startswith('race'):
            yield number, name, ('race',)
        elif what.startswith('forbidden') or what.endswith(', reserve'):
            yield number, name, ('pass',)
        else:
            yield number, name, failed
    for number in ENDS.findall(text):
        yield number, 'REACHES_END', ('assertion',)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('model', type=pathlib.Path)
    parser.add_argument('compiler', nargs='+')
    args = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        pan = build(args.model.resolve(), args.compiler, pathlib.Path(folder))
        for number, name, results in expectations(args.model.read_text(encoding='utf-8')):
            result, states = explore(pan, number)
            good = result in results
            wrong += not good
            print('%-20s %-9s %8d states%s' % (name, result, states, '' if good else
                                               '   WRONG: expected ' + ' or '.join(results)))
    sys.exit(1 if wrong else 0)


main()
