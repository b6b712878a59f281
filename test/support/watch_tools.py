# SPDX-License-Identifier: BSD-3-Clause
"""The functions that tests of weir-exporter and weir-top share: they run a process to watch. The
path of weir-bench is their first argument."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import types
import unittest

BENCH = os.path.abspath(sys.argv.pop(1))
PROFILE = '[engine]\ntelemetry = on\nlatency = stages\nidle = adaptive\n'
SOCKET = 'dpdk/rte/dpdk_telemetry.v2'
# A test fails after this time. No test measures it.
PATIENCE = 60


def until(what, function, *args):
    """Calls a function until its result is true, and returns the result."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = function(*args)
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError('this did not happen: ' + what)


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = {**os.environ, 'RUNTIME_DIRECTORY': self.folder}
        self.path = os.path.join(self.folder, SOCKET)

    def run_bench(self, *args, profile):
        """Starts weir-bench, which the end of the test kills."""
        name = os.path.join(self.folder, 'profile-%d.ini' % time.monotonic_ns())
        with open(name, 'w', encoding='ascii') as file:
            file.write(profile)
        process = subprocess.Popen([BENCH, '--lcores', 'any', '--quiet', '--profile', name, *args],
                                   env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    def listen(self):
        """Starts a responder in a process without telemetry."""
        address = 'weir-watch-%d-%d' % (os.getpid(), time.monotonic_ns())
        process = self.run_bench('--listen', address, profile='[engine]\nidle = adaptive\n')
        until('weir-bench listens', lambda: address in read('/proc/net/unix'))
        return types.SimpleNamespace(address=address, process=process)

    def start(self, *args, profile=PROFILE, address=None):
        """Starts a requester with few calls per second, and a responder in the same process unless
        'address' names one. Returns the process when its connections are there."""
        where = ['--connect', address] if address else ['--threads']
        process = self.run_bench(*where, '--rate', '200', '--warmup', '0', '--time', '600',
                                 '--workload', 'read', '--size', '4096', '--connections', '2',
                                 *args, profile=profile)
        until('weir-bench has its connections', self.has_connections, process, args,
              1 if address else 2)
        return process

    def has_connections(self, process, args, sides):
        connections = int(args[args.index('--connections') + 1]) if '--connections' in args else 2
        return any(pid == process.pid and answer['total'] == sides * connections
                   for pid, answer in map(self.ask, self.sockets()))

    def ask(self, path):
        """Returns the process that serves a socket, and its connections."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
                sock.settimeout(PATIENCE)
                sock.connect(path)
                pid = json.loads(sock.recv(1024))['pid']
                sock.send(b'/weir/conns')
                return pid, json.loads(sock.recv(1 << 16))['/weir/conns'] or {'total': 0}
        except (OSError, ValueError):
            return 0, None

    def sockets(self):
        folder = os.path.dirname(self.path)
        return [os.path.join(folder, name)
                for name in (os.listdir(folder) if os.path.isdir(folder) else [])
                if name.startswith('dpdk_telemetry')]

    def end(self, process):
        process.kill()
        process.wait()
