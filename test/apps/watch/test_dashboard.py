#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the dashboard for Grafana: its form, that its metrics are those of weir-exporter, and that
each of its queries has a result when Prometheus reads a live run. Arguments: weir-bench,
weir-exporter and the dashboard."""
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

import jsonschema
from prometheus_client.openmetrics import parser

import watch_tools
from watch_tools import until

EXPORTER, DASHBOARD = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
with open(DASHBOARD, encoding='utf-8') as opened:
    dashboard = json.load(opened)
PANELS = [panel for panel in dashboard['panels'] if panel['type'] != 'row']
QUERIES = [target['expr'] for panel in PANELS for target in panel['targets']]

# The parts of Grafana's model of a dashboard that this one uses (schema version 36, Grafana 9).
DATASOURCE = {
    'type': 'object', 'additionalProperties': False, 'required': ['type', 'uid'],
    'properties': {'type': {'const': 'prometheus'}, 'uid': {'const': '${datasource}'}}}
GRID = {
    'type': 'object', 'additionalProperties': False, 'required': ['h', 'w', 'x', 'y'],
    'properties': {'h': {'type': 'integer', 'minimum': 1},
                   'w': {'type': 'integer', 'minimum': 1, 'maximum': 24},
                   'x': {'type': 'integer', 'minimum': 0, 'maximum': 23},
                   'y': {'type': 'integer', 'minimum': 0}}}
TARGET = {
    'type': 'object', 'additionalProperties': False,
    'required': ['datasource', 'expr', 'refId', 'legendFormat'],
    'properties': {'datasource': DATASOURCE, 'expr': {'type': 'string', 'minLength': 1},
                   'refId': {'type': 'string', 'pattern': '^[A-Z]$'},
                   'legendFormat': {'type': 'string'},
                   'format': {'enum': ['time_series', 'table', 'heatmap']},
                   'editorMode': {'enum': ['code', 'builder']},
                   'instant': {'type': 'boolean'}, 'range': {'type': 'boolean'}}}
PANEL = {
    'type': 'object', 'additionalProperties': False,
    'required': ['id', 'type', 'title', 'gridPos', 'datasource', 'fieldConfig', 'options',
                 'targets'],
    'properties': {
        'id': {'type': 'integer', 'minimum': 1}, 'type': {'enum': ['timeseries', 'stat', 'table']},
        'title': {'type': 'string', 'minLength': 1},
        'description': {'type': 'string', 'minLength': 1},
        'gridPos': GRID, 'datasource': DATASOURCE,
        'targets': {'type': 'array', 'minItems': 1, 'items': TARGET},
        'options': {'type': 'object'}, 'transformations': {'type': 'array'},
        'fieldConfig': {
            'type': 'object', 'additionalProperties': False, 'required': ['defaults', 'overrides'],
            'properties': {
                'overrides': {'type': 'array'},
                'defaults': {
                    'type': 'object', 'additionalProperties': False, 'required': ['unit'],
                    'properties': {
                        'unit': {'enum': ['short', 'reqps', 'ops', 'Bps', 's', 'percentunit']},
                        'min': {'type': 'number'}, 'max': {'type': 'number'},
                        'thresholds': {'type': 'object', 'required': ['mode', 'steps']},
                        'custom': {'type': 'object'}}}}}}}
ROW = {
    'type': 'object', 'additionalProperties': False,
    'required': ['id', 'type', 'title', 'gridPos', 'collapsed', 'panels'],
    'properties': {'id': {'type': 'integer'}, 'type': {'const': 'row'},
                   'title': {'type': 'string', 'minLength': 1}, 'gridPos': GRID,
                   'collapsed': {'const': False}, 'panels': {'maxItems': 0}}}
VARIABLE = {
    'type': 'object', 'required': ['name', 'type', 'query', 'hide', 'refresh'],
    'properties': {'name': {'type': 'string'}, 'type': {'enum': ['datasource', 'query']},
                   'hide': {'enum': [0, 1, 2]}, 'refresh': {'enum': [0, 1, 2]}}}
SCHEMA = {
    'type': 'object',
    'required': ['id', 'uid', 'title', 'schemaVersion', 'version', 'panels', 'templating', 'time',
                 'annotations'],
    'properties': {
        'id': {'type': 'null'}, 'uid': {'type': 'string', 'pattern': '^[a-zA-Z0-9_-]{1,40}$'},
        'title': {'type': 'string'}, 'tags': {'type': 'array', 'items': {'type': 'string'}},
        'schemaVersion': {'const': 36}, 'version': {'type': 'integer'},
        'editable': {'type': 'boolean'}, 'refresh': {'type': 'string'},
        'time': {'type': 'object', 'required': ['from', 'to']},
        'annotations': {'type': 'object', 'required': ['list']},
        'templating': {'type': 'object', 'required': ['list'], 'properties': {
            'list': {'type': 'array', 'items': VARIABLE}}},
        'panels': {'type': 'array', 'minItems': 1, 'items': {
            'if': {'properties': {'type': {'const': 'row'}}}, 'then': ROW, 'else': PANEL}}}}


def names_in(query):
    return set(re.findall(r'\bweir_\w+', query))


def as_promql(query):
    """Returns a query with the values of Grafana's variables."""
    return query.replace('$__rate_interval', '10s').replace('$process', '.*')


class Form(unittest.TestCase):
    def test_the_schema(self):
        jsonschema.Draft202012Validator(SCHEMA).validate(dashboard)

    def test_panels_have_ids_and_places_of_their_own(self):
        ids = [panel['id'] for panel in dashboard['panels']]
        self.assertEqual(len(ids), len(set(ids)))
        places = [panel['gridPos'] for panel in dashboard['panels']]
        for place in places:
            self.assertLessEqual(place['x'] + place['w'], 24)
        for one, other in itertools.combinations(places, 2):
            self.assertTrue(one['x'] + one['w'] <= other['x'] or other['x'] + other['w'] <= one['x']
                            or one['y'] + one['h'] <= other['y']
                            or other['y'] + other['h'] <= one['y'], (one, other))
        for panel in PANELS:
            refs = [target['refId'] for target in panel['targets']]
            self.assertEqual(len(refs), len(set(refs)), panel['title'])

    def test_variables_exist(self):
        known = {variable['name'] for variable in dashboard['templating']['list']}
        text = json.dumps(dashboard)
        used = set(re.findall(r'\$\{?(\w+)', text)) - {'__rate_interval', '__all'}
        self.assertEqual(used, known)
        for query in QUERIES:
            self.assertIn('process=~"$process"', query)

    def test_types_of_panels_are_named_as_required(self):
        required = {entry['id'] for entry in dashboard['__requires'] if entry['type'] == 'panel'}
        self.assertEqual(required, {panel['type'] for panel in PANELS})


class LiveRun(watch_tools.Case):
    def setUp(self):
        super().setUp()
        self.start()
        exporter = subprocess.Popen([EXPORTER, '--listen', '127.0.0.1:0'], env=self.env, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(exporter.stdout.close)
        self.addCleanup(self.end, exporter)
        self.page = re.fullmatch('metrics at (.*)\n', exporter.stdout.readline()).group(1)

    def read_page(self):
        with urllib.request.urlopen(self.page, timeout=60) as answer:
            return answer.read().decode()

    def test_each_metric_is_exported(self):
        until('procedures have times', lambda: 'duration_seconds_count{' in self.read_page())
        exported = {sample.name
                    for family in parser.text_string_to_metric_families(self.read_page())
                    for sample in family.samples}
        # Calls need not wait at this moment.
        exported |= {'weir_waiting_calls', 'weir_waiting_oldest_seconds'}
        self.assertGreater(len(QUERIES), 20)
        for query in QUERIES:
            self.assertTrue(names_in(query))
            self.assertLessEqual(names_in(query), exported)
        for variable in dashboard['templating']['list']:
            if variable['type'] == 'query':
                self.assertLessEqual(names_in(variable['definition']), exported)

    def prometheus(self):
        """Starts Prometheus, which reads the page every second. Returns its address."""
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = server.getsockname()[1]
        config = os.path.join(self.folder, 'prometheus.yml')
        with open(config, 'w', encoding='ascii') as file:
            json.dump({'global': {'scrape_interval': '1s'}, 'scrape_configs': [
                {'job_name': 'weir', 'static_configs': [
                    {'targets': [urllib.parse.urlsplit(self.page).netloc]}]}]}, file)
        process = subprocess.Popen(
            ['prometheus', '--config.file', config, '--web.listen-address', '127.0.0.1:%d' % port,
             '--storage.tsdb.path', os.path.join(self.folder, 'tsdb'), '--log.level', 'error'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return 'http://127.0.0.1:%d' % port

    def test_each_query_has_a_result(self):
        address = self.prometheus()

        def result(query):
            where = address + '/api/v1/query?' + urllib.parse.urlencode({'query': query})
            try:
                with urllib.request.urlopen(where, timeout=60) as answer:
                    return json.load(answer)['data']['result']
            except urllib.error.HTTPError as error:
                if error.code == 503:
                    return []  # Prometheus starts
                raise AssertionError('%s: %s' % (query, error.read())) from error
            except OSError:
                return []  # Prometheus starts

        until('Prometheus reads the page', result, 'rate(weir_polls_total[10s])')
        self.assertEqual([value for target in result('up') for value in target['value'][1:]], ['1'])
        for query in QUERIES:
            with self.subTest(query=query):
                until('a result of ' + query, result, as_promql(query))


if __name__ == '__main__':
    unittest.main(verbosity=2)
