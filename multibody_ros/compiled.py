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

"""A model with the functions compiled for it: conversion, calls, what to do where they fail."""

from __future__ import annotations

import functools
from typing import Any, Callable, Concatenate, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import complain, known, together, vector
from .compiler.interpreter import Interpreted
from .compiler.kernel import by_last_argument, Kernel
from .damped import damped_dynamics, singular_mass
from .model.coordinates import Coordinates
from .model.model import Model
from .payload import Payloads
from .programs import CartesianDynamics, FRAME, Programs, QUADRATIC, TREE

Array = NDArray[np.float64]
P = ParamSpec('P')
R = TypeVar('R')

OF_LINK = ('pose', 'velocity', 'jacobian', 'jacobian_dot', 'cartesian_dynamics')
#: velocities above which functions of quadratic length are computed without being compiled
LARGE = 120


class compiled(Generic[P, R]):
    """
    A method whose place is taken, when first asked for, by machine code.

    The code answers what is ready for it and calls the method for everything else.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        functools.update_wrapper(self, method)  # type: ignore[arg-type]
        self.method = method

    def __get__(self, robot: Any, owner: type | None = None) -> Callable[P, R]:
        """Return the compiled function of a robot."""
        if robot is None:
            return self  # type: ignore[return-value]
        name = self.method.__name__
        slow = functools.partial(self.method, robot)
        function: Callable[P, R] = robot._kernel(name.lstrip('_')).python_function(slow)
        robot.__dict__[name] = function
        return function


class by_link(compiled[P, R]):
    """A method for a link, its last argument: machine code finds that of the link and calls it."""

    def __get__(self, robot: Any, owner: type | None = None) -> Callable[P, R]:
        """Return the function of a robot that looks the link up."""
        if robot is None:
            return self  # type: ignore[return-value]
        name = self.method.__name__
        function: Callable[P, R] = by_last_argument(
            name, robot._by_link[name], functools.partial(self.method, robot))
        robot.__dict__[name] = function
        return function


class ByLink(dict[str, Callable[..., Any]]):
    """Compiled functions of one name, one a link, made when first asked for."""

    def __init__(self, robot: CompiledModel, name: str) -> None:
        super().__init__()
        self._robot, self._name = robot, name

    def __missing__(self, link: str) -> Callable[..., Any]:
        robot, name = self._robot, self._name
        known(robot.name, 'link', link, robot.link_names)
        kernel = robot._kernel(name, link)
        self[link] = kernel.python_function(functools.partial(robot._slow, name, link))
        return self[link]


class CompiledModel:
    """
    Names, parameters and kernels of one robot.

    The inertial parameters, payloads included, lie in an array that the compiled code reads at
    every call.
    """

    def __init__(self, model: Model) -> None:
        """Order the coordinates and take over the parameters; nothing is compiled yet."""
        self.model = model
        self.name = model.name
        self._coordinates = Coordinates(model)
        self.nq, self.nv = self._coordinates.nq, self._coordinates.nv
        self.joint_names = self._coordinates.names
        self.link_names = tuple(link.name for link in model.links)
        self.q_index, self.v_index = self._coordinates.q_index, self._coordinates.v_index
        self._programs = Programs(model, self._coordinates)
        self._payloads = Payloads(self.link_names, self.name)
        self._links = np.array([link.parameters for link in model.links])
        self._shared = self._programs.parameters(self._links)
        self._whole: Array | None = None
        self._kernels: dict[tuple[str, str | None], Kernel | Interpreted] = {}
        self._by_link = {name: ByLink(self, name) for name in OF_LINK}

    def _update(self) -> None:
        """Hand the parameters to the compiled functions, which read them at every call."""
        links = self._payloads.added_to(self._links)
        self._shared[:] = self._programs.parameters(links)
        if self._whole is not None:
            self._whole[:] = self._programs.whole_parameters(links)

    def _kernel(self, name: str, link: str | None = None) -> Kernel | Interpreted:
        key = name, link
        if key not in self._kernels:
            programs, shared = self._programs, self._shared
            tag = programs.key
            if name in TREE:
                program = programs.of_tree(name)
            elif link is None:
                program = getattr(programs, name)()
            else:
                program = (programs.of_frame(name, link) if name in FRAME
                           else getattr(programs, name)(link))
                tag += repr(programs.tree.frames[link]).encode()
            if name == 'joint_wrenches':
                shared = self._whole = programs.whole_parameters(
                    self._payloads.added_to(self._links))
                tag = repr(programs.whole_tree.bodies).encode() + tag
            elif name == 'regressor':
                # numpy's own repr rounds
                tag += repr([(k, block.tolist()) for k, block in programs.tree.lump]).encode()
            kind = Interpreted if self.nv > LARGE and name in QUADRATIC else Kernel
            result = CartesianDynamics if name == 'cartesian_dynamics' else None
            self._kernels[key] = kind(program, tag, [shared], result)
        return self._kernels[key]

    def _slow(self, name: str, link: str, *values: ArrayLike) -> Any:
        """Answer for a link what the machine code leaves."""
        kernel = self._kernel(name, link)
        if len(values) != len(kernel.own):
            raise TypeError(f'{name}() takes {len(kernel.own)} arrays and a link')
        return self._run(name, link, **dict(zip(('q', 'v'), values)))

    def _run(self, name: str, link: str | None, **inputs: ArrayLike) -> Any:
        """Check, convert, compute; errors name the culprit."""
        kernel = self._kernel(name, link)
        sizes = [given.size for given in kernel.own]
        arrays, batch = together([vector(self.name, key, value, size, self.joint_names)
                                  for (key, value), size in zip(inputs.items(), sizes)])
        rows = arrays[0].shape[0] if batch else None
        outputs, good = kernel.run(arrays, rows)
        if not good:
            complain(self.name, self._coordinates, dict(zip(inputs, arrays)))
            if name == 'forward_dynamics':
                raise singular_mass(self, arrays[0])
            if name == 'cartesian_dynamics' and link is not None:
                outputs = damped_dynamics(self, arrays[0], arrays[1], link, outputs)
        if len(batch) > 1:
            outputs = [x.reshape(*batch, *x.shape[1:]) for x in outputs]
        return kernel.pack(outputs)
