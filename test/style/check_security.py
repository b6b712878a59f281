#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the table of doc/security.rst against the tree: each class of fault names tests that
exist."""

import re

import check_clauses
import tree

TABLE = 'doc/security.rst'


def rows(text):
    """Returns the rows of the list-table as (line number, cells), without the header. Cells may
    have several lines."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('   * - '):
            found.append((number, [line[7:].strip()]))
        elif line.startswith('     - ') and found:
            found[-1][1].append(line[7:].strip())
        elif line.startswith('       ') and found:
            found[-1][1][-1] += ' ' + line.strip()
    return found[1:]


def check_test(reference):
    """Returns what is wrong with 'file:function', or with a file whose tests all belong to the row,
    or None."""
    if not reference.startswith('test/'):
        return '%s is not a test' % reference
    if ':' in reference:
        return check_clauses.check_reference(tree.ROOT, reference)
    return None if (tree.ROOT / reference).is_file() else 'no file %s' % reference


def main():
    findings = []
    table = rows(tree.text(TABLE))
    for number, cells in table:
        if len(cells) != 3:
            findings.append('%s:%d: not three cells' % (TABLE, number))
            continue
        for reference in re.split(r',\s*', cells[2]):
            error = check_test(reference)
            if error:
                findings.append('%s:%d: %s' % (TABLE, number, error))
    if not table:
        findings.append('%s: no table of faults and their tests' % TABLE)
    tree.finish(findings, 'Name tests that exist, or write them.')


if __name__ == '__main__':
    main()
