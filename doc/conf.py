# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx builds the pages of this folder. tools/build-doc runs it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]

project = 'weir'
# The version stands in one place only.
release = re.search(r"^  version: '([^']+)'", (ROOT / 'meson.build').read_text(encoding='utf-8'),
                    re.M).group(1)
version = release

extensions = ['sphinx.ext.graphviz']
graphviz_output_format = 'svg'

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
