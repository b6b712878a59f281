#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the same part has the same file name in each driver: an operation of the driver's
table must be defined in the file that PARTS names."""

import pathlib
import re

import tree

PARTS = {
    'dev.c': 'options_check open stop close abandon',
    'domain.c': 'own_domains qp_rkey',
    'memory.c': 'mr_register mr_deregister mw_alloc mw_free',
    'listen.c': 'listen unlisten',
    'cm.c': 'connect accept can_accept reject cm_poll',
    'end.c': 'goodbye has_left disconnect writes_have_ended qp_destroy',
    'post.c': 'post_send',
    'poll.c': 'poll',
    'srq.c': 'post_recv srq_create srq_destroy srq_post_recv srq_post_again',
    'send.c': 'send_direct',
    'rdma.c': 'write_direct read_direct',
    'wake.c': 'wake_attach arm disarm',
}
FILE = {op: name for name, ops in PARTS.items() for op in ops.split()}
NO_FUNCTION = ('name', 'summary', 'is_rdma', 'attr_max')
# A driver whose functions are also in the tables of other drivers, by their prefix.
SHARED = {'verbs_': pathlib.PurePath('drivers/verbs')}
# Rows that several tables share are a macro in a header.
SHARED_ROWS = re.compile(r'^#define (\w+_SHARED_OPS)((?:.*\\\n)+.*)', re.M)
TABLE = re.compile(r'^const struct fabric_ops \w+ = \{$(.*?)^\};$', re.M | re.S)


def defines(path, function):
    return re.search(r'^\w[\w *]*\b%s\([^;{]*\)\n\{' % function, tree.text(path), re.M)


def folder_of(path, function):
    """Returns the folder of the driver that has a function of a table."""
    folders = [folder for prefix, folder in SHARED.items() if function.startswith(prefix)]
    return folders[0] if folders else path.parent


def check(path, ops):
    for op, function in ops:
        if op in NO_FUNCTION:
            continue
        if op not in FILE:
            yield '%s: .%s is of no part: add it to PARTS' % (path, op)
        elif not defines(folder_of(path, function) / FILE[op], function):
            yield '%s: .%s is %s(), which is not in %s' % (path, op, function, FILE[op])


def main():
    findings, found = [], set()
    paths = [path for path in tree.files('.c') if path.parts[0] == 'drivers' and path.parts[2:]]
    shared_rows = {name: rows for path in tree.files('.h') if path.parts[0] == 'drivers'
                   for name, rows in SHARED_ROWS.findall(tree.text(path))}
    for path in paths:
        table = TABLE.search(tree.text(path))
        if table:
            found.add(path.parent)
            rows = table.group(1)
            for name, shared in shared_rows.items():
                rows = rows.replace('\t%s,' % name, shared + ',')
            findings += check(path, re.findall(r'\.(\w+) = (\w+),', rows))
    findings += ['%s: no table of its ops was found' % folder
                 for folder in sorted({path.parent for path in paths} - found)]
    tree.finish(findings, 'Move the function to the file of its part.')


main()
