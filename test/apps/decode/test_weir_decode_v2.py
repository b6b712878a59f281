#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weir-decode on messages of version 2 and of the extension: each field has its name in the
drafts."""

import json
import pathlib
import random
import struct
import subprocess
import sys
import unittest

PROGRAM = None
VECTORS = None


def read_vectors(path):
    """Reads the messages of test/support/vectors_v2.txt by their names."""
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


def run(message, *args):
    return subprocess.run([PROGRAM, *args], input=message.hex().encode(), capture_output=True,
                          timeout=20, check=False)


def decode(message):
    done = run(message, '--json')
    assert done.returncode == 0, done.stderr
    text = run(message)
    assert text.returncode == 0, text.stderr
    got = json.loads(done.stdout)
    assert text.stdout.decode('ascii').startswith('verdict                  %s\n' % got['verdict'])
    return got


def verdict(message):
    got = decode(message)
    return got['verdict'], got['reason']


def fixed(proc=0):
    return u32(0x18, 2, 32, proc)


CALL = u32(0x18, 0, 2, 100003, 3, 0, 0, 0, 0, 0)


class Base(unittest.TestCase):
    def test_short_call(self):
        got = decode(VECTORS['K'])
        self.assertEqual(got['verdict'], 'ok')
        transport = got['transport']
        self.assertEqual((transport['rdma_xid'], transport['rdma_vers'], transport['rdma_credit']),
                         ('0x00000018', 2, 32))
        self.assertEqual((transport['rdma_proc'], transport['rdma_proc_name']), (0, 'RDMA2_MSG'))
        self.assertEqual((transport['rdma_direction'], transport['rdma_inv_handle']),
                         ('CALL', '0x00000000'))
        self.assertEqual((transport['rdma_reads'], transport['rdma_writes'],
                          transport['rdma_reply']), ([], [], None))
        self.assertEqual((got['rpc']['type'], got['rpc']['prog']), ('CALL', 100003))

    def test_chunks(self):
        segment = struct.pack('>2IQ', 5, 8, 2 ** 33)
        message = (fixed() + u32(0, 5, 1, 40) + segment + u32(0, 1, 1) + segment + u32(0, 1, 1) +
                   segment + CALL)
        transport = decode(message)['transport']
        shown = {'rdma_handle': '0x00000005', 'rdma_length': 8, 'rdma_offset': '0x0000000200000000'}
        self.assertEqual(transport['rdma_reads'], [{'rdma_position': 40, **shown}])
        self.assertEqual(transport['rdma_writes'], [[shown]])
        self.assertEqual(transport['rdma_reply'], [shown])
        self.assertTrue(transport['may_invalidate'])

    def test_errors(self):
        names = [None, 'VERS', 'BAD_XDR', 'REPLY_RESOURCE', 'INVAL_PROC', 'INVAL_OPTION', 'SYSTEM']
        for err in range(1, 7):
            transport = decode(fixed(4) + u32(err, 7, 9))['transport']
            self.assertEqual(transport['rdma_err_name'], 'RDMA2_ERR_' + names[err])
            self.assertEqual((transport.get('rdma_vers_low'), transport.get('rdma_vers_high')),
                             (7, 9) if err == 1 else (None,) * 2)
            self.assertEqual((transport.get('rdma_segment_index'),
                              transport.get('rdma_length_needed')),
                             (7, 9) if err == 3 else (None,) * 2)
        self.assertEqual(decode(VECTORS['L'])['transport']['rdma_err_name'],
                         'RDMA2_ERR_INVAL_OPTION')

    def test_verdicts(self):
        self.assertEqual(verdict(fixed(4) + u32(7)), ('drop', 'error_malformed'))
        self.assertEqual(verdict(fixed(2) + u32(0)), ('err_inval_proc', 'proc'))
        self.assertEqual(verdict(fixed()), ('err_bad_xdr', 'truncated'))
        self.assertEqual(verdict(fixed(5) + u32(0, 99, 0)), ('err_inval_option', 'option'))
        self.assertEqual(verdict(fixed() + u32(0, 0, 0, 0, 0) + CALL[:12]),
                         ('err_bad_xdr', 'rpc_header'))
        self.assertEqual(verdict(fixed(5) + u32(0, 5, 20, 65, 0, 1, 1, 0)),
                         ('err_system', 'too_many_items'))
        self.assertIsNone(decode(fixed(5) + u32(0, 99, 0))['transport']['rdma_optinfo'])


class Properties(unittest.TestCase):
    def test_connprop(self):
        transport = decode(VECTORS['J'])['transport']
        self.assertEqual([value['rdma_which'] for value in transport['rdma_start']],
                         [1, 2, 3, 4, 5, 6])
        self.assertEqual([value['rdma_which_name'] for value in transport['rdma_start']],
                         ['RDMA2_PROPID_RBSIZ', 'RDMA2_PROPID_BRS', 'XPROP_RTRSUPP',
                          'XPROP_RBSTRUCT', 'XPROP_REQRXLIM', 'XPROP_RESPSXLIM'])
        size, requests, support, structure = transport['rdma_start'][:4]
        self.assertEqual(size['value'], 36864)
        self.assertEqual(requests['value_name'], 'RDMA2_BKREQSUP_INLINE')
        self.assertTrue(support['RTRS_XREQ'] and support['RTRS_XRESP'] and support['RTRS_XCONT'])
        self.assertEqual((structure['xmrbuf_length'], structure['is_consistent']), (36864, True))
        self.assertEqual(structure['xmrbuf_groups'][1],
                         {'xmrgrp_count': 8, 'xmrseg_length': 4096, 'xmrseg_align': 4096,
                          'xmrseg_flags': '0x00000001'})
        self.assertEqual(transport['rdma_nochg'], [0, 1, 2, 3, 4, 5])

    def test_others(self):
        value = u32(1, 99, 5) + b'abcde\0\0\0'
        shown = [{'rdma_which': 99, 'rdma_which_name': 'unknown', 'rdma_data_bytes': 5}]
        self.assertEqual(decode(fixed(7) + value)['transport']['rdma_want'], shown)
        self.assertEqual(decode(fixed(9) + value)['transport']['rdma_now'], shown)
        transport = decode(fixed(8) + u32(2, 1, 1, 1, 2) + u32(1, 1, 0))['transport']
        self.assertEqual((transport['rdma_done'], transport['rdma_rejected']), ([0, 32], [1]))
        self.assertIsNone(transport['rdma_other'][0]['value'])


class Extension(unittest.TestCase):
    def test_request(self):
        got = decode(VECTORS['A'])
        self.assertEqual((got['transport']['rdma_optdir'], got['transport']['rdma_opttype']),
                         ('CALL', 5))
        self.assertEqual(got['transport']['rdma_optinfo'], {
            'operation': 'ROPT_XMTREQ', 'optxrq_ddp': [], 'optxrq_rsd': [], 'optxrq_count': 1,
            'optxrq_rsbuf': 1, 'optxrq_pslen': 40})
        self.assertEqual(got['rpc']['prog'], 100003)

    def test_placed_by_send(self):
        info = decode(VECTORS['B'])['transport']['rdma_optinfo']
        self.assertEqual(info['optxrq_ddp'],
                         [{'xmdmi_disp': 96, 'xmdmi_length': 8192, 'xmdmi_where': {
            'type': 'XMDTYPE_TBSN', 'xmdl_offset': 0, 'xmdl_bsnum': [0, 1]}}])

    def test_directions(self):
        info = decode(VECTORS['C'])['transport']['rdma_optinfo']
        self.assertEqual(info['optxrq_rsd'], [
            {'xmdrsds_range': {'xmdrsdr_begin': 40, 'xmdrsdr_end': 88}, 'xmdrsds_items': [
            {'xmdrsdi_minlen': 512,
             'xmdrsdi_loc': {'type': 'XMDTYPE_BYSIZE', 'xmdrsdl_dsdov': 8192, 'xmdrsdl_bsex': [
                {'rdma_handle': '0x0000abcd', 'rdma_length': 65536,
                 'rdma_offset': '0x0000000000001000'}]}}]}])

    def test_response(self):
        info = decode(VECTORS['E'])['transport']['rdma_optinfo']
        self.assertEqual([item['xmdmi_where'] for item in info['optxrs_ddp']],
                         [{'type': 'XMDTYPE_TOOSHORT'}, {'type': 'XMDTYPE_NOITEM'}])
        self.assertEqual((info['optxrs_count'], info['optxrs_pslen']), (1, 144))

    def test_segments_of_both_kinds(self):
        segment = struct.pack('>2IQ', 5, 8, 1)
        shown = [{'rdma_handle': '0x00000005', 'rdma_length': 8,
                  'rdma_offset': '0x0000000000000001'}]
        info = u32(1, 44, 8, 1, 1) + segment + u32(1, 0, 60, 2, 9, 3,
                                                   1) + segment + u32(9, 2) + u32(1, 1, 40)
        info = decode(fixed(5) + u32(0, 5, len(info)) + info + CALL)['transport']['rdma_optinfo']
        self.assertEqual(info['optxrq_ddp'][0]['xmdmi_where'],
                         {'type': 'XMDTYPE_EXRW', 'xmdl_ex': shown})
        self.assertEqual([item['xmdrsdi_loc'] for item in info['optxrq_rsd'][0]['xmdrsds_items']],
                         [{'type': 'XMDTYPE_CHOICE', 'xmdrsdl_ex': shown},
                          {'type': 'XMDTYPE_TBSN'}])

    def test_continuation(self):
        info = decode(fixed(5) + u32(1, 7, 12, 2, 6, 8) + b'abcdefgh')['transport']['rdma_optinfo']
        self.assertEqual(info, {'operation': 'ROPT_XMTCONT', 'optxc_xnum': 2, 'optxc_itype': 6,
                                'optxc_pslen': 8})

    def test_reports(self):
        info = decode(VECTORS['H'])['transport']['rdma_optinfo']
        self.assertEqual(info['optre_bad'],
                         {'xmsi_xid': '0x00000016', 'xmsi_dir': 'CALL', 'xmsi_seq': 1})
        self.assertEqual((info['optre_lead'], info['optre_info']),
                         (None, {'optre_which': 'OPTRERR_BADCONT'}))
        bad = u32(0x16, 1, 3)
        info = decode(fixed(5) + u32(1, 8, 44) + bad + u32(1) + bad +
                      u32(7, 9, 0, 8))['transport']['rdma_optinfo']
        self.assertEqual(info['optre_lead'],
                         {'xmsi_xid': '0x00000016', 'xmsi_dir': 'REPLY', 'xmsi_seq': 3})
        self.assertEqual(info['optre_info'], {'optre_which': 'OPTRERR_BADTBSN', 'optri_value': 9,
                                              'optri_min': 0, 'optri_max': 8})
        info = decode(fixed(5) + u32(1, 8, 28) + bad + u32(0, 4, 1, 0))['transport']['rdma_optinfo']
        self.assertEqual(info['optre_info'],
                         {'optre_which': 'OPTRERR_BADSEQ', 'optri_expect': 1, 'optri_current': 0})


class Any(unittest.TestCase):
    def test_json_is_valid_for_any_bytes(self):
        rng = random.Random(8166)
        for name in sorted(VECTORS):
            for _ in range(8):
                message = bytearray(VECTORS[name])
                for _ in range(rng.randrange(1, 4)):
                    message[rng.randrange(8, len(message))] = rng.randrange(256)
                decode(bytes(message[:rng.randrange(8, len(message) + 1)]))


if __name__ == '__main__':
    VECTORS = read_vectors(pathlib.Path(sys.argv.pop(2)))
    PROGRAM = sys.argv.pop(1)
    unittest.main()
