#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the names that weirgen chooses in C: those of programs with equal names, those that C, C++
or weir need, and those of many .x files that are written at random. All code compiles in C and C++.
Arguments: weirgen, and the folder of weir's headers."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WEIRGEN, INCLUDE = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path[:0] = [str(WEIRGEN.parent), str(HERE)]
import random_names # pylint: disable=wrong-import-position
# pylint: disable-next=wrong-import-position
from rpcl import check, output, parse, reserved, source, weir_names
from rpcl.model import InputError # pylint: disable=wrong-import-position

C = [[name, '-std=' + standard] for name in ('gcc', 'clang') if shutil.which(name)
     for standard in ('c11', 'gnu17')]
CXX = [[name, '-std=' + standard] for name in ('g++', 'clang++') if shutil.which(name)
       for standard in ('c++11', 'c++14', 'c++17', 'c++20')]
WARNINGS = ['-pedantic', '-Wall', '-Wextra', '-Werror', '-Wconversion']
C_WARNINGS = ['-Wshadow', '-Wcast-qual', '-Wstrict-prototypes', '-Wmissing-prototypes', '-Wundef']
STANDARD = ''.join('#include <%s.h>\n' % name for name in '''
    assert ctype errno fenv float inttypes limits locale math setjmp signal stdalign stdarg stdbool
    stddef stdint stdio stdlib string time uchar wchar wctype'''.split())
KEYWORDS = {word for words in parse.KEYWORDS.values() for word in words}
# Numbers of the random files: those that are compiled, and those that are only written.
COMPILED, WRITTEN = 25, 1500


def compile_in(folder, files, compilers, before=''):
    """Compiles files of weirgen, and a C++ file that includes the headers."""
    headers = sorted((name for name in files if name.endswith('.h')), key=lambda name: (
        'rpc' not in name, name))
    for name, text in files.items():
        (folder / name).write_text(text, encoding='utf-8')
    (folder / 'use.cc').write_text(before + ''.join('#include "%s"\n' % name for name in headers) +
                                   'int main() { return 0; }\n', encoding='utf-8')
    (folder / 'before.h').write_text(before, encoding='utf-8')
    for compiler in compilers:
        names = ['use.cc'] if '++' in compiler[0] else [name for name in files
                                                        if name.endswith('.c')]
        options = WARNINGS if '++' in compiler[0] else WARNINGS + C_WARNINGS
        done = subprocess.run([*compiler, *options, '-fsyntax-only', '-include', 'before.h', '-I',
                               INCLUDE, *names], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise AssertionError('%s\n%s' % (compiler, done.stdout[:4000]))


def files_of(text):
    """Returns the files that weirgen makes."""
    definitions = parse.parse(source.Source('in.x', text))
    return output.Output('in.x', 'in', check.check(definitions), [], 'none', True).files()


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, text, compilers, before=''):
        files = files_of(text)
        try:
            compile_in(self.folder, files, compilers, before)
        except AssertionError:
            print(text)
            raise
        return files

    # ---- scopes ----

    def test_versions_and_procedures_of_programs_can_have_equal_names(self):
        files = self.compile('''
program A { version V1 { void NULL(void) = 0; int READ(int) = 1; int ONLY(int, int) = 2; } = 1;
} = 1;
program B { version V1 { void NULL(void) = 0; int READ(hyper, int) = 2; } = 1;
            version V2 { void NULL(void) = 0; int WRITE(int) = 7; } = 2; } = 2;
''', C[:1] + CXX[:1])
        header = files['in_rpc.h']
        for line in ('#define A_V1 1u', '#define B_V1 1u', '#define V2 2u', '#define A_NULL 0u',
                     '#define B_NULL 0u', '#define A_READ 1u', '#define B_READ 2u',
                     '#define ONLY 2u', '#define WRITE 7u', 'struct a_v1_handlers {',
                     'struct b_v1_handlers {', 'struct v2_handlers {',
                     '#define A_READ_1_ARGS_MAX_BYTES 4u', '#define B_READ_1_ARGS_MAX_BYTES 12u'):
            self.assertIn(line + '\n', header)
        self.assertIn('int a_read_1_reply(', header)
        self.assertIn('int b_null_1_reply(', header)
        self.assertIn('int null_2_reply(', header)
        self.assertIn('int only_1_reply(', header)
        self.assertIn('struct b_read_1_arguments {', files['in_xdr.h'])
        self.assertIn('return "READ";', files['in_rpc.c'])

    def test_files_without_conflict_keep_their_names(self):
        header = files_of('''
program A { version V1 { void X_NULL(void) = 0; int X_READ(int) = 1; } = 1;
            version V2 { void X_NULL(void) = 0; } = 2; } = 1;
program B { version W3 { void X_NULL(void) = 0; } = 3; } = 2;
''')['in_rpc.h']
        self.assertEqual(re.findall(r'#define (\w+) ', header.replace('_MAX_BYTES', '', 0)), [
            'A', 'V1', 'X_NULL', 'X_READ', 'X_NULL_1_ARGS_MAX_BYTES', 'X_NULL_1_RESULTS_MAX_BYTES',
            'X_READ_1_ARGS_MAX_BYTES', 'X_READ_1_RESULTS_MAX_BYTES', 'V2',
            'X_NULL_2_ARGS_MAX_BYTES', 'X_NULL_2_RESULTS_MAX_BYTES', 'B', 'W3',
            'X_NULL_3_ARGS_MAX_BYTES', 'X_NULL_3_RESULTS_MAX_BYTES'])

    def test_a_procedure_can_have_another_number_in_another_version(self):
        header = self.compile('''
program P { version V { void A(void) = 1; void B(void) = 2; } = 1;
            version W { void A(void) = 2; } = 2; } = 1;
''', C[:1])['in_rpc.h']
        for line in ('#define P_V_A 1u', '#define P_W_A 2u', '#define B 2u'):
            self.assertIn(line + '\n', header)

    def test_names_of_other_scopes_can_be_those_of_versions_and_procedures(self):
        files = self.compile('''
const V = 3;
enum e { A = 1 };
struct s { int B; };
program P { version V { void A(void) = 1; void B(void) = 2; void read(void) = 3;
                        void W(void) = 4; } = 1;
            version W { void C(void) = 1; } = 2; } = 1;
''', C[:1] + CXX[:1])
        for line in ('#define P_V 1u', '#define P_A 1u', '#define P_B 2u', '#define P_read 3u',
                     '#define P_W 4u', '#define W 2u'):
            self.assertIn(line + '\n', files['in_rpc.h'])
        self.assertIn('#define V 3u\n', files['in_xdr.h'])
        self.assertIn('\tA = 1,\n', files['in_xdr.h'])

    def test_a_program_number_can_be_that_of_other_versions(self):
        self.compile('program P { version V { void A(void) = 1; } = 1; } = 7;\n'
                     'program Q { version W { void B(void) = 1; } = 2; } = 7;\n', C[:1])

    def test_names_can_differ_in_case_only(self):
        files = self.compile('''
struct Some { int a<3>; };
struct some { hyper a; };
program P { version V { void READ(Some) = 1; void Read(some) = 2; void read(int) = 3; } = 1;
            version v { void READ(some) = 1; } = 2; } = 1;
program p { version V { void READ(some) = 5; } = 1; } = 2;
''', C[:1] + CXX[:1])
        for line in ('#define Some_MAX_BYTES 16u', '#define some_MAX_BYTES 8u'):
            self.assertIn(line + '\n', files['in_xdr.h'])
        for line in ('int P_READ_1_reply(', 'int P_Read_1_reply(', 'int p_READ_1_reply(',
                     'struct P_V_handlers {', 'struct P_v_handlers {', 'struct p_V_handlers {',
                     '\tvoid (*Read)('):
            self.assertIn(line, files['in_rpc.h'])

    # ---- names that are needed ----

    def test_names_that_are_needed_get_an_underscore(self):
        files = self.compile('''
const EOF = 2;
const PAIR_MAX_BYTES = 3;
const next = 4;
enum index { errno = 1, memcpy = 2, in = 3 };
typedef int arena;
typedef opaque out<EOF>;
struct pair { int class; int class2_<next>; pair *next; };
struct pair_get { arena arena; out out; index index; };
union new switch (index delete) { case errno: int void_; default: hyper NULL; };
union other switch (int in) { case 1: int other; };
program P { version V { int DELETE(pair_get) = 1; void NULL(void) = 2; } = 1; } = 1;
'''.replace('pair *next;', '/* weir: max 3 */ pair *next;'), C + CXX, STANDARD)
        for part in ('#define EOF_ 2u\n', '#define PAIR_MAX_BYTES_ 3u\n', '#define next_ 4u\n',
                     'enum index {\n\terrno_ = 1,\n\tmemcpy_ = 2,\n\tin_ = 3,\n',
                     'typedef int32_t arena_;', '\tint32_t class_;', 'struct pair_get_ {',
                     'struct new_ {', '\t\tint32_t other_;', '\tenum index delete_;',
                     'int new_get(', 'int pair_get_get(', '\t\tint64_t NULL_;'):
            self.assertIn(part, files['in_xdr.h'])
        self.assertIn('#define P_NULL 2u\n', files['in_rpc.h'])
        self.assertIn('(*delete_)(', files['in_rpc.h'])
        self.assertIn('case errno_:', files['in_xdr.c'])

    def test_a_typedef_can_have_the_name_of_a_member(self):
        """In C++, a class cannot use a typedef and have a member with its name."""
        files = self.compile('''
typedef unsigned int word;
typedef string text<9>;
typedef entry *list;
struct entry { word a; word word; text text; list list; word items<2>; };
typedef int items;
struct other { items a<2>; word entry[2]; };
typedef int read;
program P { version V { read READ(read) = 1; read WRITE(word) = 2; } = 1; } = 1;
'''.replace('list list; ', ''), C[:1] + CXX)
        self.assertIn('\tuint32_t a;\n\tuint32_t word;\n\tstruct weir_xdr_string text;',
                      files['in_xdr.h'])
        self.assertIn('\tword entry[2];', files['in_xdr.h'])
        self.assertIn('const int32_t *args', files['in_rpc.h'])

    def words(self):
        found = reserved.WORDS | reserved.MACROS | reserved.TYPES | reserved.DECLARED | \
            reserved.XDR_LOCAL | reserved.RPC_LOCAL | reserved.MEMBERS | set('''
                INT32_MAX UINT_LEAST8_MAX SIZE_MAX PRIu64 SCNxMAX DBL_MAX FLT_DIG weir_call
                WEIR_RPC_SUCCESS WEIR_XDR_UNIT weir_call_begin'''.split())
        # A version 'weir' would have the table weir_ulb, which is a structure of weir.
        return sorted(found - KEYWORDS - {'weir'})

    def test_each_word_can_be_each_kind_of_name(self):
        words = self.words()
        self.assertGreater(len(words), 500)
        each = {
            'members': 'struct s {\n%s\n};' % '\n'.join('\tint %s;' % word for word in words),
            'arms': 'union u switch (int %s) {\n%s\n};' % (words[0], '\n'.join(
                'case %d:\n\thyper %s;' % entry for entry in enumerate(words[1:]))),
            'constants': '\n'.join('const %s = %d;' % (word, number)
                                   for number, word in enumerate(words)),
            'enumerators': 'enum e {\n%s\n};' % ',\n'.join(
                '\t%s = %d' % (word, number) for number, word in enumerate(words)),
            'typedefs': '\n'.join('typedef int %s;' % word for word in words),
            'structures': '\n'.join('struct %s { int a<3>; };' % word for word in words),
            'enumerations': '\n'.join('enum %s { E%d = 1 };' % (word, number)
                                      for number, word in enumerate(words)),
            'procedures': 'program P {\n%s\n} = 1;' % '\n'.join(
                'version V%d {\n%s\n} = %d;' % (version, '\n'.join(
                    '\tint %s(int) = %d;' % (word, number) for number, word in enumerate(group)),
                                            version)
                for version, group in enumerate((words[::4], words[1::4], words[2::4],
                                                 words[3::4]))),
            'programs': '\n'.join(
                'program %s { version V%d { void X(void) = 1; } = %d; } = %d;' % (
                    word, number, number + 1, number) for number, word in enumerate(words)),
            'versions': '\n'.join(
                'program P%d { version %s { void X(void) = 1; } = %d; } = %d;' % (
                    number, word, number + 1, number) for number, word in enumerate(words)),
        }
        with_users = 'struct t { int a; };\n'
        for what, text in each.items():
            with self.subTest(what):
                self.compile(with_users + text + '\n', C[:1] + CXX[:1] + CXX[-1:],
                             STANDARD)

    def test_the_list_of_macros_is_complete(self):
        """The compiler's own list has the macros of all headers."""
        headers = STANDARD + ''.join('#include <%s.h>\n' % name
                                     for name in ('stdatomic', 'stdnoreturn', 'threads'))
        said = subprocess.run(['gcc', '-std=c11', '-E', '-dM', '-'], input=headers, text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        macros = set(re.findall(r'^#define ([A-Za-z]\w*)(?!\w|\()', said, re.M))
        self.assertGreater(len(macros), 400)
        self.assertEqual({name for name in macros if not reserved.is_reserved(name)}, set())

    def test_the_list_of_names_in_the_code_is_complete(self):
        """Each word of the code is reserved, or one of weir, or is derived from the .x file."""
        for path in (*SOURCE.glob('apps/*/*.x'), *HERE.glob('*.x')):
            text = path.read_text(encoding='utf-8')
            spec = check.check(parse.parse(source.Source(path.name, text)))
            made = output.Output(path.name, 'in', spec, [], 'none', True)
            known = {word for name in re.findall(r'\w+', text) for word in (name, name.lower())}
            found = set()
            for name, code in made.files().items():
                if name.endswith('.c') or name.endswith('.h'):
                    code = re.sub(r'/\*.*?\*/|"[^"\n]*"|^#include.*', '', code, flags=re.S | re.M)
                    found.update(re.findall(r'(?<![\w.])[A-Za-z]\w*', code))
            rest = {name for name in found - known - made.known - weir_names.NAMES
                    if not reserved.is_reserved(name) and not re.search(
                        r'^(handle|fill|serve)_|_(members|put_call|put_reply|get_result|MAX_BYTES|'
                        r'arguments|ARENA_BYTES)$|^(IN_\w+_H|ifndef|define|endif|sizeof|extern)$',
                        name)}
            self.assertEqual(rest - reserved.XDR_LOCAL - reserved.RPC_LOCAL - reserved.MEMBERS,
                             {'weir_results'} & rest, path.name)

    # ---- random files ----

    def test_random_files_compile(self):
        accepted = 0
        for seed in range(COMPILED):
            text = random_names.Maker(seed).text()
            with self.subTest(seed=seed):
                try:
                    files_of(text)
                except InputError:
                    continue
                self.compile(text, [C[0], CXX[0]])
                accepted += 1
        self.assertGreater(accepted, COMPILED * 3 / 4)

    def test_random_files_are_written_or_refused(self):
        """Each error has a place in the file. Two runs make the same files. No name of a file is
        defined twice."""
        accepted = 0
        for seed in range(COMPILED, COMPILED + WRITTEN):
            text = random_names.Maker(seed).text()
            with self.subTest(seed=seed):
                try:
                    files = files_of(text)
                except InputError as error:
                    line, column = error.position
                    self.assertTrue(text.split('\n')[line - 1][column - 1:].strip(), error.message)
                    continue
                self.assertEqual(files, files_of(text))
                for name in ('in_xdr.h', 'in_rpc.h'):
                    macros = re.findall(r'^#define (\w+)', files.get(name, ''), re.M)
                    self.assertEqual(len(macros), len(set(macros)), text)
                accepted += 1
        self.assertGreater(accepted, WRITTEN * 3 / 4)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
