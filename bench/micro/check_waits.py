#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the loads of an RPC whose bytes were written by several stores shortly before, and compare
their number with a limit.

A processor can forward the data of one earlier store to a load before the data are in the cache. If
the bytes come from two stores, or from a store and the cache, the load waits until all of them are
in the cache. It then also waits for all earlier stores, some of which may be to cache lines of the
other core. A count of instructions does not show that. Here lackey lists each load and store of the
main program, and the last stores before a load represent those that are not in the cache yet. Loads
and stores of libraries are not included.
"""
import argparse
import collections
import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time

WINDOW = 64 # stores; about the size of a processor's store buffer
CALLS = 200
BASE = 0x108000 # address at which valgrind loads a program
PIPE_BYTES = 1 << 20
FILL_SECONDS = 0.01 # seconds, in which lackey writes less than PIPE_BYTES
# The allowed loads are of arguments of 64 bytes, which are sent as soon as the program has encoded
# them, and of ends of messages that are shorter than 16 bytes.
RPCS = {'null': (6, 64), 'read': (1, 4096), 'write': (3, 4096)} # limit, and size of the calls


def instructions(program):
    """Returns the function and the text of each instruction, by its address."""
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


def blocks(trace):
    """
    Yields the trace in blocks of whole lines. lackey writes each line by a system call of its own.
    A wake-up for each line would cost more than the trace itself, so this function waits until the
    pipe holds many lines.
    """
    rest = b''
    while piece := os.read(trace, PIPE_BYTES):
        whole, newline, part = (rest + piece).rpartition(b'\n')
        yield whole + newline
        rest = part
        if len(piece) < PIPE_BYTES // 2:
            time.sleep(FILL_SECONDS)
    yield rest


def measured_lines(trace, begin, end):
    """
    Yields the lines of those parts of the trace that begin with the line 'begin' and end before the
    line 'end', or with the trace. The rest is most of the trace. It is searched and not split,
    because the program waits while its trace is read, and its connections have deadlines.
    """
    is_inside = False
    for block in blocks(trace):
        block, at = b'\n' + block, 0
        while at >= 0:
            found = block.find(b'\n' + (end if is_inside else begin), at)
            if is_inside:
                yield from block[at:found if found >= 0 else None].splitlines()
            is_inside ^= found >= 0
            at = found


def first_of(known, name):
    """Returns how the line of the first instruction of a function begins."""
    at = [address for address, (function, _) in known.items() if function == name]
    if not at:
        sys.exit(f'the program has no function {name}')
    return b'I  %08x' % (min(at) + BASE)


def waits(trace, known):
    """
    Counts the waits in each call of 'measure', by the addresses of the load and of the store that
    it waits for. Such a call ends when 'prepare' begins, or with the trace. Returns a list with the
    counts of each call.
    """
    begin, end = first_of(known, 'measure'), first_of(known, 'prepare')
    stores, counts, at, found = None, [], None, None
    for line in measured_lines(trace, begin, end):
        if line.startswith(begin):
            stores, found = collections.deque(maxlen=WINDOW), collections.Counter()
            counts.append(found)
        kind = line[:2]
        if kind not in (b'I ', b' L', b' S', b' M'):
            continue
        address, size = line[2:].split(b',')
        address, size = int(address, 16), int(size)
        if kind == b'I ':
            at = address - BASE
            continue
        if at not in known:
            continue
        if kind != b' S':
            for start, length, store in reversed(stores):
                if start < address + size and address < start + length:
                    if start > address or start + length < address + size:
                        found[at, store] += 1
                    break
        if kind != b' L':
            stores.append((address, size, at))
    return counts


def count(program, known):
    """Returns the counts of each workload. One process runs all, because most of the trace is that
    of its start."""
    (first, (_, size)), *others = RPCS.items()
    loads = ['--workload', first, '--size', str(size)]
    for name, (_, size) in others:
        loads += ['--also', f'{name}:{size}']
    reading, writing = os.pipe()
    with contextlib.suppress(OSError): # the user's pipes might exceed the kernel's limit
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    # Fair scheduling lets the threads of the program take turns. Otherwise, on a busy machine, the
    # polling thread would keep valgrind's lock until the control thread misses a connection's
    # deadline.
    with subprocess.Popen(['valgrind', '--tool=lackey', '--fair-sched=try',
                           '--trace-mem=yes', f'--log-fd={writing}',
                           program, '--depth', '32', '--calls', str(CALLS), *loads],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          pass_fds=(writing,)) as running:
        os.close(writing)
        found = waits(reading, known)
        os.close(reading)
        said = running.stderr.read()
    if running.returncode != 0:
        sys.exit(f'{program}: exit {running.returncode}: {said.strip()[-800:]}')
    if len(found) != len(RPCS):
        sys.exit('the program was loaded at an unexpected address, so nothing was counted')
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
    for (name, (allowed, _)), counts in zip(RPCS.items(), count(program, known)):
        found = {pair: times / CALLS for pair, times in counts.items() if times / CALLS > 0.5}
        is_over = len(found) > allowed
        over += is_over
        print(f'{name:8} {len(found)} per call, {allowed} allowed{"  OVER" if is_over else ""}')
        for load_at, store_at in found:
            print('         {} {}  <-  {} {}'.format(*known[load_at], *known[store_at]))
    if over:
        sys.exit('Store what is loaded together by one store, or load it as it was stored.')


if __name__ == '__main__':
    main()
