#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the models in test/model describe the code of the tree: each function and operation
that a model names must exist, as often as the model names it, and a model must name each function
of the driver shm that orders accesses to memory which two processes share."""

import collections
import re

import tree

FOLDER = 'test/model'
# ' *   FILE: FUNCTION(), FUNCTION()' in the first comment of a model, and
# '#define NAME NUMBER /* FILE: FUNCTION: OPERATION */'. With ', again' after the operation, it is
# the one of an earlier line, which the function does at several places of the model.
CODE = re.compile(r'^ \*   (\S+\.[ch]): (\w+\(\)(?:, \w+\(\))*)$', re.M)
VARIANT = re.compile(r'^#define \w+ \d+\s*/\* (\S+\.[ch]): (\w+): (\w+)(?!, again)\b', re.M)
ORDERS = ('acquire', 'release', 'acq_rel', 'seq_cst')
ORDERED = re.compile(r'memory_order_(?:%s)\b|\batomic_thread_fence\(' % '|'.join(ORDERS))
FUNCTION = re.compile(r'^\w[^;{}()#]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}', re.M | re.S)
# Functions whose order no model describes, with the reason.
OUTSIDE = {
    'drivers/shm/cm_message.c: on_region': 'two threads of one process, which TSan checks',
    'drivers/shm/memory.c: shm_peer_adopt': 'two threads of one process, which TSan checks',
    'drivers/shm/memory.c: take_fresh': 'two threads of one process, which TSan checks',
    'drivers/shm/ring.c: ring_reader_start': 'the socket passes the ring to the writer later',
}


def functions(path):
    """Returns the bodies of the functions that a file defines, by name."""
    return {match.group(1): match.group(2) for match in FUNCTION.finditer(tree.text(path))}


def check_model(path, defined, described):
    """Yields what is wrong with a model. Adds the functions that it describes to 'described', and
    those of further files to 'defined'."""
    text = tree.text(path)
    rows = [((file, name, None), 1) for file, names in CODE.findall(text)
            for name in re.findall(r'\w+', names)]
    rows += collections.Counter(VARIANT.findall(text)).items()
    for (file, name, operation), count in rows:
        described.add('%s: %s' % (file, name))
        if file not in defined:
            defined[file] = functions(file) if (tree.ROOT / file).is_file() else {}
        body = defined.get(file, {}).get(name)
        word = 'memory_order_' + operation if operation in ORDERS else operation
        if body is None:
            yield '%s: %s has no function %s()' % (path, file, name)
        elif word and len(re.findall(r'\b%s\b' % word, body)) < count:
            yield '%s: %s() in %s has fewer than %u of %s' % (path, name, file, count, word)


def main():
    paths = [path for path in tree.files('.c', '.h') if path.parts[:2] == ('drivers', 'shm')]
    defined = {str(path): functions(path) for path in paths}
    described, findings = set(), []
    for path in tree.files('.pml'):
        findings += check_model(path, defined, described)
    for path in paths:
        for name, body in defined[str(path)].items():
            key = '%s: %s' % (path, name)
            if ORDERED.search(body) and key not in described and key not in OUTSIDE:
                findings.append('%s() orders accesses to memory, and no model describes it' % key)
            if key in OUTSIDE and key in described:
                findings.append('%s() is described: remove it from OUTSIDE' % key)
    findings += ['OUTSIDE: there is no %s()' % key for key in OUTSIDE
                 if key.split(': ')[1] not in defined.get(key.split(': ')[0], {})]
    if not described:
        findings.append('%s: no model was found' % FOLDER)
    tree.finish(findings, 'Change the model with the code, and describe the code in it.')


main()
