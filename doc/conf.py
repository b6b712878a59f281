# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx builds the pages of this folder. tools/build-doc runs it."""

import logging
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'doc' / 'reference'))

project = 'weir'
# The version stands in one place only.
release = re.search(r"^  version: '([^']+)'", (ROOT / 'meson.build').read_text(encoding='utf-8'),
                    re.M).group(1)
version = release

# tables.py describes keys and counters, headers.py has the texts at the top of public headers, and
# manual.py is for manual pages. breathe reads what Doxygen has written about the public headers.
extensions = ['sphinx.ext.graphviz', 'tables', 'manual', 'diagrams', 'breaks', 'headers']
if 'WEIR_API_XML' in os.environ:
    extensions += ['breathe', 'sphinxcontrib.spelling']
breathe_projects = {'weir': os.environ.get('WEIR_API_XML')}
breathe_default_project = 'weir'
breathe_domain_by_extension = {'h': 'c'}
breathe_show_include = False
# Types of the C library, and structures whose members are private.
nitpick_ignore_regex = [('c:identifier', r'u?int\d+_t|size_t|bool'),
                        ('c:identifier', 'weir_(engine|region|conn|call|request|listener|'
                         'histogram|runtime)')]


class SameName(logging.Filter):
    """weir_counter_info, weir_histogram_bucket, weir_region_info and weir_capture_status are a
    structure and a function each, as stat(2) is. C keeps the two apart. Sphinx 5 does not, and
    warns."""

    def filter(self, record):
        return not re.match('Duplicate C declaration.*\nDeclaration is .*'
                            r'c:struct:: weir_(counter_info|histogram_bucket|region_info|'
                            r'capture_status)\b',
                            record.getMessage())


logging.getLogger('sphinx.sphinx.domains.c').addFilter(SameName())
graphviz_output_format = 'svg'

# The words of the project that no dictionary has. The pages are in British English.
spelling_lang = 'en_GB'
spelling_word_list_filename = 'spelling.txt'
spelling_warning = True
# The result does not depend on the authors in git, nor on the Python modules of the machine.
spelling_ignore_contributor_names = False
spelling_ignore_importable_modules = False
spelling_filters = ['words.NameFilter']

# Blocks show shell commands, configuration, C and bytes. A block of C says so; a block that says
# nothing is not coloured.
highlight_language = 'none'
smartquotes = False  # options such as --time keep their two hyphens
nitpicky = True

html_theme = 'sphinx_rtd_theme'
html_theme_options = {'navigation_depth': 2}
html_static_path = ['_static']
html_css_files = ['weir.css']
html_title = 'weir ' + release
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False

# The manual pages of what is installed: page, name, description, authors, section.
man_pages = [
    ('weir-bench', 'weir-bench', 'measure RPCs over RDMA', '', 1),
    ('weir-check', 'weir-check', 'check a machine before programs of weir run', '', 1),
    ('weir-decode', 'weir-decode', 'print an RPC-over-RDMA message', '', 1),
    ('weir-exporter', 'weir-exporter', 'serve metrics of weir to Prometheus', '', 1),
    ('weir-top', 'weir-top', 'show what a process that uses weir does', '', 1),
    ('weirgen', 'weirgen', 'compile the RPC language to C', '', 1),
    ('weir-nfs', 'weir-nfs', 'use files of an NFS server over RDMA', '', 1),
    ('weir-nfsd', 'weir-nfsd', 'serve files by NFS over RDMA', '', 8),
    ('configuration', 'weir-profile', 'configuration of engines of weir', '', 5),
]
if os.environ.get('WEIR_MAN'):
    # Only these pages are read.
    include_patterns = [page + '.rst' for page, *_ in man_pages]
    root_doc = man_pages[0][0]
