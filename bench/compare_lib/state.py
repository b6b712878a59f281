# SPDX-License-Identifier: BSD-3-Clause
"""The state of the two cores: how far apart they are just now.

A host may move virtual CPUs, so that a cache line takes 120 ns to go to and fro at times, and 520
at others, for some seconds or a part of one. A weir that ran while they were near beside a peer
that ran while they were far says nothing. So the state that is met most often is told by a raw
ping-pong before all rounds, and each run is made in it: one that was not is made again.
"""
import functools
import statistics
import time

LIKE = 1.4 # how many times longer or shorter a ping-pong may take for it to be the same state
LOOKS = 20 # by which the state that is met most often is told
PAUSE = 0.1 # s between two looks
PATIENCE = 3.0 # s to wait for that state before a run
TRIES = 5 # of one run
UNSURE = 0.25 # of all runs, when more of them were taken in another state than that


def is_like(ns, other):
    return 1 / LIKE <= ns / other <= LIKE


def most_often(looks):
    """Of what was seen, the middle of what most is like: neither a mean of two states nor a rare
    one between them."""
    alike = max(([other for other in looks if is_like(other, ns)] for ns in looks), key=len)
    return statistics.median_low(alike)


class State:
    def __init__(self, probe, sleep=time.sleep):
        """'probe' says how many ns a ping-pong takes just now."""
        self.probe = probe
        self.sleep = sleep
        self.runs = 0
        self.again = 0 # that were made once more
        self.unlike = 0 # whose figure was taken in another state after all
        looks = [probe()]
        while len(looks) < LOOKS:
            sleep(PAUSE)
            looks.append(probe())
        self.ns = most_often(looks)
        # it was not there in all the tries of the run before: no patience until it is seen again
        self.is_gone = False

    def is_here(self):
        return is_like(self.probe(), self.ns)

    def wait(self):
        """Until the cores are in that state, or patience is over."""
        for left in reversed(range(1 if self.is_gone else round(PATIENCE / PAUSE))):
            if self.is_here():
                return True
            if left > 0:
                self.sleep(PAUSE)
        return False

    def run(self, measure):
        """What 'measure' gives of a run before and behind which the cores were in that state, or
        else of the last of TRIES."""
        self.runs += 1
        seen = 0
        for attempt in range(1 if self.is_gone else TRIES):
            self.again += attempt > 0
            was_here = self.wait()
            seen += was_here
            result = measure()
            if was_here and self.is_here():
                self.is_gone = False
                return result
        self.is_gone = seen == 0
        self.unlike += 1
        return result

    def is_unsure(self):
        """Whether so many were that a line may be of two states."""
        return self.unlike > self.runs * UNSURE

    def says(self):
        return (f'the two cores: a ping-pong of {self.ns:.0f} ns; of {self.runs} runs {self.again} '
                'were made again because it took '
                f'longer or shorter by {LIKE:g}, {self.unlike} were taken though it did')


def in_one_state(measure):
    """A run of Tools that depends on how far apart the cores are."""
    @functools.wraps(measure)
    def run(self, *args, **more):
        if self.state is None:
            return measure(self, *args, **more)
        return self.state.run(lambda: measure(self, *args, **more))
    return run
