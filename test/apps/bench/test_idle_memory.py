#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the memory of a connection without calls, for both sides together, with the default
profile. The kernel counts it in pages."""
import os
import sys
import unittest

COMPARE, BENCH = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, os.path.join(os.path.dirname(COMPARE), 'compare_lib'))
sys.dont_write_bytecode = True

import tools # noqa: E402

CONNECTIONS = 256
A_SIDE = 24 * 1024


class IdleMemory(unittest.TestCase):
    def test_an_idle_connection(self):
        bench = os.path.dirname(os.path.dirname(BENCH)) # the folder with weir-bench in it
        found = tools.Tools(os.path.dirname(bench), '0,0', 1).idle_connection_bytes(CONNECTIONS)
        print(f'{found:.0f} bytes of both sides', file=sys.stderr)
        self.assertLessEqual(found, 2 * A_SIDE)


if __name__ == '__main__':
    unittest.main()
