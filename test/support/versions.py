# SPDX-License-Identifier: BSD-3-Clause
"""Says whether the build contains version 2 of RPC-over-RDMA. A test that needs it is skipped in
other builds."""
import os
import unittest

VERSION2 = os.environ.get('WEIR_TEST_VERSION2', 'true') == 'true'
needs_version2 = unittest.skipUnless(VERSION2, 'version 2 was left out by -Dversion2=false')
