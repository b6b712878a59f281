#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the dissector for Wireshark. tshark reads captures of messages of version 2, most of them
in RoCEv2 frames and some in iWARP."""

import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

SCRIPT, VECTORS = (pathlib.Path(argument) for argument in sys.argv[1:3])
SKIPPED = 77
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
MTU = 256


def read_vectors(path):
    vectors = {}
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.startswith(' '):
            vectors[name] += bytes.fromhex(line)
        elif line and not line.startswith('#'):
            name = line[0]
            vectors[name] = b''
    return vectors


def u32(*words):
    return struct.pack('>%dI' % len(words), *words)


def frame(number, message, opcode=SEND_ONLY):
    """Makes the frame of an RDMA Send with the message, or with a part of it: Ethernet, IPv4, UDP,
    the base header of InfiniBand, ICRC."""
    pad = -len(message) % 4
    bth = struct.pack('>BBHIBBH', opcode, 0x40 | pad << 4, 0xffff, 0x11, 0x80, number >> 16,
                      number & 0xffff)
    inner = bth + message + b'\0' * pad
    udp = struct.pack('>4H', 50000, 4791, 8 + len(inner) + 4, 0)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp) + len(inner) + 4, number & 0xffff,
                     0x4000, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    masked = b'\xff' * 8 + struct.pack('>BBHHHBBH4s4s', 0x45, 0xff, 20 + len(udp) + len(inner) + 4,
                                       number & 0xffff, 0x4000, 0xff, 17, 0xffff, ip[12:16],
                                       ip[16:20]) + udp[:6] + b'\xff\xff'
    masked += bth[:4] + b'\xff' + bth[5:] + inner[12:]
    icrc = struct.pack('<I', zlib.crc32(masked))
    return bytes.fromhex('020000000002' '020000000001' '0800') + ip + udp + inner + icrc


def packets(number, message):
    """Makes the RDMA Send of a message as several packets, with PSNs from 'psn' on."""
    parts = [message[at:at + MTU] for at in range(0, len(message), MTU)]
    opcodes = [SEND_FIRST] + [SEND_MIDDLE] * (len(parts) - 2) + [SEND_LAST]
    return [frame((number + i) % 2 ** 24, part, opcode)
            for i, (part, opcode) in enumerate(zip(parts, opcodes))]


def iwarp(messages):
    """Makes the frames that set up a connection, and then frames with these messages, each in one
    DDP segment."""
    sent = [1, 1]

    def segment(side, payload):
        ports = (50000, 20049) if side == 0 else (20049, 50000)
        tcp = struct.pack('>HHIIBBHHH', *ports, sent[side], sent[1 - side], 5 << 4, 0x18, 65535,
                          0, 0)
        sent[side] += len(payload)
        ends = bytes([10, 0, 0, 1 + side]), bytes([10, 0, 0, 2 - side])
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, *ends)
        return bytes.fromhex('020000000002' '020000000001' '0800') + ip + tcp + payload

    def fpdu(number, message, at):
        data = message[at:at + MTU]
        is_last = at + MTU >= len(message)
        pdu = struct.pack('>BBIIII', 0x41 if is_last else 0x01, 0x43, 0, 0, 1 + number, at) + data
        return struct.pack('>H', len(pdu)) + pdu + b'\0' * (-(2 + len(pdu)) % 4 + 4)

    frames = [segment(0, b'MPA ID Req Frame' + struct.pack('>BBH', 0, 1, 0)),
              segment(1, b'MPA ID Rep Frame' + struct.pack('>BBH', 0, 1, 0))]
    pdus = [fpdu(number, message, at) for number, message in enumerate(messages)
            for at in range(0, len(message), MTU)]
    return frames + [segment(0, pdu) for pdu in pdus]


def capture_frames(path, frames):
    with path.open('wb') as file:
        file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, data in enumerate(frames):
            file.write(struct.pack('<4I', number, 0, len(data), len(data)) + data)


def capture(path, messages):
    capture_frames(path, [frame(number, message) for number, message in enumerate(messages)])


def tshark(path, *args):
    done = subprocess.run(['tshark', '-n', '-X', 'lua_script:%s' % SCRIPT, '-r', path, *args],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert 'Lua' not in done.stderr and '.lua' not in done.stderr, done.stderr
    return done.stdout


def values(tree, name):
    """Returns all values of a field in tshark's JSON, in order."""
    found = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == name:
                found += value if isinstance(value, list) else [value]
            else:
                found += values(value, name)
    elif isinstance(tree, list):
        for value in tree:
            found += values(value, name)
    return found


class Dissector(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / 'capture.pcap'

    def columns(self, messages):
        capture(self.path, messages)
        lines = tshark(self.path, '-T', 'fields', '-e', '_ws.col.Protocol', '-e',
                       '_ws.col.Info').splitlines()
        self.assertEqual(len(lines), len(messages))
        return [line.split('\t') for line in lines]

    def trees(self, messages):
        capture(self.path, messages)
        packets = json.loads(tshark(self.path, '-T', 'json', '--no-duplicate-keys'))
        return [packet['_source']['layers'].get('rpcrdma2') for packet in packets]

    def test_columns(self):
        shown = self.columns([VECTORS_READ[name] for name in 'BCEHJL'])
        self.assertEqual([protocol for protocol, _ in shown], ['RPCoRDMA2'] * 6)
        self.assertEqual([info for _, info in shown], [
            # These vectors have no payload.
            'RDMA2_OPTIONAL ROPT_XMTREQ CALL, transmission 1 of 1 [malformed]',
            'RDMA2_OPTIONAL ROPT_XMTREQ CALL, transmission 1 of 1 [malformed]',
            'RDMA2_OPTIONAL ROPT_XMTRESP REPLY, transmission 1 of 1 [malformed]',
            'RDMA2_OPTIONAL ROPT_REPTERR REPLY, OPTRERR_BADCONT',
            'RDMA2_CONNPROP',
            'RDMA2_ERROR RDMA2_ERR_INVAL_OPTION'])

    def test_rpc_messages_are_handed_on(self):
        for protocol, info in self.columns([VECTORS_READ['A'], VECTORS_READ['K']]):
            self.assertEqual(protocol, 'NFS')
            self.assertIn('NULL', info)

    def check(self, tree, **expected):
        for name, value in expected.items():
            self.assertEqual([int(found, 0) for found in values(tree, 'rpcrdma2.' + name)], value,
                             name)

    def test_fields(self):
        placed, directed, results, report, properties = self.trees([VECTORS_READ[name]
                                                                    for name in 'BCEHJ'])
        self.check(placed, rdma_xid=[0x12], rdma_vers=[2], rdma_credit=[32], rdma_proc=[5],
                   rdma_optdir=[0], rdma_opttype=[5], xmdmi_disp=[96], xmdmi_length=[8192],
                   xmddp_type=[2], xmdl_offset=[0], xmdl_bsnum=[0, 1], optxrq_count=[1],
                   optxrq_rsbuf=[1], optxrq_pslen=[96])
        self.check(directed, xmdrsdr_begin=[40], xmdrsdr_end=[88], xmdrsdi_minlen=[512],
                   xmddp_type=[4], xmdrsdl_dsdov=[8192], rdma_handle=[0xabcd], rdma_length=[65536],
                   rdma_offset=[0x1000], optxrq_rsbuf=[3])
        self.check(results, xmdmi_disp=[44, 0], xmdmi_length=[100, 0], xmddp_type=[5, 6],
                   optxrs_count=[1], optxrs_pslen=[144])
        self.check(report, xmsi_xid=[0x16], xmsi_dir=[0], xmsi_seq=[1], optre_which=[3])
        self.check(properties, rdma_which=[1, 2, 3, 4, 5, 6], value=[36864, 8, 8],
                   rpcrdma2_bkreqsup=[1], xpr_rtrs=[7], xmrbuf_length=[36864], xmrgrp_count=[1, 8],
                   xmrseg_length=[4096, 4096], xmrseg_align=[8, 4096], xmrseg_flags=[0, 1],
                   rdma_nochg=[0x3f])

    def test_all_procedures(self):
        def fixed(proc):
            return u32(0x18, 2, 32, proc)

        segment = struct.pack('>2IQ', 5, 8, 2 ** 33)
        lists = u32(1, 48) + segment + u32(0, 1, 1) + segment + u32(0, 1, 1) + segment
        trees = self.trees([
            fixed(1) + u32(0, 5) + lists,
            fixed(4) + u32(1, 1, 2),
            fixed(4) + u32(3, 1, 9),
            fixed(7) + u32(1, 99, 5) + b'abcde\0\0\0',
            fixed(8) + u32(1, 1, 1, 2, 1, 1, 0),
            fixed(9) + u32(1, 1, 4, 8192),
            fixed(5) + u32(1, 3, 12, 2, 2, 8) + b'abcdefgh',
            fixed(5) + u32(1, 8, 44, 7, 1, 0, 1, 8, 1, 0, 7, 9, 0, 8),
            fixed(5) + u32(0, 99, 4, 1)])
        self.check(trees[0], rdma_direction=[0], rdma_inv_handle=[5], rdma_position=[48],
                   rdma_handle=[5, 5, 5])
        self.check(trees[1], rdma_err=[1], rdma_vers_low=[1], rdma_vers_high=[2])
        self.check(trees[2], rdma_err=[3], rdma_segment_index=[1], rdma_length_needed=[9])
        self.check(trees[3], rdma_which=[99], rdma_data_length=[5])
        self.check(trees[4], rdma_done=[1], rdma_rejected=[2], rdma_which=[1], rdma_data_length=[0])
        self.check(trees[5], value=[8192])
        self.check(trees[6], optxc_xnum=[2], optxc_itype=[2], optxc_pslen=[8])
        self.check(trees[7], optre_which=[7], xmsi_xid=[7, 8], optri_value=[9], optri_min=[0],
                   optri_max=[8])
        self.check(trees[8], rdma_opttype=[99])

    def infos(self, frames, *args):
        capture_frames(self.path, frames)
        shown = tshark(self.path, '-T', 'fields', '-e', '_ws.col.Protocol', '-e', '_ws.col.Info',
                       *args).splitlines()
        return [tuple(line.split('\t')) for line in shown]

    def test_messages_in_several_packets(self):
        call = u32(0x18, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
        long = u32(0x18, 2, 32, 5, 0, 5, 20, 0, 0, 2, 1, 1000) + call + bytes(960)
        # Bulk data follow this part of the message.
        whole = u32(0x18, 2, 32, 5, 0, 5, 20, 0, 0, 1, 1, 40) + call + bytes(4096)
        part = ('RPCoRDMA2', 'part of a message')
        first = ('RPCoRDMA2', 'RDMA2_OPTIONAL ROPT_XMTREQ CALL, transmission 1 of 2')
        once = packets(2 ** 24 - 2, long) # the PSNs wrap
        self.assertEqual(self.infos(once), [part] * 4 + [first])
        self.assertEqual(self.infos(once, '-2'), [part] * 4 + [first])
        shown = self.infos(packets(0, whole))
        self.assertEqual(shown[:-1], [part] * 16)
        self.assertEqual(shown[-1][0], 'NFS')
        # One packet is lost, and one arrives twice. In the end, the parts that arrived in order are
        # printed.
        shown = self.infos(once[:2] + once[3:] + once[1:4] + once[3:])
        self.assertEqual([line for line in shown if line[0] == 'RPCoRDMA2'], [part] * 4 + [first])
        # If the first packet is not in the capture, nothing is printed.
        self.assertNotIn('RPCoRDMA2', dict(self.infos(once[1:])))

    def test_messages_by_iwarp(self):
        short = VECTORS_READ['L']
        long = u32(0x18, 2, 32, 5, 0, 5, 20, 0, 0, 2, 1,
                   600) + u32(0x18, 0, 2, 100003, 3, 0, 0, 0, 0, 0) + bytes(560)
        capture_frames(self.path, iwarp([short, long, short]))
        read = [json.loads(tshark(self.path, '-T', 'json', '--no-duplicate-keys'))]
        self.assertEqual([int(found) for found in values(read, 'rpcrdma2.rdma_err')], [5, 5])
        self.assertEqual([int(found) for found in values(read, 'rpcrdma2.optxrq_pslen')], [600])
        self.assertNotIn('malformed', json.dumps(read))

    def test_version_1_is_left_alone(self):
        call = u32(0x18, 0, 2, 100003, 3, 0, 0, 0, 0, 0)
        version_1 = u32(0x18, 1, 32, 0, 0, 0, 0) + call
        self.assertEqual(self.trees([version_1]), [None])
        self.assertEqual([protocol for protocol, _ in self.columns([version_1])], ['NFS'])

    def test_any_bytes_are_survived(self):
        rng = random.Random(8166)
        messages = []
        for name in sorted(VECTORS_READ):
            for _ in range(100):
                message = bytearray(VECTORS_READ[name])
                for _ in range(rng.randrange(1, 4)):
                    message[rng.randrange(8, len(message))] = rng.choice(
                        [0, 1, 255, rng.randrange(256)])
                messages.append(bytes(message[:rng.randrange(8, len(message) + 1)]))
        capture(self.path, messages)
        lines = tshark(self.path, '-V').splitlines()
        self.assertEqual([line for line in lines if 'Lua Error' in line], [])
        self.assertTrue(any('Malformed at byte' in line for line in lines))


if __name__ == '__main__':
    if not shutil.which('tshark'):
        print('tshark is not installed')
        sys.exit(SKIPPED)
    VECTORS_READ = read_vectors(VECTORS)
    unittest.main(argv=sys.argv[:1])
