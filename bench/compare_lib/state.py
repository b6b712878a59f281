# SPDX-License-Identifier: BSD-3-Clause
"""Detects the state of the two cores, which is their present distance.

A host can move virtual CPUs. The round trip of a cache line then takes, for example, 120 ns at
times and 520 ns at other times, for some seconds or a part of a second. A run of weir in one state
cannot be compared with a run of a peer in another state. Therefore a raw ping-pong finds the most
frequent state before all rounds, and a run in another state is repeated.
"""
import functools
import statistics
import time

LIKE = 1.4 # greatest ratio of two ping-pong times in the same state
LOOKS = 20 # number of probes that determine the most frequent state
PAUSE = 0.1 # s between two probes
PATIENCE = 3.0 # s to wait for the state before a run
TRIES = 5 # maximum number of measurements for one run
UNSURE = 0.25 # maximum part of runs in another state for a reliable result


def is_like(ns, other):
    return 1 / LIKE <= ns / other <= LIKE


def most_often(looks):
    """Returns the median of the largest group of similar times. This time is neither a mean of the
    times of two states nor a rare time between them."""
    alike = max(([other for other in looks if is_like(other, ns)] for ns in looks), key=len)
    return statistics.median_low(alike)


class State:
    def __init__(self, probe, sleep=time.sleep):
        """Finds the most frequent state. 'probe' returns the present time of a ping-pong in ns."""
        self.probe = probe
        self.sleep = sleep
        self.runs = 0
        self.again = 0 # number of measurements that were repeated
        self.unlike = 0 # number of runs whose figure is from another state in spite of that
        looks = [probe()]
        while len(looks) < LOOKS:
            sleep(PAUSE)
            looks.append(probe())
        self.ns = most_often(looks)
        # The state did not occur in any try of the previous run. Then runs do not wait for the
        # state until it occurs again.
        self.is_gone = False

    def is_here(self):
        return is_like(self.probe(), self.ns)

    def wait(self):
        """Waits at most PATIENCE until the cores are in the state. Returns True if they are."""
        for left in reversed(range(1 if self.is_gone else round(PATIENCE / PAUSE))):
            if self.is_here():
                return True
            if left > 0:
                self.sleep(PAUSE)
        return False

    def run(self, measure):
        """Returns the result of 'measure'. Repeats it until the cores are in the state before and
        after it, at most TRIES times."""
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
        """Returns True if so many runs were in another state that a figure can mix two states."""
        return self.unlike > self.runs * UNSURE

    def says(self):
        return (f'the two cores: a ping-pong of {self.ns:.0f} ns; of {self.runs} runs {self.again} '
                f'were repeated because it differed by more than a factor of {LIKE:g}, and '
                f'{self.unlike} were used although it did')


def in_one_state(measure):
    """Decorates a method of Tools whose result depends on the distance of the cores, so that it
    runs in the state of the cores."""
    @functools.wraps(measure)
    def run(self, *args, **more):
        if self.state is None:
            return measure(self, *args, **more)
        return self.state.run(lambda: measure(self, *args, **more))
    return run
