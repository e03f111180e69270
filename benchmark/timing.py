# Copyright 2026 multibody_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Interleaved timing for all benchmarks here: the competitors take turns in one process.

A shared machine slows down for seconds at a time, which interleaving spreads over everybody; the
minimum over many short repeats leaves out what other processes took.

    times = interleaved({'ours': Call(robot.inverse_dynamics, q, v, a), 'theirs': Call(f, x)})
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from timeit import Timer
from typing import Any, Callable, Mapping, NamedTuple


class Call:
    """A function and its arguments, called as a user does: the result is given a name."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Keep the function and what to call it with."""
        self.function, self.arguments = function, arguments

    def __call__(self) -> Any:
        """Return the result."""
        return self.function(*self.arguments)

    def timer(self) -> Timer:
        """Return a timer in which function and arguments are local variables, found at once."""
        names = [f'x{k}' for k in range(len(self.arguments))]
        scope = dict(zip(['f_', *(f'{name}_' for name in names)],
                         [self.function, *self.arguments]))
        setup = '; '.join(f'{name} = {name}_' for name in ['f', *names])
        return Timer(f'result = f({", ".join(names)})', setup, globals=scope)


def interleaved(calls: Mapping[str, Call], seconds: float = 0.5,
                repeats: int = 200) -> dict[str, float]:
    """
    Return the seconds a call takes, the least of `repeats` turns.

    seconds: what each competitor gets in all. A call longer than its turn still gets three.
    """
    timers = {name: call.timer() for name, call in calls.items()}
    best, loops, turns = {}, {}, {}
    for name, timer in timers.items():
        timer.timeit(1)
        count, spent = 1, timer.timeit(1)
        while spent < 1e-4:
            count *= 4
            spent = timer.timeit(count)
        best[name] = spent / count
        loops[name] = max(1, int(seconds / repeats / best[name]))
        turns[name] = min(repeats, max(3, int(seconds / (loops[name] * best[name]))))
    for turn in range(max(turns.values())):
        for name, timer in timers.items():
            if turn < turns[name]:
                best[name] = min(best[name], timer.timeit(loops[name]) / loops[name])
    return best


class Process(NamedTuple):
    """What a fresh process needed: seconds, and the most memory it held, in bytes."""

    seconds: float
    memory: int


#: the clock starts when interpreter and numpy are there
_FRAME = """
import json, sys, time
import numpy as np
arguments = json.loads(sys.argv[1])
start = time.perf_counter()
{code}
seconds = time.perf_counter() - start
status = open('/proc/self/status').read()
memory = 1024 * int(status.split('VmHWM:')[1].split()[0])
print(json.dumps([seconds, memory]))
"""


def fresh_process(code: str, arguments: Any = None,
                  environment: Mapping[str, str] | None = None) -> Process:
    """Run `code` in a new interpreter that has numpy as `np` and `arguments`; Linux only."""
    result = subprocess.run(
        [sys.executable, '-c', _FRAME.format(code=code), json.dumps(arguments)],
        env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f'the measured process failed:\n{result.stderr}')
    return Process(*json.loads(result.stdout.splitlines()[-1]))
