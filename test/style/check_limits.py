#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the table of limits in doc/ against the tree: each profile key that is a limit has a row.
Each row has a counter, or an error that callers get, and tests for it."""

import re

import check_clauses
import tree

TABLE = 'doc/limits.rst'
KEYS = 'lib/engine/profile_keys.c'
COUNTERS = 'lib/engine/counter_list.h'
# Sections in which each key with a number is a limit. In the others, only the listed keys are.
WHOLE = ('limits', 'memory')
OTHERS = (('exposure', 'windows'), ('connection', 'credits'), ('connection', 'connect_timeout_ms'))


def profile_keys():
    """Returns (section, key) of the keys with a number."""
    found = re.findall(r'\{"(\w+)", "(\w+)", PROFILE_(NUMBER|BYTES),', tree.text(KEYS))
    return {(section, name) for section, name, _ in found}


def counters():
    return set(re.findall(r'^COUNTER\(\w+, (\w+),', tree.text(COUNTERS), re.M))


def check_row(key, counter, tests, known):
    if key not in known:
        yield 'no such key with a number in %s' % KEYS
    if counter not in counters() and not re.fullmatch(r'E[A-Z]+', counter):
        yield "'%s' is neither a counter of %s nor an error" % (counter, COUNTERS)
    for reference in (part.strip() for part in tests.split(',')):
        error = check_clauses.check_reference(tree.ROOT, reference)
        if error:
            yield error
            continue
        if not reference.startswith('test/'):
            yield '%s is not a test' % reference
        elif not re.search(r'\b%s\b' % counter, tree.text(reference.partition(':')[0])):
            yield '%s does not look at %s' % (reference.partition(':')[0], counter)


def main():
    known = profile_keys()
    wanted = {key for key in known if key[0] in WHOLE} | set(OTHERS)
    findings, seen = [], set()
    for number, cells in check_clauses.parse_rows(tree.text(TABLE)):
        match = re.fullmatch(r'\[(\w+)\] (\w+)', cells[0])
        if len(cells) != 4 or not match:
            findings.append('%s:%d: not "[section] key" and three cells' % (TABLE, number))
            continue
        if match.groups() in seen:
            findings.append('%s:%d: listed twice' % (TABLE, number))
        seen.add(match.groups())
        findings += ['%s:%d: %s' % (TABLE, number, what)
                     for what in check_row(match.groups(), cells[2], cells[3], known)]
    findings += ['%s: no row for [%s] %s' % ((TABLE,) + key) for key in sorted(wanted - seen)]
    tree.finish(findings, 'A limit is a key, a counter and a test at the limit and one past it.')


if __name__ == '__main__':
    main()
