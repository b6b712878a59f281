# SPDX-License-Identifier: BSD-3-Clause
"""The functions that the style checks share: the files of the tree, and the report of findings."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(*suffixes):
    """Returns tracked files as paths from the root. Without git, returns all files outside of
    builds."""
    try:
        out = subprocess.run(['git', '-c', 'safe.directory=*', 'ls-files', '-z'], cwd=ROOT,
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        paths = [pathlib.Path(os.fsdecode(name)) for name in out.split(b'\0') if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [path.relative_to(ROOT) for path in ROOT.rglob('*') if path.is_file()]
        paths = [path for path in paths if not path.parts[0].startswith(('build', '.git'))]
    return sorted(path for path in paths if (ROOT / path).is_file() and
                  (not suffixes or path.suffix in suffixes))


def text(path):
    return (ROOT / path).read_text(encoding='utf-8')


def at_once(check, items):
    """Returns the result of 'check' for each item, in order. The calls wait for processes and run
    on all CPUs."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(check, items))


def finish(findings, cure):
    """Prints the findings and their cure, and ends the check."""
    for finding in findings:
        print(finding)
    if findings:
        print('%d finding(s). %s' % (len(findings), cure))
    sys.exit(1 if findings else 0)
