#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sum meson's test logs. Prints what failed, with the end of what it printed, and what passed only
when it was run alone (see tools/run-tests) or at a second attempt of its own. The last line is
'N passed, N failed, N skipped'.

A log is a file of JSON objects, one a line, with 'name' and 'result' (meson-logs/testlog.json). The
exit status is 1 when a test failed, when nothing ran, or when a log is missing or empty: a run that
did not happen is no success."""

import json
import sys

PASSED = {'OK', 'EXPECTEDFAIL'}
SKIPPED = {'SKIP'}
UNSTEADY = 'unsteady: ' # begins a line of a test that passed after a second attempt of its own
LINES = 25 # of a failed test's output that are printed again; the whole is in its log


def read(path):
    """The log's tests as (name, result, what it printed, whether it passed only alone)."""
    try:
        with open(path, encoding='utf-8') as log:
            tests = [json.loads(line) for line in log if line.strip()]
        return [(test['name'], test['result'], test.get('stdout', '') + test.get('stderr', ''),
                 test.get('unsteady', False)) for test in tests]
    except (OSError, ValueError, KeyError) as error:
        return [('%s can\'t be read: %s' % (path, error), 'ERROR', '', False)]


def print_end(output):
    print(''.join('  | %s\n' % line for line in output.splitlines()[-LINES:]), end='')


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        tests = read(path) or [('%s: no test ran' % path, 'ERROR', '', False)]
        for name, result, output, is_unsteady in tests:
            if is_unsteady:
                print('unsteady: %s (%s): failed next to others, passed alone' % (name, path))
                print_end(output)
            if result in PASSED:
                passed += 1
                for line in output.splitlines():
                    if line.startswith(UNSTEADY):
                        print('%s%s (%s): %s' % (UNSTEADY, name, path, line[len(UNSTEADY):]))
            elif result in SKIPPED:
                skipped += 1
            else:
                failed += 1
                print('%s: %s (%s)' % (result, name, path))
                print_end(output)
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
