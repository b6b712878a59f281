#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the I/O engine for fio with Debian's fio: verification against NFS and against the block
store, three network namespaces with one server, fio's client and server mode, and errors.
Arguments: weir-fio.so, weir-nfsd and example-blockstore."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from nfs_tools import Server, unique

ENGINE, NFSD, BLOCKSTORE = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]
FIO = shutil.which('fio')
IN_NAMESPACE = ['unshare', '--net']
SKIPPED = 77
DEVICE_BYTES = 1024 * 4096


def free_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


def can_unshare():
    try:
        return subprocess.run([*IN_NAMESPACE, 'true'], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
    except FileNotFoundError:
        return False


class Fio(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def nfs(self, *options):
        """Starts a server. Returns its options for a job. A path as its address is the same in all
        network namespaces."""
        address = self.path('nfs')
        self.server = Server(NFSD, '--listen', address, '--export', '/a=ram:32m', '--foreground',
                             *options, ready='export /a handle ')
        self.addCleanup(lambda: self.server.stop())
        with open(self.path('handle'), 'w', encoding='ascii') as file:
            file.write(self.server.line.split()[-1])
        return {'weir_protocol': 'nfs', 'weir_server': address,
                'weir_handle': '@' + self.path('handle')}

    def block(self):
        address = self.path('block')
        server = Server(BLOCKSTORE, '--listen', address, '--blocks', str(DEVICE_BYTES // 4096),
                        ready='listening')
        self.addCleanup(server.stop)
        return {'weir_protocol': 'block', 'weir_server': address + '.0'}

    def command(self, job, *options):
        job = {'ioengine': 'external:' + ENGINE, 'bs': '4k', 'iodepth': 32, **job}
        return [FIO, '--name=job', *(f'--{key}={value}' for key, value in job.items()), *options]

    def run_fio(self, command):
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd=self.folder, timeout=60)

    def ok(self, job, *options):
        """Runs a job. Returns what fio reports for its first process."""
        report = self.path('report')
        done = self.run_fio(self.command(job, '--output-format=json', '--output=' + report,
                                         *options))
        with open(report, encoding='utf-8') as file:
            text = file.read()
        self.assertEqual(done.returncode, 0, done.stdout + text)
        first, = json.loads(text[text.index('{'):])['jobs'][:1]
        self.assertEqual(first['error'], 0)
        return first

    def fails(self, job, *texts):
        done = self.run_fio(self.command(job))
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for text in texts:
            self.assertIn(text, done.stdout)


class Verification(Fio):
    def check(self, target, job):
        report = self.ok({**target, 'rw': 'randrw', 'verify': 'crc32c', **job})
        self.assertGreater(report['write']['total_ios'], 0)
        # The blocks that were written are read again.
        self.assertGreater(report['read']['total_ios'], report['write']['total_ios'])
        self.assertEqual(report['read']['short_ios'], 0)
        self.assertGreater(report['write']['slat_ns']['N'], 0)

    def test_nfs(self):
        self.check(self.nfs(), {'filename': 'file', 'size': '4m', 'end_fsync': 1})

    def test_nfs_sizes(self):
        self.check(self.nfs(), {'filename': 'file', 'size': '8m', 'bsrange': '512-2m',
                                'bs_unaligned': 1, 'iodepth': 3, 'sync': 1})

    def test_nfs_threads_and_processes(self):
        target = self.nfs()
        job = {'size': '1m', 'numjobs': 3}
        self.check(target, {**job, 'thread': 1})
        self.check(target, job)

    def test_block(self):
        target = self.block()
        self.check(target, {'size': '4m', 'fsync': 16})
        self.check(target, {'bsrange': '4k-1m', 'iodepth': 3, 'thread': 1})

    def test_sizes_come_from_the_server(self):
        target = self.block()
        report = self.ok({**target, 'rw': 'read', 'numjobs': 2})
        self.assertEqual(report['read']['io_bytes'], DEVICE_BYTES)
        target = self.nfs()
        self.ok({**target, 'rw': 'write', 'filename': 'file', 'size': '300k'})
        report = self.ok({**target, 'rw': 'read', 'filename': 'file'})
        self.assertEqual(report['read']['io_bytes'], 300 * 1024)

    def test_wrong_data_are_found(self):
        for target in self.nfs(), self.block():
            job = {**target, 'filename': 'file', 'size': '1m'}
            self.ok({**job, 'rw': 'write', 'verify': 'crc32c', 'do_verify': 0})
            self.ok({**job, 'rw': 'read', 'verify': 'crc32c'})
            self.ok({**job, 'rw': 'write', 'offset': '64k', 'size': '4k'})
            self.fails({**job, 'rw': 'read', 'verify': 'crc32c'}, 'verify: bad')

    def test_trim(self):
        report = self.ok({**self.block(), 'rw': 'randtrim', 'size': '1m'})
        self.assertEqual(report['trim']['total_ios'], 256)

    def test_logs_and_unlink(self):
        job = {**self.nfs(), 'filename': 'file', 'rw': 'randwrite', 'size': '1m'}
        self.ok({**job, 'write_lat_log': 'log', 'unlink': 1})
        with open(self.path('log_clat.1.log'), encoding='ascii') as file:
            self.assertEqual(len(file.readlines()), 256)
        self.fails({**job, 'rw': 'randread'}, 'the server has no such file')

    def test_mount(self):
        port = free_port()
        target = self.nfs('--mount-port', str(port), '--no-rpcbind')
        del target['weir_handle']
        self.ok({**target, 'weir_export': '/a', 'weir_mount_port': port, 'rw': 'write',
                 'size': '64k'})


class Errors(Fio):
    def test_options(self):
        job = {'rw': 'read', 'size': '1m'}
        nfs = self.nfs()
        block = self.block()
        self.fails({**job, 'weir_protocol': 'nfs'}, 'weir_server=HOST')
        self.fails({**job, 'weir_server': 'a'}, 'weir_protocol=nfs')
        self.fails({**job, 'weir_server': 'a', 'weir_protocol': 'smb'}, 'smb')
        self.fails({**job, **nfs, 'rw': 'trim'}, 'has no trim')
        self.fails({**job, **nfs, 'weir_handle': '@/missing'}, 'weir_handle: ')
        self.fails({**job, **nfs, 'weir_profile': '/missing'}, 'weir_profile: ')
        self.fails({**job, **nfs, 'weir_driver': 'none'}, 'the profile is not valid')
        self.fails({**job, **block, 'bs': '512'}, 'multiple of 4096')
        self.fails({**job, **block, 'bs': '2m', 'size': '2m'}, 'at most 1048576')
        self.fails({**job, **block, 'nrfiles': 2}, 'nrfiles')
        self.fails({**job, **block, 'size': '1g'}, 'reduce size=')
        self.fails({**job, **block, 'weir_server': self.path('nobody')}, 'No such file')
        # The NFS server does not offer the program of the block store.
        self.fails({**job, **block, 'weir_server': nfs['weir_server']},
                   'does not answer as a block store')
        self.fails({**job, **nfs, 'filename': 'missing'}, 'the server has no such file')

    def begin(self, job):
        """Starts a job that runs for long, and waits until it has connected. fio runs 'exec_prerun'
        after that."""
        begun = self.path('begun')
        process = subprocess.Popen(self.command({**job, 'rw': 'randrw', 'size': '1m',
                                                 'time_based': 1, 'runtime': 50, 'filename': 'f',
                                                 'write_bw_log': 'log', 'log_avg_msec': 10,
                                                 'per_job_logs': 0, 'eta': 'never',
                                                 'exec_prerun': f'touch {begun}'}),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   stdin=subprocess.DEVNULL, cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        while not os.path.exists(begun):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        time.sleep(0.2)
        return process

    def test_server_that_is_killed(self):
        process = self.begin({**self.nfs(), 'weir_retries': 1})
        self.server.kill()
        out, _ = process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn('weir: the connection was lost', out)

    def test_interrupt_while_the_server_does_not_answer(self):
        process = self.begin(self.nfs())
        self.server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertIn('fio stopped the job, and the server did not answer', out)


class Servers(Fio):
    """fio's client and server mode: a client starts jobs of several servers."""

    def serve(self, address, *before):
        log = self.path(f'log{len(os.listdir(self.folder))}')
        with open(log, 'w', encoding='utf-8') as file:
            process = subprocess.Popen([*before, FIO, '--server=' + address], stdout=file,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def job_file(self, name, job):
        path = self.path(name + '.fio')
        with open(path, 'w', encoding='ascii') as file:
            file.write(f'[{name}]\n')
            for key, value in {'ioengine': 'external:' + ENGINE, 'bs': '4k', 'iodepth': 32,
                               'rw': 'randrw', 'verify': 'crc32c', 'size': '1m', **job}.items():
                file.write(f'{key}={value}\n')
        return path

    def run_client(self, jobs):
        """'jobs' are pairs of an address and a job file. Returns the reports of the jobs."""
        report = self.path('report')
        options = [option for address, path in jobs
                   for option in ('--client=' + address, path)]
        done = self.run_fio([FIO, '--output-format=json', '--output=' + report, *options])
        with open(report, encoding='utf-8') as file:
            text = file.read()
        self.assertEqual(done.returncode, 0, done.stdout + text)
        stats = json.loads(text[text.index('{'):])['client_stats']
        return {stat['jobname']: stat for stat in stats}

    def check(self, stats, names):
        for name in names:
            self.assertEqual(stats[name]['error'], 0)
            self.assertGreater(stats[name]['write']['total_ios'], 0)
            self.assertGreater(stats[name]['read']['total_ios'],
                               stats[name]['write']['total_ios'])

    def test_loopback(self):
        port = free_port()
        process = self.serve(f'ip:127.0.0.1,{port}')
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as sock:
                if sock.connect_ex(('127.0.0.1', port)) == 0:
                    break
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        path = self.job_file('one', self.block())
        self.check(self.run_client([(f'ip:127.0.0.1,{port}', path)]), ['one'])

    def check_namespaces(self, target, **job):
        jobs = []
        for i in range(3):
            address = self.path(f'{target["weir_protocol"]}{i}')
            self.serve('sock:' + address, *IN_NAMESPACE)
            jobs.append(('sock:' + address,
                         self.job_file(f'job{i}', {**target, **job, 'offset': f'{i}m'})))
        deadline = time.monotonic() + 20
        while not all(os.path.exists(address.partition(':')[2]) for address, _ in jobs):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        stats = self.run_client(jobs)
        self.check(stats, ['job0', 'job1', 'job2'])

    @unittest.skipUnless(can_unshare(), 'this user cannot create network namespaces (unshare)')
    def test_three_namespaces(self):
        target = self.nfs()
        self.check_namespaces(target, filename='shared', end_fsync=1)
        report = self.ok({**target, 'filename': 'shared', 'rw': 'read'})
        self.assertEqual(report['read']['io_bytes'], 3 << 20)
        self.check_namespaces(self.block())


if __name__ == '__main__':
    if not FIO:
        print('fio is not installed: apt-get install fio')
        sys.exit(SKIPPED)
    unittest.main()
