# SPDX-License-Identifier: BSD-3-Clause
"""A table whose lines have a name, weir's figure, the peer's figure, their ratio or difference over
the rounds, its bound, and whether the bound is reached."""
import operator
import statistics


def short(value):
    """Formats a number with two decimals, or with two significant digits if it is small."""
    return f'{value:.2f}' if abs(value) >= 0.1 else f'{value:.2g}'


class Table:
    def __init__(self, missing=None):
        self.missing = missing or {}
        self.failed = 0
        self.opened = 0

    def head(self):
        print(f'{"":58} {"weir":>16} {"peer":>20} {"ratio":>12} {"bound":>12}')

    def line(self, what, weir, peer, figure, bound, holds, spread=''):
        """Prints a line. 'holds' is True if the bound is reached, False if it is not, and None if
        that is unknown. A line without a bound is for information."""
        if not bound and holds is not None:
            verdict = ''
        else:
            verdict = 'open' if holds is None else 'ok' if holds else 'NOT REACHED'
            self.failed += holds is False
            self.opened += holds is None
        line = f'{what:58} {weir:>16} {peer:>20} {figure:>12} {bound:>12}  {verdict:12}{spread}'
        print(line.rstrip(), flush=True)

    def open(self, what, why, weir=''):
        self.line(what, weir, why, '', '', None)

    def why_open(self, peer):
        if peer not in self.missing:
            return 'not measured'
        return f'{peer} not installed' if self.missing[peer] else f'{peer} failed'

    def _compare(self, what, weirs, peers, take, show, bound, least, peer, unit, scale,
                 below=False):
        if peer in self.missing or not peers:
            own = f'{statistics.median(weirs) / scale:.3f} {unit}' if weirs else ''
            self.open(what, self.why_open(peer), own)
            return
        found = [take(w, p) for w, p in zip(weirs, peers)]
        middle = statistics.median(found)
        sign = '>=' if least else '<' if below else '<='
        holds = bound is None or {'>=': operator.ge, '<=': operator.le,
                                  '<': operator.lt}[sign](middle, bound)
        limit = '' if bound is None else f'{sign} {bound:.3g}'
        self.line(what, f'{statistics.median(weirs) / scale:.3f} {unit}',
                  f'{statistics.median(peers) / scale:.3f} {unit}', show(middle), limit, holds,
                  f'  [{short(min(found))} {short(max(found))}]')

    def ratio(self, what, weirs, peers, bound, unit, scale=1.0, least=True, peer='', below=False):
        """Prints a line with the ratio of weir's figure to the peer's figure. The ratio must be at
        least 'bound'. If 'least' is False, it must be at most 'bound', and if 'below' is True as
        well, less than 'bound'."""
        self._compare(what, weirs, peers, lambda w, p: w / p, lambda v: f'x {short(v)}', bound,
                      least, peer, unit, scale, below)

    def over(self, what, weirs, peers, bound, unit, peer=''):
        """Prints a line with the difference of weir's figure and the peer's figure, which must be
        at most 'bound'."""
        self._compare(what, weirs, peers, lambda w, p: w - p, lambda v: f'{v:+.0f} {unit}', bound,
                      False, peer, unit, 1.0)

    def at_most(self, what, figures, bound, unit, peer=''):
        """Prints a line with a figure of weir that the program 'peer' measures. The figure must be
        at most 'bound'. If 'bound' is None, it is for information."""
        if not figures:
            self.open(what, self.why_open(peer))
            return
        middle = statistics.median(figures)
        self.line(what, f'{middle:.0f} {unit}', '', '', '' if bound is None else f'<= {bound:g}',
                  bound is None or middle <= bound, f'  [{min(figures):.0f} {max(figures):.0f}]')

    def finish(self):
        """Prints the last line and returns the exit status."""
        print(f'{self.failed} of the bounds not reached, {self.opened} open')
        return 1 if self.failed else 0
