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
Parameter sweeps and Monte Carlo runs on any executor: threads, processes, a cluster.

    sweep(Run(robot, q, v, tau, steps=1000), [{'friction': c} for c in (0.1, 0.2)], executor)

The executor is anything with concurrent.futures' `submit`: ThreadPoolExecutor here, Dask's
client.get_executor() or mpi4py's MPIPoolExecutor on a cluster. Every case has random numbers of
its own, so that the results depend on the seed alone.
"""

from __future__ import annotations

from concurrent.futures import as_completed, Executor, Future
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .progress import bar
from .simulation import Simulation
from ..arguments import known
from ..robot import Robot

Array = NDArray[np.float64]
Case = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """
    A simulation that differs from case to case; calling it returns its samples.

    A case may hold q, v, tau, every option of Simulation and Physics (friction, command_delay,
    ...), and 'mass': {link: factor on mass and inertia}, 'payload': {link: (mass, com)}.
    """

    robot: Robot
    q: ArrayLike | None = None
    v: ArrayLike | None = None
    tau: ArrayLike | None = None
    steps: int = 1000
    every: int = 10
    options: Case = field(default_factory=dict)

    def __call__(self, case: Case, rng: np.random.Generator) -> dict[str, Array]:
        """Return t, q, v, a and work of one case (samples along the first axis)."""
        robot = self._loaded(case)
        options = {'q': self.q, 'v': self.v, **self.options, **case}
        tau = options.pop('tau', self.tau)
        for name in ('mass', 'payload'):
            options.pop(name, None)
        sim = Simulation(robot, log_every=self.every, **options)
        sim.step(np.zeros(robot.nv) if tau is None else tau, self.steps)
        log = sim.log
        return {name: log.arrays[name] for name in ('t', 'q', 'v', 'a', 'work')}

    def _loaded(self, case: Case) -> Robot:
        """Return the robot with the masses of a case: a copy, the code is shared by the cache."""
        if not case.get('mass') and not case.get('payload'):
            return self.robot
        function, arguments = self.robot.__reduce__()
        robot: Robot = function(*arguments)
        parameters = robot.parameters.reshape(-1, 10).copy()
        for link, factor in case.get('mass', {}).items():
            known(robot.name, 'link', link, robot.link_names)
            parameters[robot.link_names.index(link)] *= factor
        robot.parameters = parameters
        for link, (mass, com) in case.get('payload', {}).items():
            robot.set_payload(link, mass, com)
        return robot


def sweep(task: Callable[[Case, np.random.Generator], Any], cases: Sequence[Case],
          executor: Executor | None = None, *, seed: int = 0, progress: bool = False) -> Any:
    """
    Return what `task(case, rng)` gives for every case, in order.

    Arrays are stacked along a new first axis, also those in a dictionary. Without executor the
    cases run one after the other here.
    """
    seeds = np.random.SeedSequence(seed).spawn(len(cases))
    if executor is None:
        rows = [_one(task, case, own) for case, own in bar(
            zip(cases, seeds), len(cases), progress)]
        return _stacked(rows)
    jobs: list[Future[Any]] = [executor.submit(_one, task, case, own)
                               for case, own in zip(cases, seeds)]
    place = {job: k for k, job in enumerate(jobs)}
    for job in bar(as_completed(jobs), len(jobs), progress):
        if job.exception() is not None:
            for other in jobs:
                other.cancel()
            raise RuntimeError(f'case {place[job]} of the sweep failed: {cases[place[job]]}: '
                               f'{job.exception()}') from job.exception()
    return _stacked([job.result() for job in jobs])


def monte_carlo(task: Callable[[Case, np.random.Generator], Any],
                draw: Callable[[np.random.Generator], Case], count: int,
                executor: Executor | None = None, *, seed: int = 0,
                progress: bool = False) -> tuple[list[Case], Any]:
    """Sweep over `count` cases drawn by draw(rng); return the cases and the results."""
    cases = [draw(np.random.default_rng(own))
             for own in np.random.SeedSequence([seed, 1]).spawn(count)]
    return cases, sweep(task, cases, executor, seed=seed, progress=progress)


def _one(task: Callable[[Case, np.random.Generator], Any], case: Case,
         seed: np.random.SeedSequence) -> Any:
    return task(case, np.random.default_rng(seed))


def _stacked(rows: list[Any]) -> Any:
    if rows and isinstance(rows[0], dict):
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return np.stack(rows) if rows else np.empty(0)
