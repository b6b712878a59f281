#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the instructions of each part of the data path, and of whole RPCs, and compare them with
the budget.

The counts come from callgrind. They do not depend on the load of the machine, nor on its CPU,
because the C library is restricted to instructions that all CPUs have. They depend on the compiler
and its options, so only a build with those of the budget is compared.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

OVER = 0.03
ROUNDS = 1000 # the same as in parts.c
CALLS = 3000
RPCS = {'rpc_null_64': ['--workload', 'null', '--size', '64'],
        'rpc_read_4096': ['--workload', 'read', '--size', '4096'],
        'rpc_write_4096': ['--workload', 'write', '--size', '4096'],
        # the data are inline and are copied to their destination
        'rpc_write_256': ['--workload', 'write', '--size', '256'],
        # the data are in a chunk, although they would fit inline
        'rpc_write_1024': ['--workload', 'write', '--size', '1024'],
        # each call waits for a credit
        'rpc_null_64_of_24_credits': ['--workload', 'null', '--size', '64', '--credits', '24'],
        # each call is begun anew instead of reusing the one that ended
        'rpc_null_64_begun': ['--workload', 'null', '--size', '64', '--begin'],
        # the engines measure the times of calls and requests (latency = calls)
        'rpc_null_64_measured': ['--workload', 'null', '--size', '64', '--latency'],
        'rpc_read_4096_measured': ['--workload', 'read', '--size', '4096', '--latency'],
        'rpc_write_4096_measured': ['--workload', 'write', '--size', '4096', '--latency'],
        # These measure how much it costs to find the connections that have a message: one
        # connection among idle ones, or all connections in turn.
        'rpc_null_64_beside_255': ['--workload', 'null', '--size', '64', '--connections', '256'],
        'rpc_null_64_256_in_turn': ['--workload', 'null', '--size', '64', '--connections', '256',
                                    '--in-turn']}
# These CPU features are turned off. Otherwise the C library selects memcpy and memset by the CPU
# and by the features that valgrind reports.
TUNABLES = 'glibc.cpu.hwcaps=' + ','.join(f'-{feature}' for feature in (
    'AVX512F', 'AVX512VL', 'AVX2', 'AVX', 'AVX_Fast_Unaligned_Load', 'ERMS', 'FSRM', 'SSSE3',
    'SSE4_1', 'SSE4_2'))


def callgrind(out, toggle, *command):
    """Returns the output of callgrind, which counts the functions named by 'toggle'."""
    done = subprocess.run(['valgrind', '--tool=callgrind', '--collect-atstart=no',
                           f'--toggle-collect={toggle}', f'--callgrind-out-file={out}', *command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, GLIBC_TUNABLES=TUNABLES), timeout=300)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)}: exit {done.returncode}: {done.stdout.strip()[-800:]}')
    return done.stdout


def count_parts(program, folder):
    """Returns the instructions of each part per round. The key is the name after 'measure_'."""
    out = os.path.join(folder, 'parts')
    callgrind(out, 'measure_*', program)
    text = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', '--auto=no',
                           out],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    counts = {}
    # callgrind_annotate prints a line for each file from which instructions of a function come. The
    # line of the file that defines the function includes all of its instructions.
    for amount, name in re.findall(r'^ *([\d,]+) \([ \d.]+%\)  \S+:measure_(\w+)', text, re.M):
        counts[name] = max(counts.get(name, 0), int(amount.replace(',', '')) / ROUNDS)
    return counts


def count_rpcs(program, folder):
    counts = {}
    for name, load in RPCS.items():
        said = callgrind(os.path.join(folder, name), 'measure', program, '--depth', '32', '--calls',
                         str(CALLS), *load)
        counts[name] = int(re.search(r'Collected : (\d+)', said).group(1)) / CALLS
    return counts


def read_budget(path):
    with open(path, encoding='utf-8') as file:
        return {name: float(amount)
                for name, amount in (line.split() for line in file if line[0] not in '#\n')}


def write_budget(path, counts):
    with open(path, encoding='utf-8') as file:
        head = [line for line in file if line.startswith('#')]
    known = [name for name in read_budget(path) if name in counts]
    order = known + sorted(name for name in counts if name not in known)
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(head)
        file.writelines(f'{name:32} {counts[name]:8.1f}\n' for name in order)


def compare(counts, budget):
    """Prints counts and budget. Returns how many counts are over the budget, or are only in one of
    the two."""
    wrong = 0
    for name in list(budget) + [name for name in counts if name not in budget]:
        allowed, counted = budget.get(name), counts.get(name)
        if allowed is None or counted is None:
            verdict = 'NOT COUNTED' if counted is None else 'NOT IN THE BUDGET'
        elif counted > allowed * (1 + OVER):
            verdict = 'OVER'
        else:
            verdict = 'less: lower the budget' if counted < allowed * (1 - OVER) else ''
        wrong += verdict.isupper()
        print(f'{name:32} {allowed or 0:8.1f} {counted or 0:8.1f}  {verdict}')
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('budget')
    parser.add_argument('parts', help='weir-micro-parts')
    parser.add_argument('rpc', help='weir-micro-rpc')
    parser.add_argument('--update', action='store_true',
                        help='write what was counted to the budget')
    args = parser.parse_args()
    if not shutil.which('valgrind'):
        print('valgrind is not installed: apt-get install valgrind')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        counts = {**count_parts(args.parts, folder), **count_rpcs(args.rpc, folder)}
    if args.update:
        write_budget(args.budget, counts)
    wrong = compare(counts, read_budget(args.budget))
    if wrong:
        print(f'{wrong} over the budget by more than {100 * OVER:.0f} %. If the higher cost '
              'is justified, explain it in the commit message, '
              f'and run {os.path.basename(__file__)} with --update')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
