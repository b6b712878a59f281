#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests weirgen with input that has errors: each file of the folder bad, whose last line is the
expected error; the preprocessor; and files that are large or deeply nested. Argument: weirgen."""

import contextlib
import io
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

WEIRGEN = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(WEIRGEN.parent))
from rpcl import main # pylint: disable=wrong-import-position

BAD = pathlib.Path(__file__).resolve().parent / 'bad'


def run(*arguments, cwd=None):
    return subprocess.run([WEIRGEN, *arguments], cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)


class BadInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def error_of(self, text, *arguments, name='in.x'):
        """Returns the error for an input."""
        data = text if isinstance(text, bytes) else text.encode()
        (self.folder / name).write_bytes(data)
        done = run(*arguments, '-o', 'none', name, cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse((self.folder / 'none').exists())
        return done.stderr.strip()

    def accept(self, text, *arguments):
        (self.folder / 'in.x').write_text(text, encoding='utf-8')
        done = run(*arguments, 'in.x', cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))

    def test_each_file_has_the_error_in_its_last_line(self):
        files = sorted(BAD.glob('*.x'))
        self.assertGreater(len(files), 60)
        for path in files:
            text = path.read_text(encoding='utf-8')
            body, expected = text.rstrip('\n').rsplit('\n', 1)
            with self.subTest(path.name), contextlib.redirect_stderr(io.StringIO()) as said:
                (self.folder / 'in.x').write_text(body + '\n', encoding='utf-8')
                status = main.main(['-o', str(self.folder / 'none'), str(self.folder / 'in.x')])
                self.assertEqual((status, said.getvalue()),
                                 (1, '%s/in.x:%s\n' % (self.folder, expected[3:])))

    def test_deep_nesting_is_an_error(self):
        deep = 'struct s { %sint a;%s };\n'
        self.accept(deep % ('struct { ' * 15, '} a;' * 15))
        self.assertIn('more than 16 types without names', self.error_of(
            deep % ('struct { ' * 1000, '} a;' * 1000)))
        self.assertIn('more than 16 types without names', self.error_of(
            'union u switch (int d) { case 1: %sint a;%s };\n' % (
                'union switch (int d) { case 1: ' * 200, '} a;' * 200)))

    def test_long_chains_of_types_need_no_recursion(self):
        chain = ''.join('typedef t%d t%d;\n' % (number + 1, number) for number in range(1500))
        self.accept(chain + 'typedef int t1500;\n')
        chain = ''.join('struct s%d { struct s%d *a; int b; };\n' % (number, number + 1)
                        for number in range(1000))
        self.accept(chain + 'struct s1000 { int a; };\n')

    def test_sizes_that_double_are_unbounded(self):
        text = 'typedef int a0<4>;\n' + ''.join(
            'struct a%d { a%d *x; a%d *y; };\n' % (number, number - 1, number - 1)
            for number in range(1, 200))
        program = 'program P { version V { void A(a%d) = 1; } = 1; } = 1;\n'
        self.accept(text + program % 5)
        self.assertIn("the arguments of 'A' have no bound", self.error_of(text + program % 199))

    def test_huge_files_are_an_error(self):
        self.assertIn('in.x:1:1: error: the input has more than 4194304 bytes',
                      self.error_of('/*' + ' ' * (4 << 20) + '*/'))
        self.assertIn('error: more than 5000 definitions',
                      self.error_of(''.join('const A%d=1;' % number for number in range(5001))))
        self.assertIn('in.x:1:%d' % ((1 << 20) + 1), self.error_of(' ' * (1 << 20) + '%'))

    def test_bytes_that_are_no_text_are_an_error(self):
        self.assertEqual(self.error_of(b'const A = 1;\nconst \xff = 2;\n'),
                         'in.x:2:7: error: a byte that is not UTF-8')
        self.assertIn("error: unexpected character '\\x00'", self.error_of('const A\0 = 1;\n'))

    def test_preprocessor(self):
        text = '#ifdef WANTED\nconst A = SIZE;\n#else\nconst A = ;\n#endif\n'
        self.accept(text, '-DWANTED', '-D', 'SIZE=5')
        self.assertIn('#define A 5u', (self.folder / 'in_xdr.h').read_text(encoding='utf-8'))

    def test_preprocessor_keeps_places(self):
        (self.folder / 'sub').mkdir()
        (self.folder / 'sub' / 'other.x').write_text('const B = 1;\nconst C = @;\n',
                                                     encoding='utf-8')
        (self.folder / 'in.x').write_text('#include "other.x"\nconst A = 1;\n', encoding='utf-8')
        done = run('-I', 'sub', 'in.x', cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "sub/other.x:2:11: error: unexpected character '@'\n"))
        (self.folder / 'sub' / 'other.x').write_text('const B = 1;\n', encoding='utf-8')
        (self.folder / 'in.x').write_text('#include "other.x"\nconst B = 1;\n', encoding='utf-8')
        self.assertIn('in.x:2:7: error: ', run('-I', 'sub', 'in.x', cwd=self.folder).stderr)

    def test_preprocessor_that_fails(self):
        self.assertIn('weirgen: in.x:1:10: fatal error: nowhere.h',
                      self.error_of('#include "nowhere.h"\n', '--cpp'))

    def test_files_that_cannot_be_read_or_written(self):
        done = run('nowhere.x', cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr),
                         (1, 'weirgen: nowhere.x: No such file or directory\n'))
        (self.folder / 'in.x').write_text('const A = 1;\n', encoding='utf-8')
        (self.folder / 'file').write_text('', encoding='utf-8')
        done = run('-o', 'file', 'in.x', cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (1, 'weirgen: file: File exists\n'))

    def test_full_disk(self):
        """A limit of the process stands for a full disk. No part of a file stays, and older files
        are as they were."""
        (self.folder / 'in.x').write_text('struct s { int a<9>; };\n', encoding='utf-8')
        self.assertEqual(run('in.x', cwd=self.folder).returncode, 0)
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        done = subprocess.run([WEIRGEN, 'in.x'], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                    (100, 100)))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'^weirgen: in_xdr\.[ch]: File too large\n$')
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.iterdir()}, before)

    def test_command_lines_that_are_wrong(self):
        for arguments in ([], ['--nowhere', 'in.x'], ['a.x', 'b.x'], ['a b.x'], ['5.x']):
            done = run(*arguments, cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, ''), arguments)
            self.assertIn('usage: weirgen', done.stderr)
        self.assertEqual(run('--help').returncode, 0)
        self.assertRegex(run('--version').stdout, r'^weirgen \d+\.\d+\.\d+\n$')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
