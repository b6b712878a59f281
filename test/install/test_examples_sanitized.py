#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of a build with sanitizers, which has compiled both weir and the examples with them.
The runs are those of test_examples.py. No sanitizer may report anything. Arguments: the folder of
the programs, and the installed suppressions of ThreadSanitizer."""
import os
import pathlib
import sys
import unittest

from examples import Scenarios

PROGRAMS, SUPPRESSIONS = (pathlib.Path(arg) for arg in sys.argv[1:])


class SanitizedExamples(Scenarios, unittest.TestCase):
    packages = ('weir',)
    env = {'TSAN_OPTIONS': f'{os.environ.get("TSAN_OPTIONS", "")}:suppressions={SUPPRESSIONS}'}

    def path(self, example, package):
        return PROGRAMS / f'example-{example}'


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
