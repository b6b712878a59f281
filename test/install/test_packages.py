#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages of a build: lintian has no complaint, the packages name what they need, and
they install, run and are removed. The packages are installed in a copy of the root file system that
exists only in a mount namespace, so that this machine stays as it is. Argument: the build."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

from installed import SOURCE, output_of, run

BUILD = sys.argv[1]
WAIT = 300 # seconds, for one step on a busy machine
PACKAGES = ('libweir1', 'libweir-dev', 'weir-tools', 'weir-nfsd')
DPDK = ('cfgfile', 'eal', 'kvargs', 'mempool', 'ring')
# Runs in a namespace. $1 is a scratch folder, with the packages and the script 'inside'. It makes
# a root file system in which changes go to memory.
ROOT = '''
set -e
mount -t tmpfs tmpfs "$1/memory"
mkdir "$1/memory/upper" "$1/memory/work" "$1/memory/root"
root=$1/memory/root
mount -t overlay -o "lowerdir=/,upperdir=$1/memory/upper,workdir=$1/memory/work" overlay "$root"
'''
# systemd runs on the machine, but must not be reached from here.
ENTER = ROOT + '''
for folder in dev proc sys; do
    mount --rbind "/$folder" "$root/$folder"
done
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
cp -r "$1/inside" "$1/packages" "$1/program.c" "$root/tmp"
exec env -u LD_LIBRARY_PATH chroot "$root" sh -ex /tmp/inside
'''
INSIDE = '''
cd /tmp
export DEBIAN_FRONTEND=noninteractive
dpkg --install packages/*.deb
for package in libweir1 libweir-dev weir-tools weir-nfsd; do
    test "$(dpkg-query -W -f '${db:Status-Status}' $package)" = installed
    dpkg --verify $package
done

# A program is built with the packages.
cc -o shared program.c $(pkg-config --cflags --libs weir)
cc -o static program.c $(pkg-config --cflags --libs weir-static)
./shared
./static

# The programs run, and a server answers.
weir-bench --lcores any --quiet --warmup 0 --time 0.2
weir-nfsd --listen packages-$$ --export scratch=ram:4m --foreground >server.log 2>&1 &
server=$!
trap 'kill $server; cat server.log' EXIT
timeout 60 sh -c 'until grep -q "export /scratch handle" server.log; do sleep 0.1; done'
grep -o 'handle .*' server.log | sed 's/handle //' >handle
echo hello >hello
weir-nfs --driver shm --server packages-$$ --handle @handle put hello hello
weir-nfs --driver shm --server packages-$$ --handle @handle cat hello >answer
cmp hello answer
kill $server
trap - EXIT
wait $server
man -w weir-bench weir-nfs weir-check weir-decode weir-top weir-exporter weir-nfsd weir-profile

# The service is valid, and is not enabled.
if command -v systemd-analyze; then systemd-analyze verify --man=no weir-nfsd.service; fi
test ! -e /etc/systemd/system/multi-user.target.wants/weir-nfsd.service
grep -q '^ExecStart=/usr/bin/weir-nfsd ' /lib/systemd/system/weir-nfsd.service
if command -v systemd-sysusers; then getent passwd weir-nfsd; fi
test -e /usr/lib/tmpfiles.d/weir-nfsd.conf

dpkg --purge weir-nfsd weir-tools libweir-dev libweir1
test ! -e /usr/include/weir
test ! -e /usr/share/weir
test -z "$(find /etc/default /usr/bin /usr/lib/*-linux-gnu -maxdepth 1 -name '*weir*')"
echo all is well
'''


def namespace(script, folder):
    """Runs a script in a mount namespace, in which this user is root."""
    own = [] if os.geteuid() == 0 else ['--map-root-user']
    return run('unshare', '--mount', *own, 'sh', '-c', script, 'sh', folder, timeout=WAIT)


def setUpModule():
    Packages.folder = tempfile.TemporaryDirectory()
    root = pathlib.Path(Packages.folder.name)
    Packages.scratch = root
    Packages.log = output_of(SOURCE / 'tools/build-deb', '--build', BUILD, root / 'packages',
                             timeout=WAIT)
    (root / 'memory').mkdir()
    for path in (root / 'packages').glob('*-dbgsym_*'):
        path.unlink()


def tearDownModule():
    Packages.folder.cleanup()


class Packages(unittest.TestCase):
    folder = scratch = log = None # what setUpModule() made

    def package(self, name):
        return next((self.scratch / 'packages').glob(f'{name}_*.deb'))

    def field(self, package, name):
        return output_of('dpkg-deb', '-f', self.package(package), name)

    def test_lintian_has_no_complaint(self):
        status, text = run('lintian', '--allow-root', '--fail-on', 'error,warning',
                           *(self.package(name) for name in PACKAGES), timeout=WAIT)
        self.assertEqual((status, text), (0, ''))

    def test_the_build_warns_of_nothing(self):
        self.assertNotRegex(self.log, re.compile('^dpkg-.*warning', re.M))

    def test_they_name_what_they_need(self):
        needs = self.field('libweir1', 'Depends')
        for library in DPDK:
            self.assertRegex(needs, rf'librte-{library}\d+ ')
        version = self.field('libweir1', 'Version').strip()
        self.assertIn(f'libweir1 (= {version})', self.field('libweir-dev', 'Depends'))
        self.assertIn('libdpdk-dev', self.field('libweir-dev', 'Depends'))
        for name in 'weir-tools', 'weir-nfsd':
            self.assertNotIn('librte', self.field(name, 'Depends'))

    def test_unpacked_programs_run(self):
        root = self.scratch / 'unpacked'
        for name in PACKAGES:
            output_of('dpkg-deb', '-x', self.package(name), root)
        output_of(root / 'usr/bin/weir-bench', '--lcores', 'any', '--quiet', '--warmup', '0',
                  '--time', '0.2')
        library = next(root.rglob('libweir.so.1')).parent
        program = self.scratch / 'program'
        flags = output_of('pkg-config', '--cflags', '--libs', 'weir',
                          env={'PKG_CONFIG_PATH': str(library / 'pkgconfig')}).split()
        output_of('cc', '-o', program, SOURCE / 'test/tree/embedder.c', *flags)
        text = output_of(program, env={'LD_LIBRARY_PATH': str(library)})
        self.assertEqual(text.splitlines()[-1], 'ok')

    def test_they_install_run_and_are_removed(self):
        if namespace(ROOT, self.scratch)[0] != 0:
            self.skipTest('this machine does not let the test mount a root file system')
        (self.scratch / 'inside').write_text(INSIDE, encoding='utf-8')
        (self.scratch / 'program.c').write_bytes((SOURCE / 'test/tree/embedder.c').read_bytes())
        status, text = namespace(ENTER, self.scratch)
        self.assertEqual((status, text.splitlines()[-1:]), (0, ['all is well']), text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
