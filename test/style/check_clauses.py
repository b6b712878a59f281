#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the tables of clauses in doc/ against the tree: each row names code and tests that
exist."""

import argparse
import pathlib
import re
import sys

# For each table:
# - the form of its row numbers
# - how often its text says MUST, MUST NOT, SHOULD or SHOULD NOT (for RFC 8166 in sections 3.3 to
#   4.6, 6.1 and 8.2.2), so that no row can get lost
# - whether it contains exactly what the text demands: then each row says MUST or SHOULD, and each
#   has code
TABLES = {
    'doc/rfc8166-clauses.rst': (r'\d(\.\d)*-[a-z]', 71, True),
    'doc/version-2-clauses.rst': (r'(V2|RTR) \d+(\.\d)*-[a-z]', 31, False),
}
OPEN = '-'
NOT_YET = 'not yet' # in both columns of a row if a part of a text is not implemented


def parse_rows(text):
    """Returns the rows of the list-table as (line number, cells), without the header. Cells may
    have several lines."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('   * - '):
            rows.append((number, [line[7:].strip()]))
        elif line.startswith('     - ') and rows:
            rows[-1][1].append(line[7:].strip())
        elif line.startswith('       ') and rows:
            rows[-1][1][-1] += ' ' + line.strip()
    return rows[1:]


def defines(path, name):
    """Returns whether the file defines the C or Python function. A C definition starts its line and
    is not a declaration."""
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.py':
        return re.search(r'^\s*def %s\(' % re.escape(name), text, re.M) is not None
    return re.search(r'^\w[^;{}()]*\b%s\([^;{}]*\)\s*\{' % re.escape(name), text, re.M) is not None


def runs(path, name):
    """Returns whether the test is in its file's list, by cmocka's macro or by a macro of the file
    that uses it."""
    text = path.read_text(encoding='utf-8')
    macros = ([r'cmocka_unit_test\w*'] +
              re.findall(r'^#define (\w+)\(name[^)]*\)\s+cmocka_unit_test', text, re.M))
    return re.search(r'\b(?:%s)\(\s*%s\b' % ('|'.join(macros), re.escape(name)), text) is not None


def check_reference(root, reference):
    """Returns what is wrong with 'file:function', or None."""
    name, colon, function = reference.partition(':')
    if not colon or not re.fullmatch(r'\w+', function):
        return "'%s' is not file:function" % reference
    path = root / name
    if not path.is_file():
        return 'no file %s' % name
    if not defines(path, function):
        return 'no function %s in %s' % (function, name)
    if name.startswith('test/') and path.suffix == '.c' and not runs(path, function):
        return '%s in %s is not run' % (function, name)
    return None


def check_row(root, numbering, is_whole, cells):
    """Returns (errors, open columns) of a row."""
    if len(cells) != 4:
        return ['%d cells, not 4' % len(cells)], []
    clause, text, code, test = cells
    errors, opened = [], []
    if not re.fullmatch(numbering, clause):
        errors.append("bad id '%s'" % clause)
    if not text:
        errors.append('asks for nothing')
    if is_whole and not re.search(r'\b(MUST|SHOULD)\b', text):
        errors.append('says neither MUST nor SHOULD')
    if not is_whole and (code, test) == (NOT_YET, NOT_YET):
        return errors, opened
    for column, cell in (('code', code), ('test', test)):
        if cell == OPEN:
            opened.append(column)
            continue
        for reference in (part.strip() for part in cell.split(',')):
            if column == 'test' and not reference.startswith('test/'):
                errors.append('%s is not a test' % reference)
            error = check_reference(root, reference)
            if error:
                errors.append(error)
    return errors, opened


def check_table(root, table):
    """Returns (errors, open cells) of the whole table, as lines of text."""
    numbering, expected, is_whole = TABLES[table]
    text = (root / table).read_text(encoding='utf-8')
    errors, opened, seen, keywords = [], [], set(), 0
    for number, cells in parse_rows(text):
        where = '%s:%d: %s' % (table, number, cells[0])
        row_errors, columns = check_row(root, numbering, is_whole, cells)
        errors += ['%s: %s' % (where, error) for error in row_errors]
        opened += ['%s: %s is open' % (where, column) for column in columns]
        if cells[0] in seen:
            errors.append('%s: listed twice' % where)
        seen.add(cells[0])
        keywords += len(re.findall(r'\b(?:MUST|SHOULD)\b', ' '.join(cells[1:2])))
    if keywords != expected:
        errors.append('%s: %d keywords, where the text has %d' % (table, keywords, expected))
    return errors, opened


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--root', type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2], help='the source tree')
    parser.add_argument('--allow-open', action='store_true',
                        help="list cells of '-' instead of failing")
    args = parser.parse_args()
    errors, opened = [], []
    for table in TABLES:
        table_errors, table_opened = check_table(args.root, table)
        errors += table_errors
        opened += table_opened
    for line in errors + opened:
        print(line)
    return 1 if errors or (opened and not args.allow_open) else 0


if __name__ == '__main__':
    sys.exit(main())
