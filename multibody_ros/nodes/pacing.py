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

"""When the simulator steps: in real time, or whenever its state has been answered."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Any, Callable

import numpy as np

from .parameters import declare


class Pacing:
    """What both ways share: the achieved rate, and the time from a state to its command."""

    def __init__(self, simulator: Any) -> None:
        """Begin to count."""
        self.simulator = simulator
        self._reported = (monotonic(), 0)
        self._sent = (0, 0.0)
        self._round_trips: deque[float] = deque(maxlen=20_000)
        # since the last report
        self._recent: list[float] = []
        self._intervals: list[float] = []

    def tune(self, value: Callable[[str], Any]) -> None:
        """Take over parameters that changed."""

    def publish(self) -> None:
        """Publish the state and note when."""
        self.simulator.publish()
        now = monotonic()
        self._intervals.append(now - self._sent[1])
        self._sent = (self.simulator.stamp, now)

    def answered(self, stamp: int) -> bool:
        """Tell whether `stamp` is that of the last state, and note how long the answer took."""
        if stamp != self._sent[0]:
            return False
        took = monotonic() - self._sent[1]
        self._round_trips.append(took)
        self._recent.append(took)
        return True

    def report(self) -> dict[str, object]:
        """Return rates since the last report, and latencies."""
        now, ticks = monotonic(), self.simulator.ticks
        before, ticks_before = self._reported
        self._reported = (now, ticks)
        rate = max(0, ticks - ticks_before) / (now - before)
        values: dict[str, object] = {
            'steps per second': f'{rate:.1f}',
            'real-time factor': f'{rate * self.simulator.period:.3f}'}
        if self._round_trips:
            p50, p99 = 1e6 * np.percentile(np.array(self._round_trips), [50, 99])
            values['round trip p50 us'], values['round trip p99 us'] = f'{p50:.0f}', f'{p99:.0f}'
        for name, recent in (('recent round trip', self._recent), ('period', self._intervals)):
            if recent:
                p50, p99 = 1e6 * np.percentile(np.array(recent), [50, 99])
                values.update({f'{name} p50 us': f'{p50:.1f}', f'{name} p99 us': f'{p99:.1f}',
                               f'{name} max us': f'{1e6 * max(recent):.1f}'})
                recent.clear()
        return values


class FreeRunning(Pacing):
    """The wall's clock decides; commands that stop bring on the safe hold."""

    def __init__(self, simulator: Any) -> None:
        """Declare how fast time passes, and start the clock."""
        super().__init__(simulator)
        self._timeout = declare(
            simulator, 'command_timeout', 0.1,
            'seconds without a command after which the safe hold begins', 0.001, 3600.0)
        self._catch_up = declare(
            simulator, 'catch_up', 0.05,
            'seconds of delay made up for by stepping faster; what is more is dropped', 0.0, 10.0)
        self._factor: float = declare(
            simulator, 'real_time_factor', 1.0,
            'simulated seconds per second', 0.001, 1000.0, changeable=True)
        self._dropped = 0
        self._commanded = monotonic()
        self._anchor = monotonic()
        self._timer = simulator.timer(simulator.period / max(1.0, self._factor), self._tick)

    def tune(self, value: Callable[[str], Any]) -> None:
        """Let time pass faster or slower from now on."""
        self._factor = value('real_time_factor')
        self._anchor = monotonic()

    def restart(self) -> None:
        """Begin anew here, after a pause or a reset; commands from before count no more."""
        self._anchor = self._commanded = monotonic()
        simulator = self.simulator
        if not simulator.paused and simulator.mode == 'commanded':
            simulator.mode = 'safe hold'

    def step(self, count: int) -> None:
        """Take `count` steps while paused, under the last command."""
        self.simulator.advance(count)
        self.publish()

    def command(self, tau: np.ndarray, stamp: int) -> None:
        """Take over a command."""
        self.answered(stamp)
        self._commanded = monotonic()
        self.simulator.accept(tau)

    def report(self) -> dict[str, object]:
        """Say how often time had to be given up."""
        return {**super().report(), 'steps dropped': self._dropped}

    def _tick(self) -> None:
        """Step as often as is due: rclpy drops timer ticks that come late."""
        simulator = self.simulator
        if simulator.paused or simulator.mode == 'failed':
            return
        now, period = monotonic(), simulator.period / self._factor
        due = int((now - self._anchor) / period + 0.5)
        cap = max(1, int(self._catch_up / period))
        if due > cap:
            self._dropped += due - cap
            self._anchor += (due - cap) * period
            due = cap
        if due <= 0:
            return
        self._anchor += due * period
        if simulator.mode == 'commanded' and now - self._commanded > self._timeout:
            simulator.mode = 'safe hold'
            simulator.get_logger().warning(
                f'no command for {self._timeout:g} s: safe hold, gravity and damping')
        simulator.advance(due)
        if simulator.mode != 'failed':
            self.publish()


class LockStep(Pacing):
    """
    Step k+1 begins only when the command that answers state k is there.

    A state is sent again until it is answered: what is lost does no harm, a controller may end and
    another one go on. While paused the state is answered but no step taken, so that everything
    can be prepared; then the same run gives the same numbers, bit for bit.
    """

    def __init__(self, simulator: Any) -> None:
        """Start to send the first state."""
        super().__init__(simulator)
        self._left = 0
        self._resent = self._stale = 0
        self._period = declare(
            simulator, 'resend_period', 0.1,
            'seconds after which a state without answer is sent again', 0.001, 60.0)
        self._timer = simulator.timer(self._period, self._watch)
        self.publish()

    def restart(self) -> None:
        """Send the present state, of which the answer counts."""
        self._left = 0
        self.publish()

    def step(self, count: int) -> None:
        """Take `count` more steps while paused."""
        self._left = count
        self.publish()

    def command(self, tau: np.ndarray, stamp: int) -> None:
        """Step, if this answers the last state."""
        simulator = self.simulator
        if simulator.mode == 'failed':
            return
        if not self.answered(stamp):
            self._stale += 1
            return
        if simulator.paused:
            if self._left == 0:
                return
            self._left -= 1
        simulator.accept(tau)
        simulator.advance(1)
        if simulator.mode != 'failed':
            self.publish()

    def report(self) -> dict[str, object]:
        """Say how often a state had to be sent again, and a command came for another state."""
        return {**super().report(), 'states resent': self._resent,
                'commands for other states': self._stale}

    def _watch(self) -> None:
        if self.simulator.mode != 'failed' and monotonic() - self._sent[1] >= self._period:
            self._resent += 1
            self.publish()
