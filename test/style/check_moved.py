#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the table of moved tests against the tree: each file and test that the table names must
exist."""

import re

import check_security
import tree

TABLE = 'test/moved-tests.rst'
ROW = re.compile(r'test/\S+ +(test/\S+)')             # a row of a simple table
CELL = re.compile(r'     - ``(test/\S+\.(?:c|py):\w+)``') # the second cell of a row in a list


def main():
    findings, count = [], 0
    for number, line in enumerate(tree.text(TABLE).splitlines(), 1):
        match = ROW.fullmatch(line) or CELL.fullmatch(line)
        if match:
            count += 1
            error = check_security.check_test(match.group(1))
            if error:
                findings.append('%s:%d: %s' % (TABLE, number, error))
    if count == 0:
        findings.append('%s: no table' % TABLE)
    tree.finish(findings, 'Name where the test is.')


main()
