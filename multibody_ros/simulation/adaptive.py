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
The adaptive integrator: SciPy's solvers over the compiled rates, with dense output.

Between events the modes are fixed and the motion smooth; zeros of velocities, stops and the bounds
of reactions are events that end a stretch, found on the solver's own interpolation.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .events import CATCH, HIT, INSTANT, SLACK, TOUCH
from .structure import Structure

Array = NDArray[np.float64]
#: stretches between events in one call
STRETCHES = 10_000


class Adaptive:
    """Moves a state (Q, V, m, w) on by solving differential equations to a tolerance."""

    def __init__(self, structure: Structure, values: Array, kernel: Callable[..., Sequence[Any]],
                 quaternions: Sequence[slice], tolerance: float) -> None:
        """Take the compiled functions as kernel(name, *arrays)."""
        self.s, self.named = structure, structure.named(values)
        self.kernel, self.quaternions, self.tolerance = kernel, quaternions, tolerance
        #: (start, end, interpolation) of the stretches of the last call
        self.pieces: list[tuple[float, float, Any]] = []

    def advance(self, state: Array, tau: Array, duration: float, start: float = 0.0) -> Array:
        """Return the state `duration` seconds later; the stretches are added to `pieces`."""
        from scipy.integrate import solve_ivp
        s, t, end = self.s, 0.0, duration
        nQ, nV, modal = s.nQ, s.nV, len(s.modal)
        parts = np.cumsum([nQ, nV, modal])
        Q, V, m, w = (x.copy() for x in np.split(state, parts))
        for _ in range(STRETCHES):
            m = self._modes(Q, V, m, tau)
            modes = m

            def rate(_: float, y: Array, modes: Array = modes) -> Array:
                return np.concatenate(self.kernel('rates', y[:nQ], y[nQ:nQ + nV], modes, tau)[:3])

            functions, actions = self._events(m, tau)
            solution = solve_ivp(
                rate, (t, end), np.concatenate([Q, V, w]), method='DOP853', events=functions,
                rtol=self.tolerance, atol=1e-2 * self.tolerance, dense_output=True)
            if solution.status < 0 or not np.isfinite(solution.y[:, -1]).all():
                return np.full_like(state, np.nan)
            self.pieces.append((start + t, start + solution.t[-1], solution.sol))
            t = solution.t[-1]
            Q, V, w = np.split(solution.y[:, -1], [nQ, nQ + nV])
            for place in self.quaternions:
                Q[place] /= np.linalg.norm(Q[place])
            V[[i for k, i in enumerate(s.modal) if m[k] == 0.0]] = 0.0
            if solution.status == 0:
                return np.concatenate([Q, V, m, w])
            pending = np.zeros(modal)
            for happened, (k, action) in zip(solution.t_events, actions):
                if len(happened):
                    pending[k] = action
            for _ in range(INSTANT):
                if not pending.any():
                    break
                V, m, w, pending, _ = self.kernel(
                    'jump', Q, V, m, w, pending, np.zeros(3))
        return np.full_like(state, np.nan)

    def _modes(self, Q: Array, V: Array, m: Array, tau: Array) -> Array:
        """Return the modes that agree with the forces."""
        for _ in range(INSTANT if len(m) else 0):
            _, A, _, reactions = self.kernel('rates', Q, V, m, tau)
            found, modes = self.kernel('pivot', Q, V, m, A, reactions)
            if not found:
                break
            m = modes
        return m

    def _events(self, m: Array, tau: Array) -> tuple[list[Any], list[tuple[int, float]]]:
        """Return functions of (t, y) that fall through zero, and what is to be done then."""
        s, named = self.s, self.named
        functions: list[Any] = []
        actions: list[tuple[int, float]] = []

        def add(function: Any, k: int, action: float) -> None:
            function.terminal, function.direction = True, -1.0
            functions.append(function)
            actions.append((k, action))

        for k, i in enumerate(s.modal):
            place = s.position[i]
            if m[k] == 0.0:
                add(partial(self._margin, m, k, tau), k, 0.0)
                continue
            if i in s.dry and named.stiction[k] > 0.0:
                add(partial(_line, s.nQ + i, m[k], 0.0), k, CATCH)
            if i in s.stopped:
                add(partial(_line, place, -1.0, named.upper[k]), k, HIT)
                add(partial(_line, place, 1.0, -named.lower[k]), k, HIT)
        return functions, actions

    def _margin(self, m: Array, k: int, tau: Array, _: float, y: Array) -> float:
        """Return by how much a held joint's reaction is within its bounds."""
        s, named = self.s, self.named
        i = s.modal[k]
        Q, V = y[:s.nQ], y[s.nQ:s.nQ + s.nV]
        reaction = self.kernel('rates', Q, V, m, tau)[3][k]
        friction = named.stiction[k] * (1.0 + 2.0 * SLACK) if i in s.dry else 0.0
        q = Q[s.position[i]] if i in s.stopped else 0.0
        low = i in s.stopped and q < named.lower[k] + 2.0 * TOUCH
        high = i in s.stopped and q > named.upper[k] - 2.0 * TOUCH
        return float(min(np.inf if low else friction - reaction,
                         np.inf if high else friction + reaction))

    def interpolated(self, t: float) -> Array:
        """Return Q, V, w at a time of the last call."""
        for first, last, solution in self.pieces:
            if t <= last:
                return np.asarray(solution(solution.t_min + max(t, first) - first))
        raise ValueError(f't = {t:g} s is after the last step')


def _line(place: int, factor: float, offset: float, _: float, y: Array) -> float:
    """Return a linear function of one entry of y."""
    return float(factor * y[place] + offset)
