#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-nfs with servers that break the protocol, or act in valid but rare ways."""
import os
import sys
import tempfile
import unittest

from nfs_tools import LOCAL, NFS, OK, TRANSPORT, Client, Server, unique

CLIENT, WRONG = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
ROOT = '0100000000000000'
SIZE = 300001


def content(size):
    return bytes((i * 7 + i // 256) & 255 for i in range(size))


class Wrong(unittest.TestCase):
    def start(self, *ways, size=SIZE, options=()):
        self.addr = unique('wrong')
        self.server = Server(WRONG, self.addr, str(size), *ways)
        self.addCleanup(self.server.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        return Client(CLIENT, '--driver', 'shm', '--server', self.addr, '--timeout', '20', *options,
                      handle=ROOT)

    def stop(self):
        words = self.server.stop().split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def get(self, client, *options):
        path = os.path.join(self.folder, 'got')
        done = client.run('get', *options, 'file', path)
        self.assertEqual(done.returncode, OK, done.stderr)
        with open(path, 'rb') as file:
            return file.read()

    def nothing_left(self):
        self.assertEqual(os.listdir(self.folder), [])

    def put(self, client, data, *options):
        path = os.path.join(self.folder, 'source')
        with open(path, 'wb') as file:
            file.write(data)
        return client.run('put', *options, path, 'new')


class Reads(Wrong):
    def test_a_good_server_first(self):
        client = self.start()
        self.assertEqual(self.get(client), content(SIZE))
        self.assertEqual(client.ok(self, 'cat', 'file'), content(SIZE))

    def test_short_reads(self):
        client = self.start('short-reads')
        self.assertEqual(self.get(client), content(SIZE))
        self.assertGreaterEqual(self.stop()['reads'], SIZE // 1000)

    def test_sizes_that_are_not_the_files(self):
        for way in ('size-says-0', 'size-says-more', 'size-says-less', 'no-attributes',
                    'fsinfo-zero', 'fsinfo-huge'):
            with self.subTest(way=way):
                client = self.start(way)
                self.assertEqual(self.get(client), content(SIZE))
                self.stop()

    def test_the_end_is_found_by_asking(self):
        client = self.start('end-is-apart')
        self.assertEqual(self.get(client), content(SIZE))

    def test_wrong_counts(self):
        for way in ('count-differs', 'more-than-asked', 'nothing-and-no-end'):
            with self.subTest(way=way):
                client = self.start(way)
                client.fails(self, TRANSPORT, 'file', 'get', 'file', 'got', cwd=self.folder)
                self.nothing_left()
                self.stop()

    def test_an_error_half_way_leaves_nothing(self):
        client = self.start('read-fails-late')
        client.fails(self, NFS, 'get file', 'get', 'file', 'got', cwd=self.folder)
        self.nothing_left()

    def test_an_old_file_stays_when_the_new_one_fails(self):
        client = self.start('read-fails-late')
        path = os.path.join(self.folder, 'got')
        with open(path, 'w') as file:
            file.write('old')
        client.fails(self, NFS, 'get file', 'get', 'file', path)
        self.assertEqual(os.listdir(self.folder), ['got'])
        with open(path) as file:
            self.assertEqual(file.read(), 'old')

    def test_a_server_that_asks_for_patience(self):
        client = self.start('is-slow-at-first')
        self.assertEqual(self.get(client), content(SIZE))

    def test_connections_that_are_lost(self):
        client = self.start('drops', options=('--block', '20000', '--depth', '3'))
        self.assertEqual(self.get(client), content(SIZE))

    def test_connections_that_are_lost_too_often(self):
        client = self.start('drops', options=('--retries', '0'))
        client.fails(self, TRANSPORT, '', 'get', 'file', 'got', cwd=self.folder)
        self.nothing_left()


class Answers(Wrong):
    def test_answers_that_are_none(self):
        for way, text in (('garbage', 'decoded'), ('truncated', 'decoded'),
                          ('unknown-status', 'decoded'), ('fails', 'could not carry'),
                          ('denies', 'credential'), ('version-4', 'not offer NFS version 3')):
            client = self.start(way)
            for command in (('ls',), ('stat', 'file'), ('get', 'file', 'got'),
                            ('put', CLIENT, 'new'), ('rm', 'file'), ('df',), ('mkdir', 'new'),
                            ('bench', '--time', '0.1')):
                with self.subTest(way=way, command=command):
                    client.fails(self, TRANSPORT, text, *command, cwd=self.folder)
            self.nothing_left()
            self.stop()

    def test_a_remove_whose_answer_was_lost(self):
        client = self.start('drops-removes')
        client.ok(self, 'rm', 'file')
        self.assertEqual(self.stop()['removes'], 2)

    def test_a_remove_of_nothing(self):
        client = self.start()
        client.ok(self, 'rm', 'file')
        client.fails(self, NFS, 'rm file', 'rm', 'file')

    def test_a_handle_that_is_stale(self):
        self.start()
        client = Client(CLIENT, '--server', self.addr, handle='ff')
        client.fails(self, NFS, 'stale', 'ls')


class Writes(Wrong):
    def stored(self, client, data, *options):
        done = self.put(client, data, *options)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(client.ok(self, 'cat', 'new'), data)
        return done.stderr.decode()

    def test_short_writes_and_no_attributes(self):
        for way in ('short-writes', 'no-attributes', 'fsinfo-zero', 'fsinfo-huge'):
            with self.subTest(way=way):
                self.stored(self.start(way, size=0), content(SIZE), '--depth', '4')
                self.stop()

    def test_a_server_that_loses_what_was_not_committed(self):
        for way in ('restart-at-commit', 'restart-at-write'):
            with self.subTest(way=way):
                client = self.start(way, size=0)
                self.assertIn('sending again', self.stored(client, content(SIZE)))
                counts = self.stop()
                self.assertGreater(counts['writes'], 5)

    def test_a_server_that_never_keeps_it(self):
        done = self.put(self.start('restart-always', size=0), content(SIZE))
        self.assertEqual(done.returncode, NFS)
        self.assertEqual(self.stop()['commits'], 5)

    def test_sync_needs_no_commit(self):
        client = self.start('restart-at-commit', size=0)
        self.stored(client, content(SIZE), '--sync')
        self.assertEqual(self.stop()['commits'], 0)

    def test_standard_input_is_written_for_good(self):
        client = self.start(size=0)
        client.ok(self, 'put', '-', 'new', data=content(SIZE))
        self.assertEqual(client.ok(self, 'cat', 'new'), content(SIZE))
        self.assertEqual(self.stop()['commits'], 0)

    def test_wrong_answers(self):
        for way, options in (('writes-more', ()), ('writes-nothing', ()),
                             ('less-stable', ('--sync',))):
            with self.subTest(way=way):
                done = self.put(self.start(way, size=0), content(1000), *options)
                self.assertEqual(done.returncode, TRANSPORT, done.stderr)
                self.stop()

    def test_no_room(self):
        done = self.put(self.start('no-room-late', size=0), content(SIZE))
        self.assertEqual(done.returncode, NFS)
        self.assertIn(b'no space', done.stderr.lower())

    def test_connections_that_are_lost(self):
        client = self.start('drops', size=0)
        done = self.put(client, content(SIZE), '--block', '20000', '--depth', '3')
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(client.ok(self, 'cat', 'new', '--block', '9000'), content(SIZE))


class Directories(Wrong):
    def test_listings_that_go_round(self):
        for way in ('same-cookie', 'cookies-go-round'):
            for options in ((), ('-U',), ('-l',)):
                with self.subTest(way=way):
                    self.start(way)
                    client = Client(CLIENT, '--server', self.addr, handle=ROOT)
                    client.fails(self, TRANSPORT, 'repeated a cookie', 'ls', *options)
                    self.stop()

    def test_pages_without_entries(self):
        self.start('empty-pages').fails(self, TRANSPORT, 'without entries', 'ls')

    def test_a_cookie_that_is_gone(self):
        client = self.start('cookie-is-bad')
        client.fails(self, NFS, 'ls /', 'ls', '-U')

    def test_without_readdirplus(self):
        for way in ('no-readdirplus', 'no-attributes'):
            with self.subTest(way=way):
                client = self.start(way)
                self.assertEqual(client.ok(self, 'ls'), b'file\nlink\nsub\n')
                self.assertEqual(len(client.ok(self, 'ls', '-l').splitlines()), 3)
                self.stop()

    def test_many(self):
        client = self.start('many')
        names = client.ok(self, 'ls', '-U').split()
        self.assertEqual(names, [b'n%d' % i for i in range(5000)])
        self.assertEqual(client.ok(self, 'ls').split(), sorted(names))

    def test_names_that_are_none(self):
        client = self.start('bad-names')
        done = client.fails(self, TRANSPORT, '5 invalid names', 'ls')
        self.assertEqual(done.stdout, b'file\nlink\nsub\n')
        os.mkdir(os.path.join(self.folder, 'in'))
        client.fails(self, TRANSPORT, '5 invalid names', 'get', '-r', '/', 'in/to',
                     cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), ['in'])
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, 'in', 'to'))),
                         ['file', 'link', 'sub'])

    def test_a_tree_without_a_bottom(self):
        client = self.start('without-bottom', size=3)
        client.fails(self, NFS, 'get', 'get', '-r', '/', 'to', cwd=self.folder)

    def test_no_way_out_through_a_link_of_the_servers(self):
        client = self.start('link-then-directory', size=3)
        client.fails(self, LOCAL, 'sub', 'get', '-r', '/', 'to', cwd=self.folder)
        self.assertEqual(os.listdir(os.path.join(self.folder, 'to')), ['sub'])
        self.assertTrue(os.path.islink(os.path.join(self.folder, 'to', 'sub')))


class Links(Wrong):
    def test_followed_when_told_to(self):
        client = self.start()
        self.assertEqual(client.ok(self, 'readlink', 'link'), b'file\n')
        client.fails(self, NFS, 'symbolic link', 'get', 'link', 'got', cwd=self.folder)
        self.nothing_left()
        self.assertEqual(client.ok(self, 'get', '-L', 'link', '-'), content(SIZE))

    def test_dots_stay_in_the_export(self):
        client = self.start('link-up')
        self.assertEqual(client.ok(self, 'cat', '-L', 'sub/../../../link'), content(SIZE))
        self.assertEqual(client.ok(self, 'cat', '/../..//./file'), content(SIZE))

    def test_to_itself(self):
        self.start('link-to-itself').fails(self, NFS, 'symbolic links', 'cat', '-L', 'link')

    def test_with_a_nul(self):
        client = self.start('link-with-nul')
        client.fails(self, TRANSPORT, 'decoded', 'readlink', 'link')


if __name__ == '__main__':
    unittest.main(verbosity=1)
