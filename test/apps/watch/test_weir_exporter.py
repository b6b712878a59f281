#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-exporter, with weir-bench as the process, promtool, and the parsers of Prometheus'
client for Python. Arguments: weir-bench and weir-exporter."""
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from prometheus_client import parser as prometheus_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

import watch_tools
from watch_tools import until

EXPORTER = os.path.abspath(sys.argv.pop(1))
OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'
# The header of Prometheus 2.42.
ACCEPT = ('application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;'
          'q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1')
TIMES = 'weir_rpc_duration_seconds'


class Exporter(watch_tools.Case):
    def export(self, *args, env=None):
        process = subprocess.Popen([EXPORTER, '--listen', '127.0.0.1:0', *args],
                                   env=env or self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_exporter, process)
        line = process.stdout.readline()
        self.port = int(re.fullmatch(r'metrics at http://127\.0\.0\.1:(\d+)/metrics\n',
                                     line).group(1))
        return process

    def end_exporter(self, process):
        process.kill()
        process.communicate()

    def request(self, method='GET', path='/metrics', body=None, **headers):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def families(self):
        status, headers, text = self.request()
        self.assertEqual((status, headers['Content-Type']), (200, OPENMETRICS))
        self.assertTrue(text.endswith('\n# EOF\n'))
        return {family.name: family
                for family in openmetrics_parser.text_string_to_metric_families(text)}

    def has_times(self):
        return self.families()[TIMES].samples

    def value(self, families, family, **labels):
        values = [sample.value for sample in families[family].samples
                  if labels.items() <= sample.labels.items()]
        self.assertEqual(len(values), 1, (family, labels, families[family].samples))
        return values[0]

    def test_a_live_run_as_openmetrics(self):
        process = self.start()
        self.export()
        until('procedures have times', self.has_times)
        families = self.families()
        self.assertEqual(self.value(families, 'weir_up', process='rte'), 1)
        self.assertEqual(self.value(families, 'weir_process', pid=str(process.pid)), 1)
        self.assertEqual(self.value(families, 'weir_read_partial'), 0)
        for engine in '1', '2':
            labels = {'process': 'rte', 'engine': engine}
            self.assertEqual(self.value(families, 'weir_engine_polled', **labels), 1)
            self.assertEqual(self.value(families, 'weir_connections', **labels), 2)
            self.assertGreater(self.value(families, 'weir_polls', **labels), 0)
            self.assertGreater(self.value(families, 'weir_message_sent_bytes', **labels), 0)
        self.assertEqual(families['weir_polls'].type, 'counter')
        self.assertEqual(families['weir_connections'].type, 'gauge')
        self.assertEqual(families['weir_message_sent_bytes'].unit, 'bytes')
        self.assertEqual(families['weir_pulling_bytes'].unit, 'bytes')
        self.assertEqual({sample.labels['side']
                          for sample in families['weir_connection_open'].samples},
                         {'requester', 'responder'})
        self.assertEqual(len(families['weir_connection_calls'].samples), 4)
        self.assertEqual(self.value(families, 'weir_connections_unlisted'), 0)

    def test_times_are_histograms_and_stages_are_summaries(self):
        self.start()
        self.export()
        until('procedures have times', self.has_times)
        families = self.families()
        times = families[TIMES]
        self.assertEqual((times.type, times.unit), ('histogram', 'seconds'))
        # The parser has checked that buckets are cumulative, and that the last one is the count.
        for side in 'requester', 'responder':
            labels = [sample.labels for sample in times.samples
                      if sample.name.endswith('_bucket') and sample.labels['side'] == side]
            self.assertEqual(len(labels), 52)
            self.assertEqual(labels[0]['le'], '1.023e-06')
            self.assertEqual(labels[-1]['le'], '+Inf')
        stages = families['weir_rpc_stage_seconds']
        self.assertEqual(stages.type, 'summary')
        sums = {name: sum(sample.value for sample in stages.samples
                          if sample.labels['side'] == 'requester' and sample.name.endswith(name))
                for name in ('_count', '_sum')}
        self.assertGreater(sums['_count'], 0)
        self.assertGreater(sums['_sum'], 0)
        self.assertEqual({sample.labels['stage'] for sample in stages.samples},
                         {'queued', 'sent', 'pulled', 'handled', 'pushed', 'replied'})

    def test_counters_grow(self):
        self.start()
        self.export()
        until('procedures have times', self.has_times)
        before = self.families()
        labels = {'process': 'rte', 'engine': '1'}
        until('a counter grows', lambda: self.value(self.families(), 'weir_polls', **labels) >
              self.value(before, 'weir_polls', **labels))

    def test_the_text_format_of_prometheus(self):
        self.start()
        self.export()
        until('procedures have times', self.has_times)
        status, headers, text = self.request(Accept='text/plain')
        self.assertEqual((status, headers['Content-Type']), (200, PROMETHEUS))
        self.assertNotIn('# EOF', text)
        self.assertNotIn('# UNIT', text)
        families = {family.name: family for family in
                    prometheus_parser.text_string_to_metric_families(text)}
        self.assertEqual(families['weir_polls'].type, 'counter')
        self.assertIn('# TYPE weir_polls_total counter', text)
        self.assertIn('# TYPE weir_process_info gauge', text)
        self.assertGreater(len(families[TIMES].samples), 100)
        promtool = shutil.which('promtool')
        self.assertTrue(promtool, 'promtool is in the package prometheus')
        done = subprocess.run([promtool, 'check', 'metrics'], input=text, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))

    def test_both_formats_have_the_same_samples(self):
        self.start()
        self.export()
        until('procedures have times', self.has_times)
        names = [{re.match('[^ ]+', line).group() for line in self.request(**headers)[2].split('\n')
                  if re.match('weir_', line) and 'waiting' not in line and 'stage' not in line}
                 for headers in ({}, {'Accept': 'text/plain'})]
        self.assertEqual(*names)

    def test_the_header_accept(self):
        self.export()
        for accept, wanted in ((ACCEPT, OPENMETRICS), ('*/*', OPENMETRICS),
                               ('text/plain', PROMETHEUS), ('text/*', PROMETHEUS),
                               ('text/plain;q=0.9, application/openmetrics-text;q=0.1',
                                PROMETHEUS)):
            with self.subTest(accept=accept):
                headers = self.request(Accept=accept)[1]
                self.assertEqual((headers['Content-Type'], headers['Vary']), (wanted, 'Accept'))

    def test_requests_for_something_else(self):
        self.export()
        self.assertEqual(self.request(path='/')[0], 200)
        self.assertEqual(self.request(path='/other')[0], 404)
        self.assertEqual(self.request(path='/metrics/../etc')[0], 404)
        self.assertEqual(self.request(method='HEAD')[0], 200)
        for method in 'POST', 'PUT', 'DELETE':
            status, headers, _ = self.request(method=method, body='x' * 100000)
            self.assertEqual((status, headers['Allow']), (405, 'GET, HEAD'))
        self.assertEqual(self.request(path='/' + 'a' * 100000)[0], 414)

    def test_requests_that_are_malformed_or_unfinished(self):
        self.export()
        idle = []
        for text in b'\0' * 100, b'GET /metrics HTT', b'nonsense\r\n\r\n', b'':
            idle.append(socket.create_connection(('127.0.0.1', self.port)))
            self.addCleanup(idle[-1].close)
            idle[-1].sendall(text)
        self.assertEqual(self.request()[0], 200)

    def test_clients_from_one_address(self):
        self.export()
        clients = []
        for _ in range(17):
            clients.append(socket.create_connection(('127.0.0.1', self.port), timeout=60))
            self.addCleanup(clients[-1].close)
        self.assertEqual(clients[-1].recv(1), b'')
        for client in clients[:-1]:
            client.setblocking(False)
            self.assertRaises(BlockingIOError, client.recv, 1)
        other = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60,
                                           source_address=('127.0.0.2', 0))
        self.addCleanup(other.close)
        other.request('GET', '/metrics')
        self.assertEqual(other.getresponse().status, 200)

    def test_without_processes(self):
        process = self.export()
        families = self.families()
        self.assertEqual(families['weir_up'].samples, [])
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertIn('no process has a telemetry socket below', said)

    def test_a_process_that_ends(self):
        process = self.start()
        self.export()
        until('procedures have times', self.has_times)
        self.end(process)
        # The process was killed, so that its socket remains.
        families = self.families()
        self.assertEqual(self.value(families, 'weir_up', process='rte'), 0)
        self.assertEqual(families['weir_polls'].samples, [])
        self.assertEqual(families[TIMES].samples, [])

    def test_several_processes_and_limits(self):
        self.start()
        self.start()
        self.export('--connections', '1')
        until('both are up', lambda: [sample.value for sample in
                                      self.families()['weir_up'].samples] == [1, 1])
        until('there are connections',
              lambda: len(self.families()['weir_connection_open'].samples) == 2)
        families = self.families()
        self.assertEqual({sample.labels['process'] for sample in families['weir_polls'].samples},
                         {'rte', 'rte:1'})
        until('two sides of two connections',
              lambda: self.value(self.families(), 'weir_connections_unlisted',
                                 process='rte:1') == 3)

    def test_one_prefix_and_one_socket(self):
        self.start()
        self.export('--prefix', 'other')
        self.assertEqual(self.families()['weir_up'].samples, [])
        self.export('--prefix', 'rte')
        self.assertEqual(self.value(self.families(), 'weir_up', process='rte'), 1)
        self.export('--folder', os.path.join(self.folder, 'dpdk'),
                    env={**os.environ, 'RUNTIME_DIRECTORY': '/none'})
        self.assertEqual(self.value(self.families(), 'weir_up', process='rte'), 1)
        self.export('--socket', self.path, env={**os.environ, 'RUNTIME_DIRECTORY': '/none'})
        self.assertEqual(self.value(self.families(), 'weir_up', process=self.path), 1)
        self.export('--socket', self.path + 'x')
        self.assertEqual(self.value(self.families(), 'weir_up', process=self.path + 'x'), 0)
        self.export('--socket', b'/none/\xff\n')
        self.assertEqual(self.value(self.families(), 'weir_up', process='/none/??'), 0)

    def test_profiles_that_measure_nothing(self):
        self.start(profile='[engine]\ntelemetry = on\nlatency = off\n')
        self.export()
        until('both engines are there',
              lambda: len(self.families()['weir_engine_polled'].samples) == 2)
        self.assertEqual(self.families()[TIMES].samples, [])


class CommandLine(watch_tools.Case):
    def fails(self, status, text, *args, env=None):
        done = subprocess.run([EXPORTER, *args], env=env or self.env, capture_output=True,
                              text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
        self.assertIn(text, done.stderr)

    def test_wrong_usage(self):
        for text, *args in (
                ('--help lists the options', '--no-such-option'),
                ("unexpected argument 'x'", 'x'),
                ('numeric address', '--listen', 'localhost:1'),
                ('numeric address', '--listen', '127.0.0.1:65536'),
                ('numeric address', '--listen', ''),
                ('numeric address', '--listen', ':0'),
                ('file prefix', '--prefix', '../x'),
                ('file prefix', '--prefix', ''),
                ('0 to 96', '--connections', '97'),
                ('0 to 96', '--connections', '-1'),
                ('too long', '--socket', 'a' * 200),
                ('--socket excludes', '--socket', '/x', '--prefix', 'rte')):
            with self.subTest(args=args):
                self.fails(2, text, *args)

    def test_a_port_in_use(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            self.fails(1, 'Address already in use: choose another port with --listen', '--listen',
                       '127.0.0.1:%d' % server.getsockname()[1])

    def test_an_address_of_another_machine(self):
        self.fails(1, 'choose an address of this machine', '--listen', '192.0.2.1:9818')

    def test_a_folder_that_cannot_be_read(self):
        self.fails(1, "can't be read: Not a directory", '--folder', __file__)

    def test_output_that_is_closed(self):
        done = subprocess.run([EXPORTER, '--listen', '127.0.0.1:0'], env=self.env,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                              preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output can't be written", done.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
