#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-decode as a program: verdicts, both forms of output, and bad input."""

import json
import random
import struct
import subprocess
import sys
import unittest

PROGRAM = None
XID = 0x5eed0001
NO_LISTS = struct.pack('>3I', 0, 0, 0)
AUTH_NONE = struct.pack('>2I', 0, 0)


def fixed(proc=0, vers=1, xid=XID):
    return struct.pack('>4I', xid, vers, 32, proc)


def segment(handle, length, offset):
    return struct.pack('>2IQ', handle, length, offset)


def rpc_call(cred=AUTH_NONE, rpcvers=2):
    return struct.pack('>6I', XID, 0, rpcvers, 100003, 3, 7) + cred + AUTH_NONE


def auth_sys(name, gids):
    body = struct.pack('>2I', 7, len(name)) + name + b'\0' * (-len(name) % 4)
    body += struct.pack('>3I', 1000, 100, len(gids)) + struct.pack('>%dI' % len(gids), *gids)
    return struct.pack('>2I', 1, len(body)) + body


def run(text, *args):
    if isinstance(text, str):
        text = text.encode()
    return subprocess.run([PROGRAM, *args], input=text, capture_output=True, timeout=20,
                          check=False)


def decode(message, *args):
    done = run(message.hex(), '--json', *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Verdicts(unittest.TestCase):
    def check(self, message, verdict, reason, *args):
        got = decode(message, *args)
        self.assertEqual((got['verdict'], got['reason']), (verdict, reason))
        self.assertTrue(got['reason_text'].endswith('.'))
        text = run(message.hex(), *args)
        self.assertEqual(text.returncode, 0)
        self.assertIn('verdict                  %s\n' % verdict, text.stdout.decode('ascii'))
        return got

    def test_ok(self):
        self.check(fixed() + NO_LISTS + rpc_call(), 'ok', 'none')

    def test_drop(self):
        self.check(b'', 'drop', 'short')
        self.check(fixed()[:15], 'drop', 'short')
        self.check(fixed(proc=3) + NO_LISTS, 'drop', 'done')
        self.check(fixed(proc=4) + NO_LISTS, 'drop', 'error_to_responder')
        self.check(fixed() + NO_LISTS, 'drop', 'payload_short', '--direction', 'reply')

    def test_err_vers(self):
        got = self.check(fixed(vers=3) + NO_LISTS + rpc_call(), 'err_vers', 'version')
        self.assertEqual(got['transport']['vers'], 3)
        self.assertIsNone(got['rpc'])

    def test_err_chunk(self):
        self.check(fixed(proc=2) + NO_LISTS + rpc_call(), 'err_chunk', 'msgp')
        self.check(fixed(proc=1) + NO_LISTS, 'err_chunk', 'nomsg_without_chunk')
        self.check(fixed() + NO_LISTS + b'\0' * 40, 'err_chunk', 'xid_mismatch')


class Fields(unittest.TestCase):
    def test_lists(self):
        lists = struct.pack('>2I', 1, 48) + segment(0x11, 1001, 2 ** 40) + struct.pack('>I', 0)
        lists += struct.pack('>2I', 1, 2) + segment(0x21, 5, 1) + segment(0x22, 6, 2)
        lists += struct.pack('>3I', 1, 0, 0)
        lists += struct.pack('>2I', 1, 1) + segment(0x31, 7, 3)
        got = decode(fixed() + lists + rpc_call() + b'\0\0\3\xe9' * 2)
        transport = got['transport']
        self.assertEqual(transport['read_list'], [
            {'position': 48, 'handle': '0x00000011', 'length': 1001,
             'offset': '0x0000010000000000'}])
        self.assertEqual([len(chunk) for chunk in transport['write_list']], [2, 0])
        self.assertEqual(transport['write_list'][0][1]['handle'], '0x00000022')
        self.assertEqual(transport['reply_chunk'][0]['length'], 7)
        self.assertEqual(transport['read_bytes'], 1001)
        self.assertEqual(transport['write_bytes'], 18)
        self.assertEqual(transport['header_bytes'], 16 + len(lists))
        self.assertEqual(got['rpc']['inline_bytes_after'], 8)

    def test_call_with_auth_sys(self):
        name = b'a"\\\n\xff\x00z'
        got = decode(fixed() + NO_LISTS + rpc_call(auth_sys(name, range(16))))
        rpc = got['rpc']
        self.assertEqual((rpc['type'], rpc['prog'], rpc['vers'], rpc['proc']),
                         ('CALL', 100003, 3, 7))
        self.assertEqual(rpc['xid'], '0x5eed0001')
        sys_cred = rpc['cred']['auth_sys']
        self.assertEqual(sys_cred['machine_name'], name.decode('latin-1'))
        self.assertEqual((sys_cred['uid'], sys_cred['gid'], sys_cred['gids']),
                         (1000, 100, list(range(16))))
        self.assertEqual(rpc['verf']['flavor_name'], 'AUTH_NONE')
        self.assertTrue(rpc['may_reduce'])

    def test_bad_auth_sys_body(self):
        got = decode(fixed() + NO_LISTS + rpc_call(struct.pack('>3I', 1, 4, 9)))
        self.assertIsNone(got['rpc']['cred']['auth_sys'])

    def test_not_an_rpc_header(self):
        for body in (b'', struct.pack('>I', 2), struct.pack('>5I', 2, 0, 0, 0, 0),
                     struct.pack('>4I', 0, 2, 1, 1)):
            got = decode(fixed() + NO_LISTS + struct.pack('>I', XID) + body)
            self.assertEqual((got['verdict'], got['reason']), ('err_chunk', 'rpc_header'), body)
            self.assertEqual(got['rpc'], {'error': 'not an RPC call header'})
            self.assertIn('read_list', got['transport'])
        # A requester does not drop this reply. It ends the call that the XID names.
        got = decode(fixed() + NO_LISTS + struct.pack('>I', XID) + struct.pack('>I', 2),
                     '--direction=reply')
        self.assertEqual((got['verdict'], got['reason']), ('ok', 'rpc_header'))

    def test_the_other_direction_is_dropped(self):
        message = fixed() + NO_LISTS + struct.pack('>I', XID)
        for body, direction in ((struct.pack('>6I', 1, 0, 0, 0, 0, 0), 'call'),
                                (rpc_call()[4:], 'reply')):
            got = decode(message + body, '--direction', direction)
            self.assertEqual((got['verdict'], got['reason']), ('drop', 'other_direction'))
            self.assertIsNone(got['rpc'])

    def test_credentials_that_are_none(self):
        for cred, error in ((struct.pack('>2I', 1, 404) + b'\0' * 412, 'AUTH_BADCRED'),
                            (struct.pack('>2I', 1, 20), 'AUTH_BADCRED'),
                            (struct.pack('>4I', 0, 0, 1, 404) + b'\0' * 404, 'AUTH_BADVERF'),
                            (struct.pack('>2I', 0, 0), 'AUTH_BADVERF')):
            got = decode(fixed() + NO_LISTS + struct.pack('>6I', XID, 0, 2, 100003, 3, 7) + cred)
            self.assertEqual((got['verdict'], got['reason']), ('ok', 'none'))
            self.assertEqual((got['rpc']['auth_error'], got['rpc']['prog'], got['rpc']['proc']),
                             (error, 100003, 7))

    def test_replies(self):
        def reply(body):
            return decode(fixed() + NO_LISTS + struct.pack('>2I', XID, 1) + body, '-d',
                          'reply')['rpc']

        self.assertEqual(reply(struct.pack('>4I', 0, 0, 0, 0))['accept_stat'], 'SUCCESS')
        mismatch = reply(struct.pack('>6I', 0, 0, 0, 2, 3, 4))
        self.assertEqual((mismatch['accept_stat'], mismatch['low'], mismatch['high']),
                         ('PROG_MISMATCH', 3, 4))
        denied = reply(struct.pack('>3I', 1, 1, 5))
        self.assertEqual((denied['reject_stat'], denied['auth_stat']),
                         ('AUTH_ERROR', 'AUTH_TOOWEAK'))
        self.assertEqual(reply(struct.pack('>I', 9)), {'error': 'not an RPC reply header'})

    def test_rdma_errors(self):
        got = decode(fixed(proc=4, vers=3) + struct.pack('>3I', 1, 1, 3), '--direction=reply')
        self.assertEqual(got['transport']['error'], 'ERR_VERS')
        self.assertEqual((got['transport']['vers_low'], got['transport']['vers_high']), (1, 3))
        got = decode(fixed(proc=4) + struct.pack('>I', 2), '--direction=reply')
        self.assertEqual((got['verdict'], got['transport']['error']), ('ok', 'ERR_CHUNK'))

    def test_json_is_valid_for_any_bytes(self):
        rng = random.Random(8166)
        good = fixed() + NO_LISTS + rpc_call(auth_sys(b'host', [1, 2]))
        for _ in range(60):
            message = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                message[rng.randrange(len(message))] = rng.randrange(256)
            decode(bytes(message[:rng.randrange(len(message) + 1)]), '-d',
                   rng.choice(['call', 'reply']))


class Input(unittest.TestCase):
    def test_forms_of_hex(self):
        message = fixed() + NO_LISTS + rpc_call()
        expected = decode(message)
        digits = message.hex()
        words = ['0x' + digits[i:i + 8] for i in range(0, len(digits), 8)]
        lines = [digits[i:i + 60] for i in range(0, len(digits), 60)]
        pairs = [digits[i:i + 2].upper() for i in range(0, len(digits), 2)]
        for text in (' '.join(words), '\n'.join(lines) + '\n', '\r\n\t'.join(pairs),
                     '# a call\n' + '# more\n'.join(word + ' # xid\n' for word in words)):
            done = run(text, '-j')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), expected)

    def test_not_hex(self):
        for text in ('hello', '5eed000', '0x', '0x5eed 0', '00\n0g', 'é', b'\xff', b'00\x00',
                     '0x0x00'):
            done = run(text, '-j')
            self.assertEqual(done.returncode, 2, text)
            self.assertEqual(done.stdout, b'')
            self.assertTrue(done.stderr.startswith(b'weir-decode: line '), done.stderr)
        self.assertIn(b'line 2', run('00\n0g').stderr)

    def test_too_long(self):
        done = run('00' * ((1 << 20) + 1))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b'longer than', done.stderr)

    def test_usage(self):
        for args in (['--direction', 'up'], ['--direction'], ['--what'], ['file.hex']):
            done = run('', *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertNotEqual(done.stderr, b'')
            self.assertEqual(done.stdout, b'')
        self.assertIn(b'usage: weir-decode', run('', '--help').stdout)
        self.assertRegex(run('', '--version').stdout, rb'^weir-decode \d+\.\d+\.\d+\n$')

    def test_output_that_fails_is_told(self):
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run([PROGRAM], input=b'00', stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard output', done.stderr)


if __name__ == '__main__':
    PROGRAM = sys.argv.pop(1)
    unittest.main()
