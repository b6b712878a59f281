#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each test which installs the build, or packs it, depends on all targets that are
installed. Otherwise the test fails in a build that has only the targets of its suite
(tools/suite-targets). Arguments: the build, and its option b_sanitize. An instrumented build is not
installed."""

import json
import pathlib
import subprocess
import sys

import tree

# Words of a test's program, one of which shows that it uses what "meson install" installs.
SIGNS = ("'install', '-C'", 'tools/build-deb', 'import SOURCE, Tree', 'import Tree')


def introspect(build, what):
    return json.loads(subprocess.run(['meson', 'introspect', build, '--' + what], check=True,
                                     stdout=subprocess.PIPE).stdout)


def installs(test):
    """Returns whether one of the programs that a test's command names has one of the signs. The
    checks of the style only read files."""
    paths = [pathlib.Path(word) for word in test['cmd']
             if word.endswith('.py') and pathlib.Path(word).parent.name != 'style']
    return any(sign in path.read_text(encoding='utf-8') for path in paths for sign in SIGNS)


def main():
    build, sanitizers = sys.argv[1:]
    # A target without outputs is not built.
    needed = {target['id']: target['name'] for target in introspect(build, 'targets')
              if target['installed'] and target['filename']}
    tests = [test for test in introspect(build, 'tests') if installs(test)]
    findings = ['the test %s installs the build and does not depend on %s' % (
        test['name'], needed[target]) for test in tests
        for target in sorted(set(needed) - set(test['depends']))]
    if not tests and sanitizers == 'none':
        findings.append('no test installs the build: correct SIGNS in test/style/check_targets.py')
    tree.finish(findings, 'Add the target to installed_targets in test/meson.build, and name '
                'installed_targets in "depends" of the test.')


main()
