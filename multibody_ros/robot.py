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

"""Robot: a model and its compiled functions, the one object users hold."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import per_row, together, vector
from .compiled import by_link, compiled, CompiledModel
from .dynamics.constraints import Constraint
from .loops.constrained import Constrained
from .model.doctor import diagnose
from .model.document import read_source, Source
from .model.model import Model
from .model.report import Report
from .model.urdf import GRAVITY, read_urdf
from .programs import CartesianDynamics

Array = NDArray[np.float64]
Wrenches = Mapping[str, ArrayLike]


class Derivatives(NamedTuple):
    """Derivatives with respect to q (along the tangent), v, and the third argument, nv x nv."""

    q: Array
    v: Array
    u: Array


class Robot(CompiledModel, Constrained):
    """
    A robot: every array is float64, a leading batch axis is allowed.

    (Not in `mobility`, `singularity` and `reactions`, which are about one state.) SI units. Angles
    are good up to 1e6 rad; from about 1e22 on poses are NaN. Spatial vectors are [linear;
    angular]. `joint_names` is the order of q and v, with `q_index` and `v_index` for joints of
    several coordinates.
    """

    def __init__(self, model: Model, source: Source | None = None,
                 constraints: Sequence[Constraint] = ()) -> None:
        """Take a model; `source`, the file it was read from, is what `check` examines."""
        super().__init__(model)
        self._extra = tuple(constraints)
        self._source = source
        self.limits = self._coordinates.limits()
        self.damping = self._coordinates.damping()
        self.friction = self._coordinates.friction()

    def __repr__(self) -> str:
        """Return the name and the size."""
        return f"<Robot '{self.name}': {self.nv} velocities, {len(self.link_names)} links>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the model and the parameters; the code is found again in the cache."""
        return _rebuilt, (self.model, self._source, self._links, self._payloads.items(),
                          self._extra)

    def neutral(self) -> Array:
        """Return the configuration of zeros, floating joints unturned."""
        return self._coordinates.neutral()

    def random(self, rng: np.random.Generator) -> Array:
        """Return a configuration within the limits, drawn from `rng`."""
        return self._coordinates.random(rng)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0) -> Array:
        """Return where the velocity `v` leads from `q` in `dt` seconds, one or one a row."""
        q = vector(self.name, 'q', q, self.nq, self.joint_names)
        v = vector(self.name, 'v', v, self.nv, self.joint_names)
        return self._integrate(q, v * per_row('dt', dt, q, v))

    @compiled
    def _integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        return np.asarray(self._run('integrate', None, q=q, v=v))

    @compiled
    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the velocity that leads from `q0` to `q1` in one second, the short way."""
        return np.asarray(self._run('difference', None, q0=q0, q1=q1))

    @compiled
    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                         wrenches: Wrenches | None = None) -> Array:
        """
        Return the torques for the acceleration `a`.

        wrenches: {link: [force; torque] on the robot at the link origin, world axes}.
        """
        tau = self._run('inverse_dynamics', None, q=q, v=v, a=a)
        return np.asarray(tau - self._generalised(q, wrenches) if wrenches else tau)

    @compiled
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                         wrenches: Wrenches | None = None) -> Array:
        """Return the acceleration under the torques `tau`; wrenches as in `inverse_dynamics`."""
        if wrenches:
            tau = vector(self.name, 'tau', tau, self.nv, self.joint_names) \
                + self._generalised(q, wrenches)
        return np.asarray(self._run('forward_dynamics', None, q=q, v=v, tau=tau))

    @compiled
    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), nv x nv."""
        return np.asarray(self._run('mass_matrix', None, q=q))

    @compiled
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) of Christoffel's symbols, nv x nv: M' - 2 C is skew-symmetric."""
        return np.asarray(self._run('coriolis_matrix', None, q=q, v=v))

    @compiled
    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return g(q): the torques that hold the robot at rest."""
        return np.asarray(self._run('gravity_torque', None, q=q))

    @compiled
    def bias_torque(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return C(q, v) v + g(q): the torques without acceleration."""
        return np.asarray(self._run('bias_torque', None, q=q, v=v))

    @compiled
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Any:
        """Return 1/2 v.M v in joules."""
        return self._run('kinetic_energy', None, q=q, v=v)

    @compiled
    def potential_energy(self, q: ArrayLike) -> Any:
        """Return -sum m g.r_c of what moves, in joules, zero at the world origin."""
        return self._run('potential_energy', None, q=q)

    @compiled
    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return [linear; angular] momentum about the world origin, world axes."""
        return np.asarray(self._run('momentum', None, q=q, v=v))

    @compiled
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return Y, nv x 10 links: Y parameters + rotor inertia times a = tau."""
        return np.asarray(self._run('regressor', None, q=q, v=v, a=a))

    @by_link
    def pose(self, q: ArrayLike, link: str) -> Array:
        """Return the 4x4 placement of a link in the world."""
        return self._by_link['pose'][link](q)  # type: ignore[no-any-return]

    @by_link
    def velocity(self, q: ArrayLike, v: ArrayLike, link: str) -> Array:
        """Return [linear; angular] of a link's origin, world axes."""
        return self._by_link['velocity'][link](q, v)  # type: ignore[no-any-return]

    @by_link
    def jacobian(self, q: ArrayLike, link: str) -> Array:
        """Return J, 6 x nv: velocity(link) = J v."""
        return self._by_link['jacobian'][link](q)  # type: ignore[no-any-return]

    @by_link
    def jacobian_dot(self, q: ArrayLike, v: ArrayLike, link: str) -> Array:
        """Return the time derivative of `jacobian`."""
        return self._by_link['jacobian_dot'][link](q, v)  # type: ignore[no-any-return]

    @by_link
    def cartesian_dynamics(self, q: ArrayLike, v: ArrayLike, link: str) -> CartesianDynamics:
        """Return the operational-space dynamics of a link (theory.md section 8)."""
        return self._by_link['cartesian_dynamics'][link](q, v)  # type: ignore[no-any-return]

    def joint_wrenches(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                       wrenches: Wrenches | None = None) -> dict[str, Array]:
        """
        Return {joint: [force; torque] parent on child, at the joint origin, child link axes}.

        Fixed joints and followers are among them. wrenches: as in `inverse_dynamics`.
        """
        rows = self._run('joint_wrenches', None, q=q, v=v, a=a)
        joints = {body.joint: rows[..., k, :]
                  for k, body in enumerate(self._programs.whole_tree.bodies)}
        for link, wrench in (wrenches or {}).items():
            self._take_off(joints, q, link, self._wrench(link, wrench))
        return joints

    def _take_off(self, joints: dict[str, Array], q: ArrayLike, link: str, F: Array) -> None:
        """Let every joint between the world and a link transmit less by a wrench from outside."""
        p_WL = self.pose(q, link)[..., :3, 3]
        above = {joint.child: joint for joint in self.model.joints}
        while link in above:
            joint = above[link]
            T = self.pose(q, joint.child)
            torque = F[..., 3:] + np.cross(p_WL - T[..., :3, 3], F[..., :3])
            share = [np.einsum('...ji,...j->...i', T[..., :3, :3], x)
                     for x in (F[..., :3], torque)]
            joints[joint.name] = joints[joint.name] - np.concatenate(share, axis=-1)
            link = joint.parent

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike,
                                     a: ArrayLike) -> Derivatives:
        """Return the derivatives of tau with respect to q, v and a, exact."""
        arrays, batch = together([vector(self.name, name, x, size) for name, x, size in (
            ('q', q, self.nq), ('v', v, self.nv), ('a', a, self.nv))])
        rows = [x[..., None, :] for x in arrays]
        unit, none = np.eye(self.nv), np.zeros((self.nv, self.nv))
        dq, dv = (np.swapaxes(self._run('inverse_dynamics_derivative', None, q=rows[0], v=rows[1],
                                        a=rows[2], dq=x, dv=y, da=none), -1, -2)
                  for x, y in ((unit, none), (none, unit)))
        shape = (*batch, self.nv, self.nv)
        return Derivatives(dq.reshape(shape), dv.reshape(shape),
                           self.mass_matrix(arrays[0]).reshape(shape))

    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike,
                                     tau: ArrayLike) -> Derivatives:
        """Return the derivatives of the acceleration with respect to q, v and tau, exact."""
        inverse = self.inverse_dynamics_derivatives(q, v, self.forward_dynamics(q, v, tau))
        M_inverse = np.asarray(np.linalg.inv(inverse.u), dtype=np.float64)
        return Derivatives(-M_inverse @ inverse.q, -M_inverse @ inverse.v, M_inverse)

    @property
    def parameters(self) -> Array:
        """Ten a link: m, m c, Ixx Ixy Ixz Iyy Iyz Izz about the link origin; without payload."""
        flat = self._links.ravel()
        flat.flags.writeable = False
        return flat

    @parameters.setter
    def parameters(self, values: ArrayLike) -> None:
        flat = vector(self.name, 'parameters', np.ravel(values), self._links.size)
        if not np.isfinite(flat).all():
            link = self.link_names[int(np.argmin(np.isfinite(flat))) // 10]
            raise ValueError(f"parameters of link '{link}' of robot '{self.name}' are not finite")
        self._links = flat.reshape(-1, 10).copy()
        self._update()

    def set_payload(self, link: str, mass: float, com: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> None:
        """
        Let a link carry a load: `mass` in kg, `com` in m in link axes, `inertia` about it.

        inertia: 3x3, or Ixx Ixy Ixz Iyy Iyz Izz, in link axes, kg m^2; none: a point mass. A link
        has one payload, a new one replaces it.
        """
        self._payloads.put(link, mass, com, inertia)
        self._update()

    def clear_payload(self) -> None:
        """Take all payloads away; the parameters are exactly what they were."""
        self._payloads.clear()
        self._update()

    def check(self) -> Report:
        """Return the model doctor's report."""
        if self._source is None:
            raise ValueError(f"robot '{self.name}' was not read from a file: nothing to examine")
        return diagnose(self._source, lambda: self, self.model)

    def _generalised(self, q: ArrayLike, wrenches: Wrenches) -> Array:
        """Return the sum of J^T F."""
        total = np.zeros(self.nv)
        for link, wrench in wrenches.items():
            J = self.jacobian(q, link)
            total = total + np.einsum('...ij,...i->...j', J, self._wrench(link, wrench))
        return total

    def _wrench(self, link: str, wrench: ArrayLike) -> Array:
        F = vector(self.name, f"wrench on link '{link}'", wrench, 6)
        if not np.isfinite(F).all():
            raise ValueError(f"wrench on link '{link}' of robot '{self.name}' is not finite: "
                             f'{F.tolist()}')
        return F


def _rebuilt(model: Model, source: Source | None, links: Array,
             payloads: Sequence[tuple[str, Array]],
             constraints: Sequence[Constraint] = ()) -> Robot:
    robot = Robot(model, source, constraints)
    robot._links = links
    robot._payloads.restore(payloads)
    robot._update()
    return robot


def load_urdf(source: Source, floating_base: bool = False,
              gravity: Sequence[float] = GRAVITY) -> Robot:
    """
    Return the robot of a URDF given as a path or as XML text.

    gravity: acceleration in m/s^2, world axes. With `floating_base` the root link moves freely on
    a joint named floating_base.
    """
    data = read_source(source)
    return Robot(read_urdf(data, floating_base, gravity), data)
