#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds files of one target that call each other in a circle.

A file calls another if its object has an undefined symbol that the other's object defines. Files in
a circle can only be understood, tested and changed together. Therefore lib must have no circle, and
other folders none of more than three files.

Also finds steps of a call or of a request that call each other, or that call the file that decides
which step is next."""

import collections
import pathlib
import re
import subprocess
import sys

import tree

# Accepted circles of up to three files, with the reason.
WANTED = {
    ('drivers/shm', 'account reap'): 'an account ends with the last close of what its user passed',
    ('drivers/verbs', 'domain memory'): 'a domain registers the memory that the device has',
    ('drivers/verbs', 'qp srq'): 'a queue pair that leaves its receives is freed when these are',
    ('drivers/verbs', 'async cm_event hub'): 'the hub runs the handlers of events, which lock it',
    ('bench/weir-bench', 'load_slot pace'): 'a slot waits for its time, which begins its next call',
    ('apps/weir-decode', 'report_rtr report_v2'): 'messages of the extension are ones of version 2',
}

# The files of the steps in a folder, and the file that calls them, directly or through a table.
STEPS = {
    'lib/requester': ('call', 'call_encode call_send call_read_reply call_complete retransmit '
                      'v2_receive_response v2_reply v2_transmit_request'),
    'lib/responder': ('request', 'request_recv request_chunks request_pull request_args '
                      'request_rpc_header request_drc request_error request_reply request_release '
                      'v2_error v2_items v2_receive_request v2_recv v2_resend '
                      'v2_transmit_response'),
}

DEFINED = 'TDBRVWC'


def folder_of(target):
    """Returns the source folder of a target's objects, or None for tests and generated sources."""
    name = target.name[:-len('.p')]
    if target.parts[0] == 'lib' and name.startswith('libweir_'):
        return 'lib/' + name[len('libweir_'):-len('.a')]
    if target.parts[0] == 'drivers' and name.startswith('libweir_driver_'):
        return 'drivers/' + name[len('libweir_driver_'):-len('.a')]
    return str(target.parent) if target.parts[0] in ('apps', 'bench') else None


def units(build):
    """Returns lists of objects, each with its folder. The libraries of a folder of programs are one
    list, because they are allowed to call each other. Each program of a folder has its own list."""
    found = collections.defaultdict(list)
    for target in sorted(build.glob('**/*.p')):
        target = target.relative_to(build)
        folder = folder_of(target)
        if folder:
            key = folder, '' if target.name.startswith('lib') else target.name
            found[key] += sorted((build / target).glob('*.c.o'))
    return [(folder, objects) for (folder, _), objects in sorted(found.items()) if objects]


def without_objects(found):
    """Yields the folders of lib and drivers that have sources, but of which the build directory has
    no objects. Nothing in them would be checked."""
    folders = {'/'.join(path.parts[:2]) for path in tree.files('.c')
               if path.parts[0] in ('lib', 'drivers') and len(path.parts) > 2}
    for folder in sorted(folders - {folder for folder, _ in found}):
        yield '%s: the build directory has no objects of it: compile it first' % folder


def calls(objects):
    """Returns, for each file, the files of the same target that it calls."""
    defined_in = {}
    wanted_by = collections.defaultdict(set)
    for path in objects:
        name = path.name[:-len('.c.o')]
        out = subprocess.run(['nm', '-P', str(path)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        for line in out.splitlines():
            symbol, kind = line.split()[:2]
            if kind in DEFINED:
                defined_in[symbol] = name
            elif kind == 'U':
                wanted_by[name].add(symbol)
    graph = {path.name[:-len('.c.o')]: set() for path in objects}
    for name, symbols in wanted_by.items():
        graph[name] = {defined_in[s] for s in symbols if defined_in.get(s, name) != name}
    return graph


def reachable(graph, start):
    seen, todo = set(), [start]
    while todo:
        for name in graph[todo.pop()]:
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def circles(graph):
    """Returns sets of files in which each file calls each other one, directly or through others."""
    reach = {name: reachable(graph, name) for name in graph}
    found = set()
    for name in graph:
        if name in reach[name]:
            found.add(frozenset(other for other in reach[name] if name in reach[other]))
    return sorted(sorted(circle) for circle in found)


def check(folder, graph):
    """Yields what is wrong with the circles of a folder."""
    prefix = folder.rsplit('/', 1)[1] + '_'
    wanted = {names for where, names in WANTED if where == folder}
    for circle in circles(graph):
        names = ' '.join(re.sub('^' + prefix, '', name) for name in circle)
        if len(circle) <= 3 and not folder.startswith('lib/') and names in wanted:
            wanted.remove(names)
        else:
            yield '%s: %d files call each other in a circle: %s' % (folder, len(circle), names)
    # A build without version 2 lacks some files.
    files = {re.sub('^' + prefix, '', name) for name in graph}
    for names in sorted(wanted):
        if files.issuperset(names.split()):
            yield '%s: there is no circle of %s: take it out of the list' % (folder, names)


def check_steps(folder, graph):
    """Yields calls from a step to another step or to the file that decides."""
    prefix = folder.rsplit('/', 1)[1] + '_'
    owner, steps = STEPS.get(folder, ('', ''))
    steps = {prefix + name for name in steps.split()}
    for name in sorted(steps & set(graph)):
        for callee in sorted(graph[name] & (steps | {prefix + owner})):
            yield '%s: the step %s calls %s: return a result to %s.c instead' % (
                folder, name[len(prefix):], callee[len(prefix):], owner)


def main():
    found = units(pathlib.Path(sys.argv[1]))
    findings = list(without_objects(found))
    for folder, objects in found:
        graph = calls(objects)
        findings += check(folder, graph)
        findings += check_steps(folder, graph)
    tree.finish(findings, 'In a circle, move what both files need to a file that calls neither.')


main()
