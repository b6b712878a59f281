#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests captures of programs. tshark, which weir's authors did not write, must match each call with
its reply, and find no malformed frame. Arguments: weir-bench, weir-nfs, weir-nfsd, and the test
program that captures a pair over any driver."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from nfs_tools import Client, Server, unique

BENCH, NFS, NFSD, PAIR = map(os.path.abspath, sys.argv[1:5])
del sys.argv[1:5]
SKIPPED = 77
FIELDS = ['frame.number', 'frame.protocols', 'infiniband.bth.opcode', 'rpc.msgtyp', 'rpc.repframe',
          'rpc.reqframe', 'rpcordma.msg_type', 'nfs.procedure_v3', '_ws.malformed', 'ip.src']
WORKLOADS = ['null', 'echo', 'read', 'write', 'mixed', 'list']
CALLS = 60
READ_REQUEST, WRITE_FIRST = '12', '6'


def tshark(path):
    """Returns the fields of each frame, in two passes: a reply shows where a call's Write chunks
    are."""
    command = ['tshark', '-2', '-n', '-o', 'rpc.dissect_unknown_programs:TRUE', '-r', str(path),
               '-T', 'fields', '-E', 'separator=|', '-E', 'occurrence=f']
    for field in FIELDS:
        command += ['-e', field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [dict(zip(FIELDS, line.split('|'))) for line in done.stdout.splitlines()]


def blocks(path):
    """Yields the type and the content of each block of a pcapng file."""
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from('=II', data, at)
        assert length >= 12 and struct.unpack_from('=I', data, at + length - 4)[0] == length
        yield kind, data[at + 8:at + length - 4]
        at += length
    assert at == len(data)


def frames(path):
    """Yields each frame, and its length before it was cut off."""
    for kind, content in blocks(path):
        if kind == 6:
            kept, length = struct.unpack_from('=II', content, 12)
            yield content[20:20 + kept], length


def dropped(path):
    """Returns the number of dropped records, which the last block has."""
    kind, content = list(blocks(path))[-1]
    assert kind == 5, kind
    at = 12
    while at < len(content):
        code, length = struct.unpack_from('=HH', content, at)
        if code == 5:
            return struct.unpack_from('=Q', content, at + 4)[0]
        at += 4 + (length + 3) // 4 * 4
    raise AssertionError('the file does not say how many records were dropped')


def has_valid_icrc(frame):
    masked = bytearray(frame[14:-4])
    for at in 1, 8, 10, 11, 26, 27, 32:
        masked[at] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked))) == frame[-4:]


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, 'capture.pcapng')

    def bench(self, *args, status=0, **options):
        done = subprocess.run([BENCH, '--quiet', '--lcores', 'any', *args], capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
                              **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def check(self, path, ncalls=None):
        """Checks that tshark understands a capture completely. Returns the frames."""
        self.assertEqual(dropped(path), 0)
        shown = tshark(path)
        calls = [frame for frame in shown if frame['rpc.msgtyp'] == '0']
        replies = [frame for frame in shown if frame['rpc.msgtyp'] == '1']
        for frame in shown:
            self.assertNotIn('_ws.malformed', frame['frame.protocols'].split(':'), frame)
            self.assertEqual(frame['_ws.malformed'], '', frame)
        for frame in calls: # this field of a call is the number of its reply's frame
            self.assertNotEqual(frame['rpc.reqframe'], '', frame)
        for frame in replies:
            self.assertNotEqual(frame['rpc.repframe'], '', frame)
        self.assertEqual(len(calls), len(replies))
        if ncalls is not None:
            self.assertEqual(len(calls), ncalls)
        messages = [frame for frame in shown if frame['rpcordma.msg_type']]
        self.assertEqual(len(messages), 2 * len(calls))
        for frame, length in frames(path):
            self.assertEqual(len(frame), length)
            self.assertTrue(has_valid_icrc(frame))
        return shown


class Bench(Base):
    def test_each_workload(self):
        for workload in WORKLOADS:
            with self.subTest(workload=workload):
                path = os.path.join(self.folder, f'{workload}.pcapng')
                said = self.bench('--workload', workload, '--size', '64,20000', '--calls',
                                  str(CALLS), '--depth', '4', '--connections', '2', '--capture',
                                  path)
                self.assertIn(f'{path}: ', said)
                self.assertIn(' frames of 4 connections, ', said)
                shown = self.check(path, 2 * CALLS)
                opcodes = [frame['infiniband.bth.opcode'] for frame in shown]
                self.assertEqual(opcodes.count('100'), 4 * 4) # set-up and end
                if workload in ('write', 'echo', 'null'):
                    self.assertIn(READ_REQUEST, opcodes)
                if workload in ('read', 'list', 'echo'):
                    self.assertIn(WRITE_FIRST, opcodes)

    def test_threads_and_several_runs(self):
        self.bench('--threads', '--workload', 'mixed', '--size', '512,9000', '--calls', str(CALLS),
                   '--capture', self.path)
        self.check(self.path, 2 * CALLS)

    def test_requester_has_all_messages(self):
        address = unique('capture')
        with subprocess.Popen([BENCH, '--listen', address, '--lcores', 'any', '--size', '9000'],
                              stderr=subprocess.PIPE, text=True) as server:
            for line in server.stderr:
                if 'end it with' in line:
                    break
            self.bench('--connect', address, '--workload', 'read', '--size', '9000', '--calls',
                       str(CALLS), '--capture', self.path)
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=20)
        shown = self.check(self.path, CALLS)
        self.assertNotIn(WRITE_FIRST, [frame['infiniband.bth.opcode'] for frame in shown])

    def test_pairs_over_each_driver(self):
        for args in ['shm'], ['shared', 'shm'], ['shm/window'], ['sim', '1', '1'], ['sim/pool']:
            with self.subTest(args=args):
                folder = tempfile.mkdtemp(dir=self.folder)
                subprocess.run([PAIR, *args], check=True, capture_output=True, timeout=120,
                               env={**os.environ, 'WEIR_CAPTURE_FOLDER': folder})
                path, = pathlib.Path(folder).iterdir()
                shown = tshark(path)
                self.assertEqual([frame for frame in shown if frame['_ws.malformed']], [])
                for frame, _ in frames(path):
                    self.assertTrue(has_valid_icrc(frame))
                # The requester's connection has no RDMA operations, so that tshark cannot complete
                # its calls with Read chunks. That of the responder has all.
                calls = [frame for frame in shown if frame['rpc.msgtyp'] == '0']
                replies = [frame for frame in shown if frame['rpc.repframe']]
                self.assertEqual([frame for frame in calls if not frame['rpc.reqframe']], [])
                self.assertGreaterEqual(len(replies), 17)

    def test_payload_is_cut_off(self):
        self.bench('--workload', 'read', '--size', '20000', '--calls', '20', '--capture', self.path,
                   '--payload-bytes', '200')
        lengths = [(len(frame), length) for frame, length in frames(self.path)]
        self.assertIn(4170, [length for _, length in lengths])
        self.assertLess(max(kept for kept, _ in lengths), 200 + 323)
        shown = tshark(self.path)
        self.assertEqual(len([frame for frame in shown if frame['rpc.repframe']]), 20)
        self.assertEqual([frame for frame in shown if frame['_ws.malformed']], [])

    def test_limits(self):
        said = self.bench('--workload', 'read', '--size', '20000', '--calls', '200', '--capture',
                          self.path, '--capture-bytes', '100k')
        self.assertIn('until --capture-bytes', said)
        self.assertGreater(os.path.getsize(self.path), 60000)
        self.assertLessEqual(os.path.getsize(self.path), 100 * 1024)
        tshark(self.path)
        path = os.path.join(self.folder, 'seconds.pcapng')
        said = self.bench('--workload', 'null', '--rate', '100', '--time', '2', '--warmup', '0',
                          '--capture', path, '--capture-seconds', '1')
        self.assertIn('until --capture-seconds', said)
        tshark(path)

    def test_load_that_fills_the_ring(self):
        said = self.bench('--workload', 'read', '--size', '1m', '--depth', '8', '--time', '1',
                          '--warmup', '0', '--capture', self.path, '--capture-bytes', '4g')
        lost = dropped(self.path)
        self.assertEqual(lost > 0, 'were dropped' in said, (lost, said))
        for frame, length in frames(self.path):
            self.assertEqual(len(frame), length)

    def test_options_that_are_wrong(self):
        for text, *args in (('expected the name', '--capture', ''),
                            ('give both', '--payload-bytes', '10'),
                            ('give both', '--capture-bytes', '10m'),
                            ('--capture-bytes', '--capture', self.path, '--capture-bytes', '4095'),
                            ('--capture-seconds', '--capture', self.path, '--capture-seconds', '0'),
                            ('--payload-bytes', '--capture', self.path, '--payload-bytes', '0')):
            self.assertIn(text, self.bench(*args, status=2))
        self.assertFalse(os.path.exists(self.path))

    def test_files_that_cannot_be_created(self):
        self.assertIn('does not exist: create it',
                      self.bench('--calls', '1', '--capture', '/none/x.pcapng', status=1))
        pathlib.Path(self.path).write_text('precious', encoding='ascii')
        self.assertIn('exists: choose another name',
                      self.bench('--calls', '1', '--capture', self.path, status=1))
        os.symlink('/etc/hostname', self.path + '.link')
        self.assertIn('exists', self.bench('--calls', '1', '--capture', self.path + '.link',
                                           status=1))
        self.assertEqual(pathlib.Path(self.path).read_text(encoding='ascii'), 'precious')

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which('unshare'), 'mounts need root')
    def test_full_disk(self):
        """The load goes on, and the program reports that the file is not complete."""
        script = ('mount -t tmpfs -o size=256k none "$1" && shift && '
                  '"$@" --capture "$0/capture.pcapng"; status=$?; '
                  'cp "$0/capture.pcapng" "$0.copy"; exit $status')
        mount = os.path.join(self.folder, 'full')
        os.mkdir(mount)
        done = subprocess.run(['unshare', '--mount', 'sh', '-c', script, mount, mount, BENCH,
                               '--quiet', '--lcores', 'any', '--workload', 'read', '--size',
                               '20000', '--calls', '400'], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('No space left on device', done.stderr)
        self.assertIn('the file is not complete', done.stderr)
        self.assertIn('errors 0', done.stdout)
        # The report names what the file has, and not what was in a buffer. The writer writes 256
        # KiB at a time, of which the last does not fit.
        length = os.path.getsize(mount + '.copy')
        self.assertGreater(length, 100000)
        self.assertIn(f' {length} bytes', done.stderr)

    def test_signal_completes_the_file(self):
        for number in signal.SIGINT, signal.SIGTERM:
            path = f'{self.path}.{number}'
            with subprocess.Popen([BENCH, '--quiet', '--lcores', 'any', '--rate', '1000', '--time',
                                   '60', '--warmup', '0', '--capture', path],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as bench:
                while not os.path.exists(path) or os.path.getsize(path) < 20000:
                    self.assertIsNone(bench.poll())
                bench.send_signal(number)
                said = bench.communicate(timeout=60)[1]
            self.assertIn(f'{path}: ', said)
            self.check(path)


class Nfs(Base):
    def serve(self, *args, **options):
        address = unique('capture')
        server = Server(NFSD, '--listen', address, '--export', '/a=ram:64m', '--foreground',
                        '--no-rpcbind', '--state', os.path.join(self.folder, 'state'), *args,
                        ready='export /a handle ', **options)
        self.addCleanup(server.stop)
        return server, Client(NFS, '--server', address, handle=server.line.split()[-1])

    def load(self, client):
        big = os.path.join(self.folder, 'big')
        pathlib.Path(big).write_bytes(os.urandom(1000000))
        client.ok(self, 'mkdir', 'd')
        client.ok(self, 'put', big, 'd/big')
        self.assertEqual(client.ok(self, 'cat', 'd/big'), pathlib.Path(big).read_bytes())
        for i in range(6):
            client.ok(self, 'put', __file__, f'd/a-name-that-fills-the-list-{i}')
        client.ok(self, 'ls', '-l', 'd')
        client.fails(self, 1, 'no such file', 'cat', 'd/none')
        client.ok(self, 'rm', 'd/big')

    def check_nfs(self, path):
        procedures = {frame['nfs.procedure_v3'] for frame in self.check(path)}
        self.assertLessEqual({'3', '6', '7', '8', '9', '12', '17'}, procedures)

    def test_session_over_shm(self):
        server, client = self.serve('--capture', self.path)
        self.load(client)
        server.stop()
        self.check_nfs(self.path)

    def ask(self, request):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.settimeout(30)
            sock.connect(os.path.join(self.folder, 'dpdk/rte/dpdk_telemetry.v2'))
            size = json.loads(sock.recv(1024))['max_output_len']
            sock.send(request.encode())
            return json.loads(sock.recv(size))[request.split(',')[0]]

    def test_command_of_telemetry(self):
        profile = os.path.join(self.folder, 'profile.ini')
        pathlib.Path(profile).write_text('[engine]\ntelemetry = on\n', encoding='ascii')
        _, client = self.serve('--profile', profile,
                               env={**os.environ, 'RUNTIME_DIRECTORY': self.folder})
        start = f'/weir/capture,start,{self.path}'
        for request, error in (('/weir/capture', 'there is no capture'),
                               ('/weir/capture,stop', 'there is no capture'),
                               ('/weir/capture,go', 'is not a parameter'),
                               ('/weir/capture,start,x', 'absolute path'),
                               ('/weir/capture,start,', 'absolute path'),
                               ('/weir/capture,start,/none/x', 'the folder of /none/x does not'),
                               (start + ',bytes=x', "'bytes=x' is not a parameter"),
                               (start + ',side=left', "'side=left' is not a parameter")):
            self.assertIn(error, self.ask(request)['error'], request)
        self.assertEqual(self.ask(start + ',bytes=50000000,seconds=100,side=responder'),
                         {'state': 'running', 'engines_not_polled': 0, 'engines_without_memory': 0})
        self.assertIn('there is a capture already', self.ask(start)['error'])
        self.load(client)
        self.assertEqual(self.ask('/weir/capture')['state'], 'running')
        stopped = self.ask('/weir/capture,stop')
        self.assertEqual((stopped['state'], stopped['dropped']), ('stopped', 0))
        self.assertEqual(stopped['bytes'], os.path.getsize(self.path))
        self.check_nfs(self.path)
        self.assertIn('exists: choose another name', self.ask(start)['error'])
        path = self.path + '.2'
        self.ask(f'/weir/capture,start,{path},bytes=20000,payload=300')
        for _ in range(10):
            client.ok(self, 'put', __file__, 'd/again')
        self.assertEqual(self.ask('/weir/capture')['state'],
                         'ended at the largest length of its file')
        self.assertLessEqual(os.path.getsize(path), 20000)
        self.ask('/weir/capture,stop')


if __name__ == '__main__':
    if not shutil.which('tshark'):
        print('tshark is missing: apt-get install --no-install-recommends tshark')
        sys.exit(SKIPPED)
    unittest.main()
