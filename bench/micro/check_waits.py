#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the loads of an RPC that take what several stores wrote a moment ago, and compare them with
what is allowed.

A processor hands a load what one earlier store has, before that is in the cache. What two stores
have, or one store and the cache, it waits for until all of it is there: behind whatever was stored
before, lines of the other core's among it. No count of instructions shows that. Here lackey lists
each load and store of the main program, and the last stores before a load stand for those that are
not in the cache yet. What libraries load and store is left out.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys

WINDOW = 64 # stores: about what processors hold back
CALLS = 200
BASE = 0x108000 # where valgrind loads a program
# What is left: arguments of 64 bytes, sent as soon as the program has encoded them, and ends of
# messages that are less than 16 bytes.
RPCS = {'null': (6, ['--workload', 'null', '--size', '64']),
        'read': (1, ['--workload', 'read', '--size', '4096']),
        'write': (3, ['--workload', 'write', '--size', '4096'])}


def instructions(program):
    """Each instruction's function and text, by its address."""
    found, function = {}, None
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    for line in text.split('\n'):
        head = re.match(r'[0-9a-f]+ <(.*)>:$', line)
        if head:
            function = head.group(1)
        else:
            at = re.match(r' +([0-9a-f]+):\t(.*)', line)
            if at:
                found[int(at.group(1), 16)] = function, at.group(2).strip()
    return found


def waits(trace, known):
    """
    How often a load, by its address and that of a store that it waits for, does so once 'measure'
    has begun; None if it never does.
    """
    begins = {f'I  {address + BASE:08x}' for address, (function, _) in known.items()
              if function == 'measure'}
    stores, found = collections.deque(maxlen=WINDOW), collections.Counter()
    if not any(line[:11] in begins for line in trace): # most of it is before that
        return None
    at = 0
    for line in trace:
        kind = line[:2]
        if kind not in ('I ', ' L', ' S', ' M'):
            continue
        address, size = line[2:].split(',')
        address, size = int(address, 16), int(size)
        if kind == 'I ':
            at = address - BASE
            continue
        if at not in known:
            continue
        if kind != ' S':
            for begin, length, store in reversed(stores):
                if begin < address + size and address < begin + length:
                    if begin > address or begin + length < address + size:
                        found[at, store] += 1
                    break
        if kind != ' L':
            stores.append((address, size, at))
    return found


def count(program, known, load):
    reading, writing = os.pipe()
    # Threads of the program take turns: the polling one would keep valgrind's lock on a busy
    # machine, until the control thread is too late for a connection.
    with subprocess.Popen(['valgrind', '--tool=lackey', '--fair-sched=try',
                           '--trace-mem=yes', f'--log-fd={writing}',
                           program, '--depth', '32', '--calls', str(CALLS), *load],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          pass_fds=(writing,)) as running:
        os.close(writing)
        with os.fdopen(reading, encoding='utf-8', errors='replace') as trace:
            found = waits(trace, known)
        said = running.stderr.read()
    if running.returncode != 0:
        sys.exit(f'{program}: exit {running.returncode}: {said.strip()[-800:]}')
    if found is None:
        sys.exit('the program is not where it was expected to be loaded: nothing was counted')
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', help='weir-micro-rpc')
    program = parser.parse_args().program
    for tool in ('valgrind', 'objdump'):
        if not shutil.which(tool):
            sys.exit(f'{tool} is not installed: apt-get install '
                     f'{"binutils" if tool == "objdump" else tool}')
    known = instructions(program)
    over = 0
    for name, (allowed, load) in RPCS.items():
        found = {pair: times / CALLS for pair, times in count(program, known, load).items()
                 if times / CALLS > 0.5}
        is_over = len(found) > allowed
        over += is_over
        print(f'{name:8} {len(found)} a call of {allowed} allowed{"  OVER" if is_over else ""}')
        for load_at, store_at in found:
            print('         {} {}  <-  {} {}'.format(*known[load_at], *known[store_at]))
    if over:
        sys.exit('Store what is loaded together by one store, or load it as it was stored.')


if __name__ == '__main__':
    main()
