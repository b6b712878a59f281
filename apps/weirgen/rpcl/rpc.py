# SPDX-License-Identifier: BSD-3-Clause
"""Writes bindings, dispatchers and client stubs of the programs of a specification."""

from rpcl import model, names
from rpcl.bounds import Bound
from rpcl.check import members_of
from rpcl.codec import Getter, Place, Putter, is_fixed_size
from rpcl.model import InputError
from rpcl.types import function_type, has_functions, literal

U32_MAX = 0xffffffff
ITEMS_MAX = 8 # of a weir_call and of a weir_request
USUAL_BYTES = 1024 # a bound up to this is used as it is; otherwise the size of the data is computed
# Structures of weir that begin with their size.
WITH_SIZE = ('weir_program', 'weir_ulb')

FUNCTIONS = '''\
The functions of each procedure. Those of a procedure without arguments or results lack the
parameter.

PROCEDURE_reply() replies to a request and frees it. It returns 0 in this case. Otherwise the
request is unchanged, and the result is one of these:
- -ENOBUFS: no buffer is free; see weir_request_retry_when_buffers().
- -ENOSPC: the results exceed their largest size.
- -EINVAL: a length or a discriminant is wrong, or weir refuses an item.

PROCEDURE_begin() begins a call, which the caller submits. It sets the members of params that depend
on the procedure. results_max_bytes is the largest size of the results if it is 0 or too large.
The rooms are memory for the items of the results, in their order; nrooms can be 0. It returns
NULL with errno: any error of weir_call_begin(), weir_call_arg_item() and
weir_call_result_item(), or EINVAL if a length or a discriminant is wrong.

PROCEDURE_reuse() does the same as weir_call_reuse(), with new arguments.

PROCEDURE_results() decodes the results in weir_call_params.done. It returns 0, the status of the
result, or one of these:
- -EPROTO: the responder rejected the call; result->reply says why.
- -EBADMSG: the results are malformed.
- -ENOMEM: the arena is too small.'''
RESULTS = '''struct weir_results {
	const struct weir_call *call;
	const struct weir_result *result;
	struct weir_xdr_in *in;
	uint32_t nitems; /* items that were decoded */
};'''
HELPERS = {
    'get_result_item': ('Decodes an item, which can be in the memory that the call offered.', '''\
static int get_result_item(struct weir_results *results, struct weir_xdr_item *value,
			   uint32_t max_bytes)
{
	value->region = NULL;
	return weir_result_opaque(results->call, results->result, results->nitems++, &value->data,
				  max_bytes, &value->len_bytes);
}'''),
    'put_call_item': ('Encodes an item of a call, by reference if it has a region.', '''\
static int put_call_item(struct weir_call *call, struct weir_xdr_out *out,
			 const struct weir_xdr_item *value, uint32_t max_bytes)
{
	if (value->len_bytes > max_bytes)
		return -EINVAL;
	if (!value->region)
		return weir_xdr_put_opaque(out, value->data, value->len_bytes);
	return weir_call_arg_item(call, value->region, value->data, value->len_bytes);
}'''),
    'put_reply_item': ('Encodes an item of a reply, by reference if it has a region.', '''\
static int put_reply_item(struct weir_request *req, struct weir_xdr_out *out,
			  const struct weir_xdr_item *value, uint32_t max_bytes)
{
	if (value->len_bytes > max_bytes)
		return -EINVAL;
	if (!value->region)
		return weir_xdr_put_opaque(out, value->data, value->len_bytes);
	return weir_request_result_item(req, value->region, value->data, value->len_bytes);
}'''),
    'offer_rooms': ('Offers memory for the items of the results.', '''\
static int offer_rooms(struct weir_call *call, const struct weir_xdr_room *rooms, uint32_t nrooms)
{
	int rc = 0;

	for (uint32_t i = 0; i < nrooms && rc == 0; i++)
		rc = weir_call_result_item(call, rooms[i].region, rooms[i].data,
					   rooms[i].max_bytes);
	return rc;
}'''),
    'complete': ('Ends the description of a call. After an error, the call is abandoned.', '''\
static struct weir_call *complete(struct weir_call *call, int rc)
{
	if (rc == 0)
		return call;
	weir_call_abandon(call);
	errno = -rc;
	return NULL;
}'''),
    'status_of': ('Returns 0 if the call has results.', '''\
static int status_of(const struct weir_result *result)
{
	if (result->status != 0)
		return result->status;
	if (result->reply->reply_stat != WEIR_RPC_MSG_ACCEPTED ||
	    result->reply->accept_stat != WEIR_RPC_SUCCESS)
		return -EPROTO;
	return 0;
}'''),
}


class Stub:
    """The types and limits of one procedure of one version."""

    def __init__(self, program, version, procedure, bounds):
        self.program = program
        self.version = version
        self.procedure = procedure
        self.stem = procedure.stem
        self.macro = procedure.macro
        self.args = procedure.args
        self.results = procedure.result
        self.args_bound = bounds.of(self.args, None) if self.args else Bound()
        self.results_bound = bounds.of(self.results, None) if self.results else Bound()
        self.args_max = self.limit('args', 'arguments', self.args_bound)
        self.results_max = self.limit('results', 'results', self.results_bound)
        for what, bound in (('arguments', self.args_bound), ('results', self.results_bound)):
            if bound.items is None or bound.items > ITEMS_MAX:
                raise InputError(procedure.position, "the %s of '%s' can have more than %d "
                                 'DDP-eligible items' % (what, procedure.name, ITEMS_MAX))

    def limit(self, which, what, bound):
        """Returns the largest size of the arguments or results, from the types or an
        annotation."""
        note = self.procedure.notes.get(which + '_max')
        if note:
            number = note[1].number
            return number if bound.high is None else min(number, bound.high)
        if bound.high is None or bound.high > U32_MAX:
            place = bound.why and ', as line %d sets no limit' % bound.why[0] or ''
            raise InputError(self.procedure.position, "the %s of '%s' have no bound%s: add a limit "
                             'there, or /* weir: %s_max BYTES */ here' % (
                                 what, self.procedure.name, place, which))
        return bound.high

    def pointer(self, kind, name, is_const, avoided=()):
        c_type = names.type_of(kind, avoided)
        if not is_const:
            return [names.pointer_to(c_type, name)]
        if c_type.endswith('*') or isinstance(model.final(kind), model.Optional):
            return ['%s const *%s' % (c_type, name)]
        return ['const ' + names.pointer_to(c_type, name)]

    def args_parameter(self, is_const=True, avoided=()):
        return self.pointer(self.args, 'args', is_const, avoided) if self.args else []

    def results_parameter(self, is_const=True, avoided=()):
        return self.pointer(self.results, 'results', is_const, avoided) if self.results else []

    def call_parameters(self):
        rooms = ['const struct weir_xdr_room *rooms', 'uint32_t nrooms'] \
            if self.results_bound.items else []
        return self.args_parameter() + rooms


def handlers_of(stubs):
    """Returns the members of the structure of the handlers."""
    return {stub.procedure.handler for stub in stubs}


def stubs_of(spec, bounds):
    """Returns the Stubs of each version, as (program, version, stubs)."""
    return [(program, version, [Stub(program, version, procedure, bounds)
                                for procedure in version.procedures])
            for program in spec.programs for version in program.versions]


class RpcWriter:
    def __init__(self, spec, bounds):
        self.spec = spec
        self.bounds = bounds
        self.versions = stubs_of(spec, bounds)
        self.stubs = [stub for _, _, stubs in self.versions for stub in stubs]

    # ---- header ----

    def write_header(self, text):
        written = set()
        for program, version, stubs in self.versions:
            for definition, number in [(program, program.value.number),
                                       (version, version.value.number)] + [
                                           (stub.procedure, stub.procedure.value.number)
                                           for stub in stubs]:
                if definition.c_name not in written:
                    text.add('#define %s %s' % (definition.c_name, literal(number)))
                written.add(definition.c_name)
            self.declare_version(text, version, stubs)

    def declare_version(self, text, version, stubs):
        prefix = version.prefix
        text.blank()
        text.comment('Sizes of arguments and results in bytes of XDR, without the data of items.')
        for stub in stubs:
            text.add('#define %s_ARGS_MAX_BYTES %s' % (stub.macro, literal(stub.args_max)),
                     '#define %s_RESULTS_MAX_BYTES %s' % (stub.macro, literal(stub.results_max)))
        text.blank()
        text.comment('The binding: which items are DDP-eligible.', True)
        text.add('extern const struct weir_ulb %s_ulb;' % prefix, '')
        if any('non_idempotent' in stub.procedure.notes for stub in stubs):
            text.comment('The procedures that are not idempotent.', True)
            text.add('extern const bool %s_non_idempotent[%d];' % (prefix, nprocs(stubs)), '')
        text.comment('Returns the name of a procedure for messages, or "?".', True)
        text.add('const char *%s_proc_name(uint32_t proc);' % prefix)
        self.declare_server(text, prefix, stubs)
        text.add('')
        text.comment(FUNCTIONS)
        for stub in stubs:
            self.declare_client(text, stub)

    @staticmethod
    def needs_memory(stubs):
        return any(stub.args_bound.needs_memory for stub in stubs)

    def declare_server(self, text, prefix, stubs):
        text.blank()
        text.comment('The handlers of a responder, one for each procedure.\n'
                     '\nA handler, or other code after it, calls the ..._reply() function of the '
                     'procedure, or another weir_request_reply_*() function. The arguments are '
                     'valid until the handler returns; the data to which opaques and strings refer '
                     'are valid until the reply. If the arguments of a request were released '
                     '(weir_request_args_released()), args is NULL.\n'
                     '\nA procedure whose handler is NULL is answered with PROC_UNAVAIL, and '
                     'procedure 0 with an empty reply.', True)
        text.add('struct %s_handlers {' % prefix)
        text.depth += 1
        for stub in stubs:
            text.call('void (*%s)(' % stub.procedure.handler, ['struct weir_request *req'] +
                      stub.args_parameter(avoided=handlers_of(stubs)) + ['void *arg'], ');')
        text.depth -= 1
        text.add('};', '')
        text.comment('A responder. It must exist as long as the listener and its connections.',
                     True)
        text.add('struct %s_server {' % prefix,
                 '\tconst struct %s_handlers *handlers;' % prefix,
                 '\tvoid *arg; /**< passed to the handlers */')
        if self.needs_memory(stubs):
            text.depth += 1
            text.comment('Memory for arrays and lists of arguments; WEIR_XDR_ARENA_ALIGN divides '
                         'its address. If a call needs more, it is answered with SYSTEM_ERR.', True)
            text.add('void *memory;', 'size_t memory_bytes; /**< size of memory */')
            text.depth -= 1
        text.add('};', '')
        text.comment('Returns the entry of the program for weir_listen_options.programs.', True)
        text.add('struct weir_program %s_program(struct %s_server *server);' % (prefix, prefix), '')
        text.comment('Decodes the arguments of a request and calls its handler. It is the handle '
                     'function of the entry.', True)
        text.add('void %s_dispatch(struct weir_request *req, void *server);' % prefix)

    def declare_client(self, text, stub):
        text.blank()
        text.comment(stub.procedure.name)
        text.call('int %s_reply(' % stub.stem, ['struct weir_request *req'] +
                  stub.results_parameter(), ');')
        text.call('struct weir_call *%s_begin(' % stub.stem, [
            'struct weir_conn *conn', 'const struct weir_call_params *params'] +
            stub.call_parameters(), ');')
        text.call('struct weir_call *%s_reuse(' % stub.stem, [
            'struct weir_call *call', 'struct weir_conn *conn'] + stub.call_parameters(), ');')
        text.call('int %s_results(' % stub.stem, self.results_parameters(stub), ');')

    @staticmethod
    def results_parameters(stub):
        arena = ['struct weir_xdr_arena *arena'] if stub.results_bound.needs_memory else []
        return ['const struct weir_call *call', 'const struct weir_result *result'] + arena + \
            stub.results_parameter(False)

    # ---- source ----

    def write_source(self, text):
        call = self.with_items(stub.args for stub in self.stubs)
        reply = self.with_items(stub.results for stub in self.stubs)
        wanted = []
        if reply:
            text.comment('The state of the decoder of results that have items.')
            text.add(*RESULTS.split('\n'), '')
            wanted += ['get_result_item', 'put_reply_item', 'offer_rooms']
        if call:
            wanted.append('put_call_item')
        for name in wanted + ['complete', 'status_of']:
            text.comment(HELPERS[name][0])
            text.add(*HELPERS[name][1].split('\n'), '')
        for kind in self.spec.types:
            arguments = (text, self.spec, self.bounds, kind)
            if kind in call:
                Putter(*arguments, target='call').write_function(kind.name + '_put_call', True)
            if kind in reply:
                Putter(*arguments, target='reply').write_function(kind.name + '_put_reply', True)
                Getter(*arguments, results=True).write_function(kind.name + '_get_result', True)
        for program, version, stubs in self.versions:
            self.write_tables(text, program, version, stubs)
            self.write_server(text, version, stubs)
            for stub in stubs:
                self.write_client(text, stub)

    def with_items(self, roots):
        """Returns the types with items that the roots are or contain."""
        found, stack = set(), [root for root in roots if root]
        while stack:
            kind = stack.pop()
            while isinstance(kind, (model.Array, model.Optional)):
                kind = kind.element
            kind = function_type(kind)
            if isinstance(kind, (model.Base, model.Opaque)) or kind in found or \
                    not self.bounds.known[kind].items:
                continue
            if has_functions(kind):
                found.add(kind)
            stack += [member.type for member in self.parts_of(kind)
                      if not isinstance(member.type, model.Opaque)]
        return found

    @staticmethod
    def parts_of(kind):
        """Returns the members of a definition, with those of its flat members."""
        parts, stack = [], [kind]
        while stack:
            for member in members_of(stack.pop()):
                if member.is_flat:
                    stack.append(model.final(member.type))
                else:
                    parts.append(member)
        return parts

    @staticmethod
    def initialise(text, head, struct, members):
        """Writes an initialiser of a structure of weir."""
        if struct in WITH_SIZE:
            members = [('struct_bytes', 'sizeof(struct %s)' % struct)] + members
        text.add(head + ' {')
        text.add(*['\t.%s = %s,' % member for member in members], '};')

    def write_tables(self, text, program, version, stubs):
        prefix = version.prefix
        eligible = [stub for stub in stubs if stub.args_bound.items or stub.results_bound.items]
        text.blank()
        if eligible:
            text.add('static const struct weir_ulb_proc %s_procs[] = {' % prefix)
            for stub in eligible:
                text.add('\t{.proc = %s, .arg_items_max = %d, .result_items_max = %d},' % (
                    stub.procedure.c_name, stub.args_bound.items, stub.results_bound.items))
            text.add('};', '')
        self.initialise(text, 'const struct weir_ulb %s_ulb =' % prefix, 'weir_ulb', [
            ('name', '"%s version %d"' % (program.name, version.value.number)),
            ('prog', program.c_name), ('vers_low', version.c_name), ('vers_high', version.c_name)] +
            ([('procs', prefix + '_procs'),
              ('nprocs', 'sizeof(%s_procs) / sizeof(%s_procs[0])' % (prefix, prefix))]
             if eligible else []))
        kept = [stub for stub in stubs if 'non_idempotent' in stub.procedure.notes]
        if kept:
            text.blank()
            text.add('const bool %s_non_idempotent[%d] = {' % (prefix, nprocs(stubs)))
            text.add(*['\t[%s] = true,' % stub.procedure.c_name for stub in kept], '};')
        text.blank()
        text.add('const char *%s_proc_name(uint32_t proc)' % prefix, '{', '\tswitch (proc) {')
        for stub in stubs:
            text.add('\tcase %s:' % stub.procedure.c_name, '\t\treturn "%s";' % stub.procedure.name)
        text.add('\tdefault:', '\t\treturn "?";', '\t}', '}')

    def write_server(self, text, version, stubs):
        prefix = version.prefix
        for stub in stubs:
            self.write_reply(text, stub)
            self.write_handle(text, prefix, stub)
        text.blank()
        text.add('void %s_dispatch(struct weir_request *req, void *arg)' % prefix, '{',
                 '\tstruct %s_server *server = (struct %s_server *)arg;' % (prefix, prefix), '',
                 '\tswitch (weir_request_header(req)->proc) {')
        for stub in stubs:
            text.add('\tcase %s:' % stub.procedure.c_name,
                     '\t\thandle_%s(req, server);' % stub.stem, '\t\tbreak;')
        text.add('\tdefault:', '\t\tweir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);', '\t}',
                 '}', '')
        text.add('struct weir_program %s_program(struct %s_server *server)' % (prefix, prefix), '{')
        text.depth += 1
        members = [('prog', stubs[0].program.c_name), ('vers_low', version.c_name),
                   ('vers_high', version.c_name), ('nprocs', literal(nprocs(stubs))),
                   ('ulb', '&%s_ulb' % prefix), ('handle', '%s_dispatch' % prefix),
                   ('arg', 'server')]
        if any('non_idempotent' in stub.procedure.notes for stub in stubs):
            members.append(('non_idempotent', '%s_non_idempotent' % prefix))
        self.initialise(text, 'struct weir_program program =', 'weir_program', members)
        text.add('', 'return program;')
        text.depth -= 1
        text.add('}')

    def write_handle(self, text, prefix, stub):
        handler = 'server->handlers->%s' % stub.procedure.handler
        text.blank()
        text.add('static void handle_%s(struct weir_request *req, struct %s_server *server)' % (
            stub.stem, prefix), '{')
        text.depth += 1
        if stub.args:
            text.add('struct weir_xdr_in *in = weir_request_args(req);',
                     '%s args;' % names.type_of(stub.args))
            if stub.args_bound.needs_memory:
                text.add('struct weir_xdr_arena memory, *arena = &memory;')
            text.add('')
        empty = not stub.args and not stub.results and stub.procedure.value.number == 0
        text.add('if (!%s) {' % handler)
        if empty:
            text.add('\tif (%s_reply(req) != 0)' % stub.stem,
                     '\t\tweir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);')
        else:
            text.add('\tweir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);')
        text.add('\treturn;', '}')
        if stub.args:
            self.write_decode(text, stub, handler)
        text.add('%s(req, %sserver->arg);' % (handler, '&args, ' if stub.args else ''))
        text.depth -= 1
        text.add('}')

    def write_decode(self, text, stub, handler):
        error = 'WEIR_RPC_GARBAGE_ARGS'
        if stub.args_bound.needs_memory:
            text.add('weir_xdr_arena_init(arena, server->memory, server->memory_bytes);')
            error = 'arena->is_exhausted ? WEIR_RPC_SYSTEM_ERR\n\t\t\t: ' + error
        getter = Getter(text, self.spec, self.bounds, stub.args)
        getter.write_named(function_type(stub.args), Place('args'))
        text.condition('if', getter.group, ' {')
        text.add('\tif (weir_request_args_released(req))',
                 '\t\t%s(req, NULL, server->arg);' % handler, '\telse',
                 *('\t\tweir_request_reply_error(req, %s);' % error).split('\n'),
                 '\treturn;', '}')

    def write_reply(self, text, stub):
        bound = stub.results_bound
        text.blank()
        text.call('int %s_reply(' % stub.stem, ['struct weir_request *req'] +
                  stub.results_parameter(), ')')
        text.add('{')
        text.depth += 1
        if not stub.results:
            text.add('if (!weir_request_results(req, 0))', '\treturn -ENOBUFS;',
                     'weir_request_reply(req);', 'return 0;')
            text.depth -= 1
            text.add('}')
            return
        is_usual = stub.results_max <= USUAL_BYTES and not has_note(stub, 'results')
        size = stub.macro + '_RESULTS_MAX_BYTES'
        target = 'reply' if bound.items else ''
        putter = Putter(text, self.spec, self.bounds, stub.results, target=target)
        putter.write_named(function_type(stub.results), Place('results', True))
        put = putter.group[0].rsplit(' != 0', 1)[0]
        if is_usual and not bound.items:
            text.add('struct weir_xdr_out *out = weir_request_results(req, %s);' % size,
                     'int rc;', '', 'if (!out)', '\treturn -ENOBUFS;', 'rc = %s;' % put)
        elif is_usual:
            text.add('struct weir_xdr_out *out = weir_request_results(req, %s);' % size, 'int rc;',
                     '', 'if (!out)', '\treturn -ENOBUFS;', 'rc = %s;' % put,
                     'if (rc == -ENOSPC) {')
            text.depth += 1
            text.comment('The data of an item without a region are in the message.')
            text.add('size_t bytes = %s;' % self.size_of(stub.results, 'results'), '',
                     'if (bytes > UINT32_MAX)', '\treturn -ENOSPC;',
                     'out = weir_request_results(req, (uint32_t)bytes);', 'if (!out)',
                     '\treturn -ENOBUFS;', 'rc = %s;' % put)
            text.depth -= 1
            text.add('}')
        else:
            text.add('size_t bytes = %s;' % self.size_of(stub.results, 'results'),
                     'struct weir_xdr_out *out;', 'int rc;', '',
                     'if (bytes > %s)' % (size if not bound.items else 'UINT32_MAX'),
                     '\treturn -ENOSPC;', 'out = weir_request_results(req, (uint32_t)bytes);',
                     'if (!out)', '\treturn -ENOBUFS;', 'rc = %s;' % put)
        text.add('if (rc != 0)', '\treturn rc;', 'weir_request_reply(req);', 'return 0;')
        text.depth -= 1
        text.add('}')

    def size_of(self, kind, name):
        """Returns the expression for the size of a value to which 'name' points."""
        bound = self.bounds.of(kind, None)
        if is_fixed_size(bound):
            return literal(bound.low)
        return '%s_bytes(%s)' % (function_type(kind).name, name)

    def write_client(self, text, stub):
        rooms = ['rooms', 'nrooms'] if stub.results_bound.items else []
        arguments = ['call'] + (['args'] if stub.args else []) + rooms
        self.write_fill(text, stub)
        text.add('')
        text.call('struct weir_call *%s_begin(' % stub.stem, [
            'struct weir_conn *conn', 'const struct weir_call_params *params'] +
            stub.call_parameters(), ')')
        text.add('{')
        text.depth += 1
        is_usual = not stub.args or not has_note(stub, 'args') and \
            stub.args_max <= USUAL_BYTES and not stub.args_bound.items
        size = stub.macro + '_ARGS_MAX_BYTES'
        text.add('struct weir_call_params all = *params;', 'struct weir_call *call;')
        if not is_usual:
            text.add('size_t bytes = %s;' % self.size_of(stub.args, 'args'))
        text.add('')
        if not is_usual:
            text.add('if (bytes > %s) {' % (size if not stub.args_bound.items else 'UINT32_MAX'),
                     '\terrno = EINVAL;', '\treturn NULL;', '}')
        text.add('all.prog = %s;' % stub.program.c_name, 'all.vers = %s;' % stub.version.c_name,
                 'all.proc = %s;' % stub.procedure.c_name,
                 'all.args_max_bytes = %s;' % (size if is_usual else '(uint32_t)bytes'))
        limit = stub.macro + '_RESULTS_MAX_BYTES'
        text.condition('if', ['all.results_max_bytes == 0', 'all.results_max_bytes > ' + limit])
        text.add('\tall.results_max_bytes = %s;' % limit,
                 'all.ulb = &%s_ulb;' % stub.version.prefix,
                 'call = weir_call_begin(conn, &all);',
                 'return call ? fill_%s(%s) : NULL;' % (stub.stem, ', '.join(arguments)))
        text.depth -= 1
        text.add('}', '')
        text.call('struct weir_call *%s_reuse(' % stub.stem, [
            'struct weir_call *call', 'struct weir_conn *conn'] + stub.call_parameters(), ')')
        text.add('{', '\tcall = weir_call_reuse(call, conn);',
                 '\treturn call ? fill_%s(%s) : NULL;' % (stub.stem, ', '.join(arguments)), '}')
        self.write_results(text, stub)

    def write_fill(self, text, stub):
        text.blank()
        text.comment('Encodes the arguments of a call.' if not stub.results_bound.items else
                     'Encodes the arguments of a call, and offers memory for its results.')
        text.call('static struct weir_call *fill_%s(' % stub.stem, ['struct weir_call *call'] +
                  stub.call_parameters(), ')')
        text.add('{')
        text.depth += 1
        if stub.args:
            text.add('struct weir_xdr_out *out = weir_call_args(call);')
        text.add('int rc = 0;', '')
        if stub.args:
            putter = Putter(text, self.spec, self.bounds, stub.args,
                            target='call' if stub.args_bound.items else '')
            putter.write_named(function_type(stub.args), Place('args', True))
            text.add('rc = %s;' % putter.group[0].rsplit(' != 0', 1)[0])
        if stub.results_bound.items:
            text.add('if (rc == 0)', '\trc = offer_rooms(call, rooms, nrooms);')
        text.add('return complete(call, rc);')
        text.depth -= 1
        text.add('}')

    def write_results(self, text, stub):
        text.add('')
        text.call('int %s_results(' % stub.stem, self.results_parameters(stub), ')')
        text.add('{')
        text.depth += 1
        if stub.results_bound.items:
            text.add('struct weir_results decoder = {call, result, result->results, 0};')
        text.add('int rc = status_of(result);', '')
        if stub.results:
            getter = Getter(text, self.spec, self.bounds, stub.results,
                            results=bool(stub.results_bound.items))
            getter.write_named(function_type(stub.results), Place('results', True))
            get = getter.group[0].rsplit(' != 0', 1)[0]
            if stub.results_bound.items:
                get = get.replace('(results, ', '(&decoder, ', 1)
            else:
                get = get.replace('(in, ', '(result->results, ', 1)
            text.add('if (rc == 0)', '\trc = %s;' % get)
        if not stub.results_bound.items:
            text.add('(void)call;')
        text.add('return rc;')
        text.depth -= 1
        text.add('}')


def has_note(stub, which):
    return which + '_max' in stub.procedure.notes


def nprocs(stubs):
    return max(stub.procedure.value.number for stub in stubs) + 1
