#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a module with the names of weir's public headers, which a definition cannot have in C.
Arguments: the headers."""

import pathlib
import re
import sys


def list_names(name, pattern, texts):
    found = sorted({word for text in texts for word in re.findall(pattern, text)})
    print('%s = frozenset(\'\'\'\n%s\n\'\'\'.split())' % (name, '\n'.join(found)))


headers = [pathlib.Path(path).read_text(encoding='utf-8') for path in sys.argv[1:]]
print('# SPDX-License-Identifier: BSD-3-Clause\n"""The names of the public headers of weir."""\n')
list_names('NAMES', r'\b(?:weir|WEIR)_\w+', headers)
list_names('MACROS', r'# *define +(\w+)', headers)
