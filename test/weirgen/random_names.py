# SPDX-License-Identifier: BSD-3-Clause
"""Writes .x files at random, in which many names are those that C, C++, the library and the
generated code use. Scopes are those of RFC 4506 and RFC 5531, so that no name is twice in one."""

import random

from rpcl import reserved

# Names that depend on each other: functions and macros of types, versions and procedures.
RELATED = '''
s S s_get s_put s_bytes s_a s_a_ s_get_next S_MAX_BYTES s_MAX_BYTES S_ARENA_BYTES t T t_a a A b B
class_ in_ NULL_ errno_ index_ v_ READ READ_ read read_ Read READ_1 read_1 read_1_reply P_READ
p_read read_1_arguments read_1_arg1 read_1_result read_1_ARGS_MAX_BYTES READ_1_ARGS_MAX_BYTES
handle_read_1 fill_read_1 serve_read_1 s_put_call s_get_result s_get_members P Q p q V V1 v v1 P_V
Q_V P_V_READ v_ulb v1_handlers V1_program DELETE NEW NULL index memcpy weir_call WEIR_RPC_SUCCESS
weir_xdr_get_u32 items len data arg1 arg2 IN_XDR_H status_of complete results
'''.split()
POOL = RELATED + sorted(
    (reserved.XDR_LOCAL | reserved.RPC_LOCAL | reserved.MEMBERS) - {'program'}) + [
    'class', 'new', 'template', 'register', 'goto', 'errno', 'EOF', 'EINVAL', 'INT32_MAX', 'stdin',
    'uint32_t', 'size_t', 'linux', 'and', 'typename', 'this', 'TRUE']
BASES = ['int', 'unsigned int', 'hyper', 'unsigned hyper', 'float', 'double', 'bool']


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = set() # of the file
        self.types = [] # names of types
        self.values = [] # names of constants that are small and not negative
        self.lines = []

    def new(self, used):
        """Returns a name that is not in a scope, and enters it."""
        while True:
            name = self.random.choice(POOL)
            if name not in used:
                used.add(name)
                return name

    def type(self):
        if self.types and self.random.random() < 0.6:
            return self.random.choice(self.types)
        return self.random.choice(BASES)

    def size(self):
        return self.random.choice(self.values + ['1', '2', '3'])

    def declaration(self, name):
        note = self.random.choice(['', '', '', '/* weir: inline */ '])
        return self.random.choice([
            '%s %s' % (self.type(), name), '%s %s' % (self.type(), name),
            '%s %s[%s]' % (self.type(), name, self.size()),
            '%s%s %s<%s>' % (note, self.type(), name, self.size()),
            '%s *%s' % (self.type(), name), 'opaque %s[%s]' % (name, self.size()),
            '%sopaque %s<%s>' % (note, name, self.size()),
            '%sstring %s<%s>' % (note, name, self.size()),
            '/* weir: ddp */ opaque %s<%s>' % (name, self.size())])

    def define(self):
        name = self.new(self.names)
        kind = self.random.choice(['const', 'enum', 'struct', 'struct', 'union', 'typedef', 'list'])
        if kind == 'const':
            self.values.append(name)
            self.lines.append('const %s = %d;' % (name, self.random.randint(1, 4)))
            return
        if kind == 'enum':
            values = [self.new(self.names) for _ in range(self.random.randint(1, 3))]
            self.lines.append('enum %s { %s };' % (name, ', '.join(
                '%s = %d' % (value, number + 1) for number, value in enumerate(values))))
        elif kind == 'typedef':
            self.lines.append('typedef %s;' % self.declaration(name))
        else:
            used = set()
            members = [self.declaration(self.new(used)) for _ in range(self.random.randint(1, 4))]
            if kind == 'list':
                members.append('/* weir: max 2 */ %s *%s' % (name, self.new(used)))
            if kind == 'union':
                self.lines.append('union %s switch (%s %s) {%s };' % (
                    name, self.random.choice(['int', 'unsigned int']), self.new(used), ''.join(
                        ' case %s: %s;' % (number, member)
                        for number, member in enumerate(members, 10)) + self.case()))
            else:
                self.lines.append('struct %s { %s; };' % (name, '; '.join(members)))
        self.types.append(name)

    def case(self):
        return ' case %s: void;' % self.random.choice(self.values) if self.values else ''

    def program(self, number):
        name, scope = self.new(self.names), set()
        versions = []
        for version in range(1, self.random.randint(2, 3)):
            version_name, procedures = self.new(scope), set()
            lines = []
            for procedure in range(self.random.randint(1, 4)):
                args = self.random.choice(['void', self.type(),
                                           '%s, %s' % (self.type(), self.type())])
                lines.append('%s %s(%s) = %d;' % (
                    self.random.choice(['void', self.type()]), self.new(procedures), args,
                    self.random.choice([procedure, 10 + procedure])))
            versions.append('version %s { %s } = %d;' % (version_name, ' '.join(lines), version))
        self.lines.append('program %s { %s } = %d;' % (name, ' '.join(versions), number))

    def text(self):
        for _ in range(self.random.randint(1, 7)):
            self.define()
        for number in range(self.random.randint(0, 3)):
            self.program(number + 1)
        return '\n'.join(self.lines) + '\n'
