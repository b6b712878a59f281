#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests telemetry of weir-nfsd in its sandbox, also by dpdk-telemetry.py of Debian's dpdk-dev, if
that is installed. Arguments: weir-nfs and weir-nfsd."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from nfs_tools import Client, Server, unique

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
SCRIPT = shutil.which('dpdk-telemetry.py')
COMMANDS = ['/weir/engines', '/weir/conns', '/weir/memory', '/weir/profile', '/weir/histogram',
            '/weir/calls']


class Telemetry(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = {**os.environ, 'RUNTIME_DIRECTORY': self.folder}
        self.path = os.path.join(self.folder, 'dpdk/rte/dpdk_telemetry.v2')

    def serve(self, telemetry, address='telemetry', env=None):
        address = unique(address)
        profile = os.path.join(self.folder, 'profile.ini')
        with open(profile, 'w', encoding='ascii') as file:
            file.write(f'[engine]\ntelemetry = {telemetry}\nlatency = calls\n')
        server = Server(SERVER, '--listen', address, '--export', '/a=ram:4m', '--profile', profile,
                        '--foreground', '--no-rpcbind', '--state',
                        os.path.join(self.folder, address), ready='export /a handle ',
                        env=env or self.env)
        self.addCleanup(server.stop)
        client = Client(CLIENT, '--server', address, handle=server.line.split()[-1])
        client.ok(self, 'put', __file__, 'a')
        return server

    def ask(self, *requests, path=None):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.settimeout(30)
            sock.connect(path or self.path)
            size = json.loads(sock.recv(1024))['max_output_len']
            answers = []
            for request in requests:
                sock.send(request.encode())
                answers.append(json.loads(sock.recv(size))[request.split(',')[0]])
            return answers

    def test_each_command(self):
        server = self.serve('on')
        engines, _, memory, profile, procedures, calls = self.ask(*COMMANDS)
        (number, engine), = engines.items()
        self.assertEqual((engine['state'], engine['driver']), ('polled', 'shm'))
        self.assertGreater(engine['requests_received'], 5)
        self.assertEqual(memory[number]['state'], 'polled')
        self.assertEqual(profile['engine/telemetry'], 'on')
        self.assertIn('responder/100003/3/7', procedures)
        self.assertEqual((calls['stuck'], calls['engines_not_polled']), (0, 0))
        write, buckets = self.ask('/weir/histogram,responder/100003/3/7',
                                  '/weir/buckets,responder/100003/3/7')
        self.assertGreaterEqual(write['count'], 1)
        self.assertEqual(sum(buckets['buckets'].values()), write['count'])
        server.stop()
        self.assertFalse(os.path.exists(self.path))

    def test_auto_and_off_have_no_socket(self):
        for telemetry in 'auto', 'off':
            self.serve(telemetry)
            self.assertFalse(os.path.exists(self.path))

    def test_without_a_folder_the_server_starts(self):
        self.serve('on', env={**self.env, 'RUNTIME_DIRECTORY': '/proc/none'})

    @unittest.skipUnless(SCRIPT, 'dpdk-telemetry.py is not installed')
    def test_the_script_of_dpdk(self):
        self.serve('on', 'first')
        self.serve('on', 'second')
        for instance in '0', '1':
            done = subprocess.run([SCRIPT, '-i', instance], input='\n'.join(COMMANDS) + '\n',
                                  capture_output=True, text=True, env=self.env, timeout=60,
                                  check=True)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([list(line) for line in lines], [[command] for command in COMMANDS])
            self.assertEqual(lines[3]['/weir/profile']['engine/telemetry'], 'on')
        listed = subprocess.run([SCRIPT, '--list'], capture_output=True, text=True, env=self.env,
                                timeout=60, check=True).stdout
        self.assertIn('dpdk_telemetry.v2:1', listed)


if __name__ == '__main__':
    unittest.main(verbosity=2)
