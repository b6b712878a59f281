#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-bench between two processes over mlx5 and over verbs, on the model of mlx5: each
workload with all data checked, and a process that is killed. No test depends on time."""
import itertools
import json
import os
import signal
import sys
import unittest

from network_tools import ADDRESS, Case
from versions import needs_version2

BENCH = sys.argv.pop(1)
WORKLOADS = ('null', 'echo', 'read', 'write', 'mixed', 'list')
CALLS = 100
PORT = itertools.count(20049)


class Bench(Case):
    driver = ('mlx5',)  # with options of the driver

    def start(self, *options, port=None):
        """Starts a responder. Returns it, and the address at which it listens."""
        address = f'{ADDRESS}:{port or next(PORT)}'
        responder = self.begin(BENCH, '--listen', address, '--verify', *self.common(), *options)
        self.waits(responder, lambda: 'responder on' in self.said(responder))
        return responder, address

    def call(self, address, calls, *options):
        return self.begin(BENCH, '--connect', address, '--verify', '--json', self.path('result'),
                          '--calls', str(calls), *self.common(), *options)

    def common(self):
        return ['--driver', self.driver[0], '--profile', self.profile, '--lcores', 'any',
                *self.driver[1:]]

    def check(self, address, workload, size, *options):
        with self.subTest(workload=workload, size=size):
            self.ends(self.call(address, CALLS, '--depth', '4', '--workload', workload, '--size',
                                size, *options), 0)
            with open(self.path('result'), encoding='utf-8') as file:
                result = json.load(file)
            self.assertEqual((result['driver'], result['mode'], result['calls']),
                             (self.driver[0], 'remote', CALLS))
            self.assertEqual((result['errors'], result['verify_failures']), (0, 0))

    def check_all(self, sizes, *options):
        responder, address = self.start(*options)
        for workload, size in itertools.product(WORKLOADS, sizes):
            if (workload, int(size) > 65536) != ('null', True):
                self.check(address, workload, size, *options)
        self.stop(responder)


class Workloads(Bench):
    def test_each(self):
        self.check_all(('0', '1', '4096', '70001'))

    def test_several_connections(self):
        responder, address = self.start()
        for workload in WORKLOADS:
            self.check(address, workload, '4096', '--connections', '3')
        self.stop(responder)

    def test_pool(self):
        responder, address = self.start('--exposure', 'pool')
        self.check(address, 'mixed', '70001', '--exposure', 'pool')
        self.stop(responder)

    @needs_version2
    def test_by_version_2(self):
        self.check_all(('4096', '70001'), '--protocol', 'v2')

    @needs_version2
    def test_by_the_extension(self):
        self.check_all(('4096', '70001'), '--protocol', 'v2', '--extension', 'all')


class Verbs(Bench):
    driver = ('verbs', '--driver-options', 'direct=off')

    def test_each(self):
        self.check_all(('1', '4096', '70001'))


class Death(Bench):
    def begin_many(self, address):
        """Begins more calls than any test waits for. Returns when the connection is made."""
        requester = self.call(address, 1 << 40, '--depth', '4', '--workload', 'mixed', '--size',
                              '4096')
        self.waits(requester, lambda: 'connected to' in self.said(requester))
        return requester

    def test_the_responder_is_killed(self):
        responder, address = self.start()
        requester = self.begin_many(address)
        responder.kill()
        self.ends(requester, 1)
        self.assertIn('a connection was lost', self.said(requester))
        # Nothing of it is left, so that another one can have its port.
        responder, _ = self.start(port=address.split(':')[1])
        self.check(address, 'echo', '4096')
        self.stop(responder)

    def test_the_responder_is_killed_before_it_answers_a_connection(self):
        responder, address = self.start()
        os.kill(responder.pid, signal.SIGSTOP)
        requester = self.call(address, CALLS)
        # A port and each connection to it have the same name.
        name = f'/{os.stat(self.network).st_ino:x}/{address.split(":")[1]}\n'
        self.waits(requester, lambda: self.sockets(name) == 2)
        responder.kill()
        self.ends(requester, 1)
        self.assertIn('refused', self.said(requester))

    def sockets(self, name):
        with open('/proc/net/unix', encoding='utf-8') as file:
            return sum(line.endswith(name) for line in file)

    def test_the_requester_is_killed(self):
        responder, address = self.start()
        for _ in range(3):
            self.begin_many(address).kill()
        self.check(address, 'echo', '4096')
        self.stop(responder)

    def test_nobody_listens(self):
        requester = self.call(f'{ADDRESS}:1', CALLS)
        self.ends(requester, 1)
        self.assertIn('refused', self.said(requester))


if __name__ == '__main__':
    unittest.main(verbosity=1)
