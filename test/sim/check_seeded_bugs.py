#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that weir-sim finds each seeded bug: with the seed that is known to find it, or by a
search of at most 2,000 seeds. With the same seeds and no bug, weir-sim must find nothing.
Arguments: the program of a build with seeded_bugs, the list of bugs."""

import re
import subprocess
import sys

BUGS = 13
SEARCH = '1..2000'


def sim(*args):
    return subprocess.run(sys.argv[1:2] + list(args), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def bugs(path):
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            match = re.match(r'(\d+) (\d+)\s+(.+)', line)
            if match:
                yield match.groups()


def check(number, seed, what):
    """Returns None, or a text that says what is wrong."""
    clean = sim('--seed', seed)
    if clean.returncode != 0:
        return 'seed %s finds something though no bug is chosen: %s' % (seed, clean.stderr)
    found = sim('--seed', seed, '--plant', number)
    if found.returncode == 0:
        found = sim('--seeds', SEARCH, '--plant', number)
        if found.returncode == 1:
            print('%s: seed %s does not find it any more' % (number, seed))
    if found.returncode != 1 or 'weir-sim: seed' not in found.stderr:
        return 'not found within seeds %s (%s)' % (SEARCH, what)
    print('%s (%s): %s' % (number, what, found.stderr.splitlines()[0]))
    return None


def main():
    listed = list(bugs(sys.argv[2]))
    failures = ['%s: %s' % (bug[0], wrong) for bug in listed if (wrong := check(*bug))]
    if [bug[0] for bug in listed] != [str(number) for number in range(1, BUGS + 1)]:
        failures.append('%s does not list bugs 1 to %d' % (sys.argv[2], BUGS))
    for failure in failures:
        print('FAILED', failure)
    return 1 if failures else 0


sys.exit(main())
