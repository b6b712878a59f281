# SPDX-License-Identifier: BSD-3-Clause
"""The functions that tests of weir-nfs share: they run weir-nfs, and a server next to it."""
import os
import subprocess
import time

OK, NFS, USAGE, TRANSPORT, LOCAL = range(5)


def unique(what):
    return f'weir-test-{what}-{os.getpid()}-{time.monotonic_ns()}'


class Client:
    """Runs weir-nfs with the options that name the server."""

    def __init__(self, program, *where, handle=None):
        self.command = [program, *where]
        self.env = {**os.environ, 'WEIR_NFS_HANDLE': handle} if handle else None

    def run(self, *args, data=None, cwd=None, timeout=60):
        feed = {'input': data} if data is not None else {'stdin': subprocess.DEVNULL}
        return subprocess.run([*self.command, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=cwd, env=self.env, timeout=timeout,
                              **feed)

    def ok(self, case, *args, **kwargs):
        done = self.run(*args, **kwargs)
        case.assertEqual(done.returncode, OK, (args, done.stderr.decode(errors='replace')))
        return done.stdout

    def fails(self, case, status, text, *args, **kwargs):
        done = self.run(*args, **kwargs)
        said = done.stderr.decode(errors='replace')
        case.assertEqual(done.returncode, status, (args, said))
        case.assertIn(text, said)
        return done


class Server:
    """A server that prints a line on standard output when it is ready."""

    def __init__(self, *command, ready='ready', **options):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        text=True, **options)
        self.line = line = self.process.stdout.readline()
        if ready not in line:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f'{command[0]} did not start: {line!r}')

    def stop(self):
        """Stops the server and returns the rest of its output. A second call returns an empty
        string."""
        if self.process.stdout.closed:
            return ''
        self.process.terminate()
        try:
            out, _ = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if self.process.returncode != 0:
            raise RuntimeError(f'the server ended with {self.process.returncode}')
        return out

    def kill(self):
        self.process.kill()
        self.process.communicate()
        self.process.stdout.close()
