#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the conformance tests over a driver on the model of mlx5, and fails unless they skip exactly
the tests of the table below: check_skipped.py [--network] PROGRAM [ARG]... With --network, the
connections go through a network of processes, which has one process here."""

import os
import re
import subprocess
import sys
import tempfile

SENDS_ANSWERED = 'a Send over an RDMA device completes only when the peer has taken the message'
REASONS = {
    'srq__posts_again_what_was_taken': 'drivers/verbs and drivers/mlx5 do not have srq_post_again',
    'deliver__is_behind_completions': SENDS_ANSWERED,
    'deliver__is_behind_what_it_has_completed': SENDS_ANSWERED,
}


def main():
    command, env = sys.argv[1:], dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        if command[0] == '--network':
            env['MLX5_MODEL_NETWORK'] = folder
            del command[0]
        run = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=env)
        left = os.listdir(folder)
    print(run.stdout, end='')
    skipped = set(re.findall(r'^\[  SKIPPED \] (\w+__\w+)$', run.stdout, re.M))
    for test in sorted(skipped & set(REASONS)):
        print('%s is skipped: %s' % (test, REASONS[test]))
    findings = ['%s is skipped, and no reason is known' % test
                for test in sorted(skipped - set(REASONS))]
    findings += ['%s ran, and this file has a reason to skip it' % test
                 for test in sorted(set(REASONS) - skipped)]
    findings += ['%s is left in the folder of the network' % name for name in left]
    print('\n'.join(findings))
    return run.returncode != 0 or bool(findings)


sys.exit(main())
