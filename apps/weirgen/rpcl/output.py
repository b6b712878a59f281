# SPDX-License-Identifier: BSD-3-Clause
"""Puts the generated files together."""

from rpcl import codec, types
from rpcl.bounds import Bounds
from rpcl.c_names import Chooser
from rpcl.messages import MessageWriter
from rpcl.rpc import RpcWriter
from rpcl.text import Text


class Output:
    """The files for one specification: {name: text}."""

    def __init__(self, source_name, stem, spec, passed, licence, has_messages=False):
        self.source_name = source_name
        self.stem = stem
        self.spec = spec
        self.passed = passed
        self.licence = licence
        self.bounds = Bounds(spec)
        self.has_messages = has_messages
        self.rpc = RpcWriter(spec, self.bounds)
        self.messages = MessageWriter(spec, self.bounds, self.rpc.versions)
        chooser = Chooser(spec, self.bounds, self.rpc.versions, has_messages)
        chooser.choose()
        self.known = chooser.members.union(chooser.used, chooser.fixed)

    def files(self):
        files = {'%s_xdr.h' % self.stem: self.types_header(),
                 '%s_xdr.c' % self.stem: self.types_source()}
        if self.spec.programs:
            files['%s_rpc.h' % self.stem] = self.rpc_header()
            files['%s_rpc.c' % self.stem] = self.rpc_source()
            if self.has_messages:
                files['%s_msg.h' % self.stem] = self.message_header()
                files['%s_msg.c' % self.stem] = self.message_source()
        return {name: str(text) for name, text in files.items()}

    def begin(self, what):
        text = Text()
        text.comment('SPDX-License-Identifier: ' + self.licence)
        text.comment('weirgen made this file from %s: %s. Do not edit it.' % (self.source_name,
                                                                               what))
        return text

    def header(self, suffix, what, includes):
        text = self.begin(what)
        guard = '%s_%s_H' % (self.stem.upper().replace('-', '_').replace('.', '_'), suffix)
        while guard in self.known:
            guard += '_'
        text.add('#ifndef ' + guard, '#define ' + guard, '',
                 *['#include ' + name if name else '' for name in includes], '')
        return text

    def types_header(self):
        text = self.header('XDR', 'types, and functions that encode and decode them',
                           ['<weir/codec.h>'])
        text.comment(
            'TYPE_get() decodes a value. Opaques and strings refer to the message. After an error '
            'the value is not valid. It returns 0 or one of these:\n'
            '- -EBADMSG: the data are malformed or exceed a limit.\n'
            '- -ENOMEM: the arena is too small.\n\n'
            'TYPE_put() encodes a value. It returns 0 or one of these:\n'
            '- -ENOSPC: the buffer is too small.\n'
            '- -EINVAL: a length exceeds its limit, or a discriminant has no arm.\n\n'
            'TYPE_bytes() returns the number of bytes that TYPE_put() writes. If the size is '
            'always TYPE_MAX_BYTES, there is no such function.\n\n'
            'TYPE_MAX_BYTES is the largest size, if there is one, without the data of DDP-eligible '
            'items. TYPE_ARENA_BYTES is the largest arena that TYPE_get() needs, if there is one.')
        text.add('')
        for line in self.passed:
            text.add(line)
        text.blank()
        text.add('WEIR_BEGIN_DECLS', '')
        types.write_constants(text, self.spec)
        types.write_forward(text, self.spec)
        for kind in self.spec.types:
            types.write_type(text, kind)
        text.blank()
        for kind in self.spec.types:
            types.write_sizes(text, kind, self.bounds.known[kind])
        for kind in self.spec.types:
            codec.declare(text, self.spec, self.bounds, kind)
        text.add('', 'WEIR_END_DECLS', '', '#endif')
        return text

    def types_source(self):
        text = self.begin('functions that encode and decode types')
        text.add('#include "%s_xdr.h"' % self.stem)
        for kind in self.spec.types:
            codec.define(text, self.spec, self.bounds, kind)
        return text

    def rpc_header(self):
        text = self.header('RPC', 'programs', ['<weir/call.h>', '<weir/request.h>', '',
                                               '"%s_xdr.h"' % self.stem])
        text.add('WEIR_BEGIN_DECLS', '')
        self.rpc.write_header(text)
        text.add('', 'WEIR_END_DECLS', '', '#endif')
        return text

    def rpc_source(self):
        text = self.begin('programs')
        text.add('#include "%s_rpc.h"' % self.stem, '')
        self.rpc.write_source(text)
        return text

    def message_header(self):
        text = self.header('MSG', 'dispatchers of programs, for other transports than weir',
                           ['<weir/rpc.h>', '', '"%s_xdr.h"' % self.stem])
        text.add('WEIR_BEGIN_DECLS', '')
        self.messages.write_header(text)
        text.add('', 'WEIR_END_DECLS', '', '#endif')
        return text

    def message_source(self):
        text = self.begin('dispatchers of programs, for other transports than weir')
        # All headers of weir come before the constants, which are macros.
        text.add('#include "%s_rpc.h"' % self.stem, '#include "%s_msg.h"' % self.stem)
        self.messages.write_source(text)
        return text
