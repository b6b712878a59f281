# SPDX-License-Identifier: BSD-3-Clause
"""Writes the dispatchers of programs that are served over another transport than weir."""

from rpcl import names
from rpcl.codec import Getter, Place, Putter
from rpcl.rpc import handlers_of
from rpcl.types import function_type

HANDLERS = '''\
The handlers of a server that receives calls over another transport than weir, such as TCP.

A handler returns an accept_stat. With WEIR_RPC_SUCCESS, *results points to the results, which the
dispatcher encodes after the handler has returned. If the handler leaves *results NULL, nothing is
encoded, and the server can encode the results later. Opaques and strings of the arguments refer to
the message.

A procedure whose handler is NULL is answered with PROC_UNAVAIL, and procedure 0 with an empty
reply.'''
DISPATCHER = '''\
Decodes the arguments of a call, calls its handler and encodes the results. 'call' is passed to the
handler. %sThe result is that of the handler or one of these:
- WEIR_RPC_PROC_UNAVAIL: the procedure is unknown.
- WEIR_RPC_GARBAGE_ARGS: the arguments are malformed.
- WEIR_RPC_SYSTEM_ERR: the results are wrong or exceed 'out'%s.'''
ARENA = "'arena' is memory for arrays and lists of arguments. "


class MessageWriter:
    def __init__(self, spec, bounds, versions):
        self.spec = spec
        self.bounds = bounds
        self.versions = versions

    @staticmethod
    def handler_parameters(stub, avoided):
        results = [text.replace('*results', '**results')
                   for text in stub.results_parameter(avoided=avoided)]
        return ['void *call'] + stub.args_parameter(avoided=avoided) + results

    @staticmethod
    def needs_memory(stubs):
        return any(stub.args_bound.needs_memory for stub in stubs)

    def parameters(self, stub, prefix):
        """Returns the parameters of the function that serves a procedure."""
        return (['const struct %s_calls *handlers' % prefix, 'void *call'] +
                (['struct weir_xdr_in *in'] if stub.args else []) +
                (['struct weir_xdr_out *out'] if stub.results else []) +
                (['struct weir_xdr_arena *arena'] if stub.args_bound.needs_memory else []))

    def dispatcher(self, prefix, stubs, end):
        return ('enum weir_rpc_accept_stat %s_serve(' % prefix, [
            'const struct %s_calls *handlers' % prefix, 'void *call', 'uint32_t proc',
            'struct weir_xdr_in *in', 'struct weir_xdr_out *out'] +
            (['struct weir_xdr_arena *arena'] if self.needs_memory(stubs) else []), end)

    # ---- header ----

    def write_header(self, text):
        for _, version, stubs in self.versions:
            prefix = version.prefix
            needs_memory = self.needs_memory(stubs)
            text.blank()
            text.comment(HANDLERS, True)
            text.add('struct %s_calls {' % prefix)
            text.depth += 1
            for stub in stubs:
                text.call('enum weir_rpc_accept_stat (*%s)(' % stub.procedure.handler,
                          self.handler_parameters(stub, handlers_of(stubs)), ');')
            text.depth -= 1
            text.add('};', '')
            text.comment(DISPATCHER % ((ARENA, ', or the arena is too small') if needs_memory
                                       else ('', '')), True)
            text.call(*self.dispatcher(prefix, stubs, ');'))

    # ---- source ----

    def write_source(self, text):
        for _, version, stubs in self.versions:
            prefix = version.prefix
            for stub in stubs:
                self.write_procedure(text, prefix, stub)
            text.blank()
            text.call(*self.dispatcher(prefix, stubs, ')'))
            text.add('{')
            text.depth += 1
            for name, is_used in (('in', any(stub.args for stub in stubs)),
                                  ('out', any(stub.results for stub in stubs))):
                if not is_used:
                    text.add('(void)%s;' % name)
            text.add('switch (proc) {')
            for stub in stubs:
                arguments = [part.rsplit(' ', 1)[1].lstrip('*')
                             for part in self.parameters(stub, prefix)]
                text.add('case %s:' % stub.procedure.c_name,
                         '\treturn serve_%s(%s);' % (stub.stem, ', '.join(arguments)))
            text.add('default:', '\treturn WEIR_RPC_PROC_UNAVAIL;', '}')
            text.depth -= 1
            text.add('}')

    def write_procedure(self, text, prefix, stub):
        handler = 'handlers->%s' % stub.procedure.handler
        is_null = not stub.args and not stub.results and stub.procedure.value.number == 0
        arguments = ['call'] + (['&args'] if stub.args else []) + \
            (['&results'] if stub.results else [])
        text.blank()
        text.call('static enum weir_rpc_accept_stat serve_%s(' % stub.stem,
                  self.parameters(stub, prefix), ')')
        text.add('{')
        text.depth += 1
        if stub.args:
            text.add('%s args;' % names.type_of(stub.args))
        if stub.results:
            text.add(*[part + ' = NULL;' for part in stub.results_parameter()],
                     'enum weir_rpc_accept_stat status;')
        if stub.args or stub.results:
            text.add('')
        text.add('if (!%s)' % handler, '\treturn %s;' % (
            'WEIR_RPC_SUCCESS' if is_null else 'WEIR_RPC_PROC_UNAVAIL'))
        if stub.args:
            self.write_decode(text, stub)
        call = '%s(%s);' % (handler, ', '.join(arguments))
        if stub.results:
            text.add('status = ' + call)
            self.write_encode(text, stub)
        else:
            text.add('return ' + call)
        text.depth -= 1
        text.add('}')

    def write_decode(self, text, stub):
        getter = Getter(text, self.spec, self.bounds, stub.args)
        getter.write_named(function_type(stub.args), Place('args'))
        text.condition('if', getter.group, '')
        error = 'WEIR_RPC_GARBAGE_ARGS'
        if stub.args_bound.needs_memory:
            error = 'arena->is_exhausted ? WEIR_RPC_SYSTEM_ERR : ' + error
        text.add('\treturn %s;' % error)

    def write_encode(self, text, stub):
        putter = Putter(text, self.spec, self.bounds, stub.results)
        putter.write_named(function_type(stub.results), Place('results', True))
        text.add('if (status == WEIR_RPC_SUCCESS && results && %s)' % putter.group[0],
                 '\treturn WEIR_RPC_SYSTEM_ERR;', 'return status;')
