# SPDX-License-Identifier: BSD-3-Clause
"""The words that the builder 'spelling' does not look up."""

import re

import enchant.tokenize


class NameFilter(enchant.tokenize.Filter):
    """Skips paths and identifiers, which the tables of clauses and limits consist of."""

    def _skip(self, word):
        return re.match(r'\w*_|(apps|bench|doc|drivers|lib|test)/', word)
