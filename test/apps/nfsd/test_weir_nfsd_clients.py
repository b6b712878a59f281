#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that MOUNT of weir-nfsd answers each client by the rules of the export, and that a handle
alone gives no access. All addresses are loopback addresses."""
import contextlib
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import sys
import tempfile
import unittest

from nfs_tools import Client, NFS, Server, TRANSPORT, unique
from rpc_tools import Reader, opaque, word

CLIENT, SERVER = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
MOUNT, LAST = 100005, 0x80000000
NULL, MNT, DUMP, UMNT, UMNTALL, EXPORT = range(6)
MNT_OK, MNT_NOENT, MNT_ACCES = 0, 2, 13
CONNS = 64  # ONCRPC_SERVER_CONNS_MAX
CONNS_PEER = 16  # ONCRPC_SERVER_CONNS_PEER
NOBODY = 65534
GROUP = 5000
GROUPS_MAX = 64  # WEIR_PEER_GROUPS_MAX
IS_ROOT = os.geteuid() == 0
PORTS_PATH = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
with open(PORTS_PATH, encoding='ascii') as ports:
    ROOTS_PORTS = min(int(ports.read()), 1024)
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


AUTH_NONE = word(0, 0)


def auth_sys(uid, gid, *gids):
    body = word(0) + opaque(b'test') + word(uid, gid, len(gids), *gids)
    return word(1, len(body)) + body


def call(proc, args=b'', auth=AUTH_NONE):
    body = word(7, 0, 2, MOUNT, 3, proc) + auth + AUTH_NONE + args
    return word(LAST | len(body)) + body


def read(conn, n):
    data = b''
    while len(data) < n:
        more = conn.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Served(unittest.TestCase):
    EXPORTS = ''
    DRIVER = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.prepare()
        self.addr = unique('clients')
        path = os.path.join(self.folder, 'exports.ini')
        with open(path, 'w', encoding='ascii') as file:
            file.write(self.EXPORTS.format(folder=self.folder))
        with socket.create_server(('127.0.0.1', 0)) as unused:
            self.port = unused.getsockname()[1]
        self.server = Server(SERVER, '--driver', 'shm', *self.DRIVER, '--listen', self.addr,
                             '--exports', path, '--no-rpcbind', '--state',
                             os.path.join(self.folder, 'state'), '--mount-port', str(self.port),
                             '--foreground', ready=' handle ')
        self.addCleanup(self.server.stop)
        lines = [self.server.line] + [self.server.process.stdout.readline()
                                      for _ in range(self.EXPORTS.count('[') - 1)]
        self.handles = {line.split()[2]: line.split()[-1] for line in lines}

    def prepare(self):
        """Prepares the folder before the server starts."""

    def connect(self, source, port=0):
        conn = socket.create_connection(('127.0.0.1', self.port), timeout=60,
                                        source_address=(source, port))
        self.addCleanup(conn.close)
        return conn

    def connect_as_root(self, source):
        """Connects from a port that only root can use."""
        if ROOTS_PORTS < 2:
            self.skipTest(f'this host reserves no port for root: {PORTS_PATH}')
        for port in range(ROOTS_PORTS - 1, max(ROOTS_PORTS - 424, 0), -1):
            with contextlib.suppress(OSError):
                return self.connect(source, port)
        self.fail(f'no free port below {ROOTS_PORTS}')

    def results(self, conn, proc, args=b'', auth=AUTH_NONE):
        conn.sendall(call(proc, args, auth))
        mark, = struct.unpack('>I', read(conn, 4))
        reply = Reader(read(conn, mark & ~LAST))
        self.assertEqual([reply.word() for _ in range(6)], [7, 1, 0, 0, 0, 0])
        return reply

    def mount(self, source, path, port=0):
        return self.results(self.connect(source, port), MNT, opaque(path.encode())).word()

    def exports(self, source):
        reply, names = self.results(self.connect(source), EXPORT), []
        while reply.word():
            names.append(reply.opaque().decode())
            self.assertEqual(reply.word(), 0)
        return names

    def mounts(self, source):
        reply, entries = self.results(self.connect(source), DUMP), []
        while reply.word():
            entries.append((reply.opaque().decode(), reply.opaque().decode()))
        return entries

    def client(self, name, *options, before=()):
        client = Client(CLIENT, '--driver', 'shm', '--server', self.addr, '--retries', '0',
                        *options, handle=self.handles[name])
        client.command = [*before, *client.command]
        return client


class MountByAddress(Served):
    EXPORTS = '''
[/one]
backend = ram:4m
clients = 127.0.0.2
[/some]
backend = ram:4m
clients = 127.0.0.0/30(ro)
[/root]
backend = ram:4m
clients = 127.0.0.5(secure_port) 127.0.0.6
[/user]
backend = ram:4m
clients = uid:0
'''

    def test_the_list_has_what_the_client_may_mount(self):
        self.assertEqual(self.exports('127.0.0.2'), ['/one', '/some'])
        self.assertEqual(self.exports('127.0.0.1'), ['/some'])
        self.assertEqual(self.exports('127.0.0.6'), ['/root'])

    def test_others_are_refused(self):
        self.assertEqual(self.mount('127.0.0.2', '/one'), MNT_OK)
        self.assertEqual(self.mount('127.0.0.1', '/some'), MNT_OK)
        for source, path in (('127.0.0.1', '/one'), ('127.0.0.1', 'one'),
                             ('127.0.0.1', '/one/below'), ('127.0.0.2', '/root'),
                             ('127.0.0.2', '/user')):
            with self.subTest(source=source, path=path):
                self.assertEqual(self.mount(source, path), MNT_ACCES)
        self.assertEqual(self.mount('127.0.0.2', '/none'), MNT_NOENT)

    def test_mounts_of_others_exports_are_not_told(self):
        self.assertEqual(self.mount('127.0.0.2', '/one'), MNT_OK)
        self.assertEqual(self.mount('127.0.0.2', '/some'), MNT_OK)
        self.assertEqual(self.mounts('127.0.0.2'), [('127.0.0.2', '/one'), ('127.0.0.2', '/some')])
        self.assertEqual(self.mounts('127.0.0.1'), [('127.0.0.2', '/some')])
        self.assertEqual(self.mounts('127.0.0.6'), [])

    def test_who_may_mount_nothing_is_not_answered(self):
        # Fills the table of connections from addresses that each use their full share.
        idle = [self.connect(f'127.0.0.{source}') for source in (1, 2, 3, 6)
                for _ in range(CONNS_PEER)]
        self.assertEqual(len(idle), CONNS)
        for conn in idle:
            self.results(conn, NULL)
        for _ in range(CONNS):
            with contextlib.suppress(ConnectionError):
                conn = self.connect('127.0.0.9')
                conn.sendall(call(NULL))
                self.assertEqual(conn.recv(1), b'')
        # The refused connection did not displace an allowed one.
        for conn in idle:
            self.results(conn, NULL)

    def test_a_port_of_roots_is_asked_for(self):
        with contextlib.suppress(ConnectionError):
            conn = self.connect('127.0.0.5')
            conn.sendall(call(NULL))
            self.assertEqual(conn.recv(1), b'')
        if IS_ROOT:
            reply = self.results(self.connect_as_root('127.0.0.5'), MNT, opaque(b'/root'))
            self.assertEqual(reply.word(), MNT_OK)

    def test_no_other_address_is_listened_on(self):
        others = {'127.0.0.2'}
        with contextlib.suppress(OSError): # the host's name may have no address
            others.add(socket.gethostbyname(socket.gethostname()))
        for other in others - {'127.0.0.1'}:
            with self.subTest(address=other), self.assertRaises(ConnectionRefusedError):
                socket.create_connection((other, self.port), timeout=60)

    def test_a_handle_opens_nothing_alone(self):
        if not IS_ROOT: # this user can use no export, and the connection is refused
            self.client('/user').fails(self, TRANSPORT, 'refused', 'ls')
            return
        for name in ('/one', '/some', '/root'):
            with self.subTest(export=name):
                self.client(name).fails(self, NFS, 'stale file handle', 'ls')
        self.client('/user').ok(self, 'ls')


class MountBelow(Served):
    """MOUNT of a directory below an export needs the right to search the directories on the way."""
    EXPORTS = '''
[/vol]
backend = ram:4m
anonuid = 77
anongid = 78
clients = 127.0.0.1(no_root_squash) 127.0.0.2 127.0.0.3(all_squash) local(no_root_squash)
'''

    def setUp(self):
        super().setUp()
        self.fill()

    def fill(self):
        owner = self.client('/vol', *(('--uid', '1000', '--gid', '1000') if IS_ROOT else ()))
        for name, mode in (('closed', '700'), ('group', '710'), ('open', '755')):
            owner.ok(self, 'mkdir', name, f'{name}/below')
            owner.ok(self, 'chmod', '777', f'{name}/below')
            owner.ok(self, 'chmod', mode, name)

    def below(self, conn, auth, name):
        return self.results(conn, MNT, opaque(b'/vol/' + name.encode()), auth).word()

    @unittest.skipUnless(IS_ROOT, 'only root has ports that are believed')
    def test_mount_goes_by_the_callers_rights(self):
        owner, other, root = auth_sys(1000, 1000), auth_sys(2000, 2000), auth_sys(0, 0)
        conns = {source: self.connect_as_root(f'127.0.0.{source}') for source in (1, 2, 3)}
        for source, auth, name, status in (
                (1, owner, 'closed/below', MNT_OK), (1, other, 'closed/below', MNT_ACCES),
                (1, AUTH_NONE, 'closed/below', MNT_ACCES),
                # Other users cannot find out which names exist.
                (1, owner, 'closed/none', MNT_NOENT), (1, other, 'closed/none', MNT_ACCES),
                # To open a directory, a caller needs the right to search its parent.
                (1, other, 'closed', MNT_OK), (1, other, 'none', MNT_NOENT),
                (1, other, 'open/below', MNT_OK), (1, other, 'group/below', MNT_ACCES),
                (1, auth_sys(2000, 1000), 'group/below', MNT_OK),
                (1, auth_sys(2000, 2000, 3000, 1000), 'group/below', MNT_OK),
                (1, root, 'closed/below', MNT_OK), (2, root, 'closed/below', MNT_ACCES),
                (2, root, 'open/below', MNT_OK), (2, owner, 'closed/below', MNT_OK),
                (3, owner, 'closed/below', MNT_ACCES), (3, owner, 'open/below', MNT_OK)):
            with self.subTest(source=source, auth=auth, name=name):
                self.assertEqual(self.below(conns[source], auth, name), status)

    def test_mount_over_shm_believes_no_claim_of_a_user(self):
        conn = self.connect('127.0.0.1')
        for auth in (auth_sys(0, 0), auth_sys(1000, 1000), auth_sys(os.geteuid(), os.getegid()),
                     AUTH_NONE):
            for name, status in (('closed/below', MNT_ACCES), ('group/below', MNT_ACCES),
                                 ('open/below', MNT_OK)):
                with self.subTest(auth=auth, name=name):
                    self.assertEqual(self.below(conn, auth, name), status)

    def test_a_credential_that_is_none(self):
        conn = self.connect('127.0.0.1')
        good = auth_sys(1000, 1000)
        for auth in (word(1, 0), word(1, 4, 0), good[:4] + word(len(good) - 4) + good[8:] + word(0),
                     auth_sys(1000, 1000, *range(17))):
            with self.subTest(auth=auth):
                conn.sendall(call(MNT, opaque(b'/vol'), auth))
                mark, = struct.unpack('>I', read(conn, 4))
                # AUTH_ERROR, AUTH_BADCRED.
                self.assertEqual(read(conn, mark & ~LAST), word(7, 1, 1, 1, 1))


@unittest.skipUnless(IS_ROOT, 'only root can serve a directory')
class MountBelowOfDir(MountBelow):
    EXPORTS = MountBelow.EXPORTS.replace('ram:4m', 'dir:{folder}/vol')

    def prepare(self):
        os.mkdir(os.path.join(self.folder, 'vol'), 0o777)

    def fill(self):
        for name, mode in (('closed', 0o700), ('group', 0o710), ('open', 0o755)):
            path = os.path.join(self.folder, 'vol', name)
            os.makedirs(os.path.join(path, 'below'))
            os.chmod(os.path.join(path, 'below'), 0o777)
            os.chmod(path, mode)
            os.chown(path, 1000, 1000)


@unittest.skipUnless(IS_ROOT, 'only root can have a network namespace')
class PortsOfAnyUser(Served):
    """A host on which any user can use ports from 600 on, as in many containers."""
    EXPORTS = '''
[/vol]
backend = ram:4m
clients = 127.0.0.1 local
[/reserved]
backend = ram:4m
clients = 127.0.0.1(secure_port)
'''

    def setUp(self):
        libc = ctypes.CDLL(None, use_errno=True)
        host = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        self.addCleanup(os.close, host)
        if libc.unshare(CLONE_NEWNET) != 0:
            self.skipTest(f'no network namespace: {os.strerror(ctypes.get_errno())}')
        self.addCleanup(lambda: self.assertEqual(libc.setns(host, CLONE_NEWNET), 0))
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack('16sh14x', b'lo', IFF_UP))
        try:
            with open(PORTS_PATH, 'w', encoding='ascii') as file:
                file.write('600')
        except OSError as error:
            self.skipTest(f'{PORTS_PATH}: {error.strerror}')
        super().setUp()

    def test_are_not_roots(self):
        owner = ('--uid', '1000', '--gid', '1000')
        self.client('/vol', *owner).ok(self, 'mkdir', 'closed', 'closed/below')
        self.client('/vol', *owner).ok(self, 'chmod', '700', 'closed')
        for port, status in ((599, MNT_OK), (600, MNT_ACCES), (1023, MNT_ACCES), (1024, MNT_ACCES)):
            with self.subTest(port=port):
                conn = self.connect('127.0.0.1', port)
                below = self.results(conn, MNT, opaque(b'/vol/closed/below'), auth_sys(1000, 1000))
                self.assertEqual(below.word(), status)
                self.assertEqual(self.results(conn, MNT, opaque(b'/reserved')).word(), status)


class NobodyMayConnect(Served):
    EXPORTS = '''
[/one]
backend = ram:4m
clients = 127.0.0.2
'''

    def test_over_shm(self):
        self.client('/one').fails(self, TRANSPORT, '', 'ls')


class RulesOfClients(Served):
    EXPORTS = '''
[/ro]
backend = ram:4m
clients = *(ro)
[/squash]
backend = ram:4m
anonuid = 77
anongid = 78
clients = local(all_squash)
[/plain]
backend = ram:4m
all_squash = no
root_squash = no
clients = local
'''

    def owner(self, client):
        client.ok(self, 'mkdir', 'made')
        line, = [line for line in client.ok(self, 'ls', '-l').decode().splitlines()
                 if line.endswith('made')]
        return line

    def test_read_only(self):
        self.client('/ro').ok(self, 'ls')
        self.client('/ro').fails(self, NFS, 'read-only', 'mkdir', 'made')

    def test_all_are_squashed(self):
        self.assertRegex(self.owner(self.client('/squash', '--uid', '1000', '--gid', '1000')),
                         r'\b77 +78\b')

    @unittest.skipUnless(IS_ROOT, 'only root may name another user')
    def test_root_names_whom_it_likes(self):
        self.assertRegex(self.owner(self.client('/plain', '--uid', '1000', '--gid', '1001')),
                         r'\b1000 +1001\b')


@unittest.skipUnless(IS_ROOT, 'only root can become another user')
class Users(Served):
    DRIVER = ('--driver-options', f'peer_uid={NOBODY}')
    EXPORTS = '''
[/mine]
backend = ram:4m
root_squash = no
clients = uid:65534
[/secret]
backend = dir:{folder}/secret
root_squash = no
clients = local
[/shared]
backend = ram:4m
root_squash = no
clients = local
[/reserved]
backend = ram:4m
clients = local(secure_port)
'''

    def prepare(self):
        os.mkdir(os.path.join(self.folder, 'secret'), 0o755)
        path = os.path.join(self.folder, 'secret', 'file')
        with open(path, 'w', encoding='ascii') as file:
            file.write('secret')
        os.chmod(path, 0o600)

    def setUp(self):
        super().setUp()
        self.before = self.as_nobody('--clear-groups')

    @staticmethod
    def as_nobody(groups):
        return (shutil.which('setpriv'), f'--reuid={NOBODY}', f'--regid={NOBODY}', groups)

    def test_a_user_acts_as_itself(self):
        nobody = self.client('/mine', '--uid', '0', '--gid', '0', before=self.before)
        nobody.ok(self, 'mkdir', 'made')
        self.assertRegex(nobody.ok(self, 'ls', '-l').decode(), rf'\b{NOBODY} +{NOBODY}\b.*made')
        self.client('/mine').fails(self, NFS, 'stale file handle', 'ls')

    def test_a_port_of_roots_is_root(self):
        self.client('/reserved').ok(self, 'ls')
        self.client('/reserved', before=self.before).fails(self, NFS, 'stale file handle', 'ls')

    def test_files_of_others_stay_closed(self):
        self.assertEqual(self.client('/secret').ok(self, 'cat', 'file'), b'secret')
        for claim in (('--uid', '0', '--gid', '0'), ('--uid', '1000'), ()):
            with self.subTest(claim=claim):
                self.client('/secret', *claim,
                            before=self.before).fails(self, NFS, 'ermission denied', 'cat', 'file')

    def test_a_user_reads_no_program_that_it_may_only_execute(self):
        for export in ('/secret', '/shared'):
            root = self.client(export, '--uid', '0', '--gid', '0')
            root.ok(self, 'put', '-', 'program', data=b'code')
            root.ok(self, 'chmod', '711', 'program')
            # The clients that the server treats as clients of the network.
            other = self.client(export, '--uid', '1000', '--gid', '1000')
            with self.subTest(export=export):
                self.assertEqual(other.ok(self, 'cat', 'program'), b'code')
                self.client(export, before=self.before).fails(self, NFS, 'ermission denied', 'cat',
                                                              'program')

    def test_the_groups_of_the_process_count(self):
        member = self.as_nobody(f'--groups=4999,{GROUP}')
        for export in ('/secret', '/shared'):
            with self.subTest(export=export):
                root = self.client(export, '--uid', '0', '--gid', str(GROUP))
                root.ok(self, 'mkdir', 'denied', 'granted')
                root.ok(self, 'chmod', '707', 'denied')
                root.ok(self, 'chmod', '770', 'granted')
                for before, may, may_not in ((member, 'granted', 'denied'),
                                             (self.before, 'denied', 'granted')):
                    client = self.client(export, '--gid', str(GROUP), before=before)
                    client.ok(self, 'ls', may)
                    client.fails(self, NFS, 'ermission denied', 'ls', may_not)
                    client.ok(self, 'mkdir', f'{may}/made')
                    client.fails(self, NFS, 'ermission denied', 'mkdir', f'{may_not}/made')

    def test_a_process_with_too_many_groups_is_denied(self):
        for n, may in ((GROUPS_MAX, True), (GROUPS_MAX + 1, False)):
            groups = ','.join(str(GROUP + i) for i in range(n))
            client = self.client('/shared', before=self.as_nobody(f'--groups={groups}'))
            with self.subTest(groups=n):
                if may:
                    client.ok(self, 'ls')
                else:
                    client.fails(self, TRANSPORT, '', 'ls')


if __name__ == '__main__':
    unittest.main(verbosity=1)
