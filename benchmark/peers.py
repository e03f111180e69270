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
The same robot in every library: this package, Pinocchio, MuJoCo, Drake, Bullet.

Each class reads a URDF text and offers `calls`: {quantity: what to time}, by the quickest way its
Python interface has (data made beforehand, contiguous arrays, several ways tried), and `ours`: a
result in our order of joints. Where a library keeps the state itself (MuJoCo), it is put there
beforehand. A library that is not installed is named by `missing`.
"""

from __future__ import annotations

from importlib.util import find_spec
import tempfile
from typing import Any, NamedTuple
import xml.etree.ElementTree as ElementTree

import multibody_ros as mb
import numpy as np
from scipy.linalg.lapack import dposv
from timing import Call

INVERSE, MASS, FORWARD = 'inverse dynamics', 'mass matrix', 'forward dynamics'
JACOBIAN, SPACE = 'Jacobian of the tool', 'operational space'
QUANTITIES = (INVERSE, MASS, FORWARD, JACOBIAN, SPACE)


class Setup(NamedTuple):
    """A robot all libraries read the same: no meshes, friction or transmissions; fixed base."""

    text: str
    tool: str

    @property
    def root(self) -> str:
        """The link that no joint moves."""
        robot = ElementTree.fromstring(self.text)
        children = {joint.find('child').get('link') for joint in robot.findall('joint')}
        return next(link.get('name') for link in robot.findall('link')
                    if link.get('name') not in children)

    @property
    def carrier(self) -> str:
        """The moving link the tool is fixed to."""
        robot = ElementTree.fromstring(self.text)
        above = {joint.find('child').get('link'): joint for joint in robot.findall('joint')}
        link = self.tool
        while above[link].get('type') == 'fixed':
            link = above[link].find('parent').get('link')
        return link

    def tool_in_carrier(self) -> np.ndarray:
        """Return where the tool's origin is, seen from the moving link."""
        if self.tool == self.carrier:
            return np.zeros(3)
        robot = mb.load_urdf(self.text)
        T_WC, T_WT = (robot.pose(robot.neutral(), link) for link in (self.carrier, self.tool))
        return T_WC[:3, :3].T @ (T_WT[:3, 3] - T_WC[:3, 3])


class Space(NamedTuple):
    """Operational-space terms; without C, `force` = Jbar^T C v - Mx J' v in place of Cx."""

    mass: Any
    coriolis: Any
    gravity: Any
    jacobian: Any
    jacobian_dot: Any
    consistent_inverse: Any
    force: Any = None


class Peer:
    """One robot in one library."""

    #: our joint i is number order[i] there
    order: np.ndarray

    def ours(self, quantity: str, result: Any) -> Any:
        """Return a result in our order of joints."""
        order = self.order
        if quantity == SPACE:
            return result._replace(
                jacobian=result.jacobian[:, order],
                jacobian_dot=None if result.jacobian_dot is None
                else result.jacobian_dot[:, order],
                consistent_inverse=result.consistent_inverse[order])
        result = np.asarray(result)
        if quantity == MASS:
            return result[np.ix_(order, order)]
        return result[..., order]

    def theirs(self, x: np.ndarray) -> np.ndarray:
        """Return vectors of ours in their order."""
        result = np.empty_like(x)
        result[..., self.order] = x
        return result


class Ours(Peer):
    """This package."""

    def __init__(self, setup: Setup) -> None:
        """Load."""
        self.robot = mb.load_urdf(setup.text)
        self.tool = setup.tool
        self.order = np.arange(self.robot.nv)

    def calls(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> dict[str, Call]:
        """Return what to time."""
        robot = self.robot
        return {INVERSE: Call(robot.inverse_dynamics, q, v, a), MASS: Call(robot.mass_matrix, q),
                FORWARD: Call(robot.forward_dynamics, q, v, tau),
                JACOBIAN: Call(robot.jacobian, q, self.tool),
                SPACE: Call(robot.cartesian_dynamics, q, v, self.tool)}

    def batch(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
        """Return inverse dynamics of rows of states."""
        return Call(self.robot.inverse_dynamics, q, v, a)


class Pinocchio(Peer):
    """Pinocchio, package `pin`."""

    module = 'pinocchio'

    def __init__(self, setup: Setup, joints: tuple[str, ...]) -> None:
        """Load."""
        import pinocchio as pin
        self.pin = pin
        self.model = pin.buildModelFromXML(setup.text)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(setup.tool, pin.BODY)
        self.order = np.array(
            [self.model.joints[self.model.getJointId(name)].idx_v for name in joints])

    def calls(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> dict[str, Call]:
        """Return what to time."""
        pin, model, data, frame = self.pin, self.model, self.data, self.frame
        q, v, a, tau = (self.theirs(x) for x in (q, v, a, tau))
        world, unit = pin.LOCAL_WORLD_ALIGNED, np.eye(6, order='F')

        def space(q: np.ndarray, v: np.ndarray) -> Space:
            # leaves the Jacobians of all joints, and their rates, in `data`
            C = pin.computeCoriolisMatrix(model, data, q, v)
            pin.updateFramePlacement(model, data, frame)
            J = pin.getFrameJacobian(model, data, frame, world)
            J_dot = pin.getFrameJacobianTimeVariation(model, data, frame, world)
            g = pin.computeGeneralizedGravity(model, data, q)
            response = J.dot(pin.computeMinverse(model, data, q))
            Mx = dposv(response.dot(J.T), unit)[1]
            J_bar = response.T.dot(Mx)
            Cx = Mx.dot((response.dot(C) - J_dot).dot(J_bar))
            return Space(Mx, Cx, g.dot(J_bar), J, J_dot, J_bar)

        return {INVERSE: Call(pin.rnea, model, data, q, v, a),
                MASS: Call(pin.crba, model, data, q),
                FORWARD: Call(pin.aba, model, data, q, v, tau),
                JACOBIAN: Call(pin.computeFrameJacobian, model, data, q, frame, world),
                SPACE: Call(space, q, v)}

    def batch(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
        """Return inverse dynamics of rows of states, in one thread."""
        columns = [np.asfortranarray(self.theirs(x).T) for x in (q, v, a)]
        if hasattr(self.pin, 'rneaInParallel'):
            pool, result = self.pin.ModelPool(self.model, 1), np.empty_like(columns[1])

            def run(*x: np.ndarray) -> np.ndarray:
                self.pin.rneaInParallel(1, pool, *x, result)
                return result.T
            return Call(run, *columns)
        rnea, model, data = self.pin.rnea, self.model, self.data
        states = [tuple(self.theirs(x)) for x in zip(q, v, a)]
        return Call(lambda: np.array([rnea(model, data, *state) for state in states]))


class MuJoCo(Peer):
    """MuJoCo, without contacts, limits and passive forces; fixed links are fused."""

    module = 'mujoco'
    COMPILER = ('<mujoco><compiler fusestatic="true" balanceinertia="false" discardvisual="true" '
                'inertiafromgeom="false"/></mujoco>')

    def __init__(self, setup: Setup, joints: tuple[str, ...]) -> None:
        """Load; the tool becomes a site on the link it was fused into."""
        import mujoco
        self.mujoco = mujoco
        spec = mujoco.MjSpec.from_string(
            setup.text.replace('</robot>', self.COMPILER + '</robot>'))
        spec.body(setup.carrier).add_site(name='tool', pos=setup.tool_in_carrier())
        self.model = spec.compile()
        bits = mujoco.mjtDisableBit
        self.model.opt.disableflags = sum(int(bit) for bit in (
            bits.mjDSBL_CONSTRAINT, bits.mjDSBL_CONTACT, bits.mjDSBL_LIMIT, bits.mjDSBL_SPRING,
            bits.mjDSBL_DAMPER, bits.mjDSBL_SENSOR, bits.mjDSBL_ACTUATION))
        self.data = mujoco.MjData(self.model)
        self.order = np.array([self.model.joint(name).dofadr[0] for name in joints])

    def calls(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> dict[str, Call]:
        """Return what to time: the stages of mj_inverse and mj_forward that are needed."""
        mujoco, model, data = self.mujoco, self.model, self.data
        places, masses, speeds = mujoco.mj_kinematics, mujoco.mj_makeM, mujoco.mj_comVel
        centres, factor, solve = mujoco.mj_comPos, mujoco.mj_factorM, mujoco.mj_solveM
        newton, full, rate = mujoco.mj_rne, mujoco.mj_fullM, mujoco.mj_jacDot
        nv, site = model.nv, model.site('tool').id
        body, point = int(model.site_bodyid[site]), data.site_xpos[site]
        data.qpos, data.qvel, data.qacc = (self.theirs(x) for x in (q, v, a))
        tau, speed, still = self.theirs(tau), self.theirs(v), np.zeros(nv)
        bias, result, row = np.empty(nv), np.empty(nv), np.empty((1, nv))
        M, J, J_dot = np.empty((nv, nv)), np.empty((6, nv)), np.empty((6, nv))
        parts = J[:3], J[3:], J_dot[:3], J_dot[3:]
        response, unit = np.empty((6, nv)), np.eye(6, order='F')

        def inverse() -> np.ndarray:
            places(model, data)
            centres(model, data)
            speeds(model, data)
            newton(model, data, 1, result)
            return result

        def mass() -> np.ndarray:
            places(model, data)
            centres(model, data)
            masses(model, data)
            full(model, data, M)
            return M

        def forward() -> np.ndarray:
            places(model, data)
            centres(model, data)
            masses(model, data)
            factor(model, data)
            speeds(model, data)
            newton(model, data, 0, bias)
            np.subtract(tau, bias, row[0])
            solve(model, data, row, row)
            return row[0]

        def jacobian() -> np.ndarray:
            places(model, data)
            centres(model, data)
            mujoco.mj_jacSite(model, data, parts[0], parts[1], site)
            return J

        def space() -> Space:
            places(model, data)
            centres(model, data)
            masses(model, data)
            factor(model, data)
            mujoco.mj_jacSite(model, data, parts[0], parts[1], site)
            data.qvel = still
            speeds(model, data)
            newton(model, data, 0, result)
            data.qvel = speed
            speeds(model, data)
            newton(model, data, 0, bias)
            rate(model, data, parts[2], parts[3], point, body)
            solve(model, data, response, J)
            Mx = dposv(response.dot(J.T), unit)[1]
            J_bar = response.T.dot(Mx)
            force = (bias - result).dot(J_bar) - Mx.dot(J_dot.dot(speed))
            return Space(Mx, None, result.dot(J_bar), J, J_dot, J_bar, force)

        return {quantity: Call(function) for quantity, function in zip(
            QUANTITIES, (inverse, mass, forward, jacobian, space))}

    def batch(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
        """Return inverse dynamics of rows of states."""
        mujoco, model, data = self.mujoco, self.model, self.data
        places, centres = mujoco.mj_kinematics, mujoco.mj_comPos
        speeds, newton = mujoco.mj_comVel, mujoco.mj_rne
        position, velocity, acceleration = data.qpos, data.qvel, data.qacc
        result = np.empty(v.shape)
        states = list(zip(*(self.theirs(x) for x in (q, v, a)), result))

        def run() -> np.ndarray:
            for position[:], velocity[:], acceleration[:], row in states:
                places(model, data)
                centres(model, data)
                speeds(model, data)
                newton(model, data, 1, row)
            return result

        return Call(run)


class Drake(Peer):
    """Drake. It keeps what it computed until the state is set, so every call sets it."""

    module = 'pydrake'

    def __init__(self, setup: Setup, joints: tuple[str, ...]) -> None:
        """Load."""
        from pydrake.multibody import plant, tree
        from pydrake.multibody.parsing import Parser
        self.tree = tree
        self.plant = plant.MultibodyPlant(0.0)
        Parser(self.plant).AddModelsFromString(setup.text, 'urdf')
        if setup.root != 'world':
            self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName(setup.root))
        self.plant.Finalize()
        self.forces = tree.MultibodyForces(self.plant)
        self.tool = self.plant.GetFrameByName(setup.tool)
        self.order = np.array([self.plant.GetJointByName(name).velocity_start()
                               for name in joints])

    def calls(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> dict[str, Call]:
        """Return what to time; Drake gives J' v, but neither J' nor C."""
        plant, forces, tool, world = self.plant, self.forces, self.tool, self.plant.world_frame()
        context = plant.CreateDefaultContext()
        state = np.concatenate([self.theirs(q), self.theirs(v)])
        a, tau = self.theirs(a), self.theirs(tau)
        position = state[:len(q)]
        acceleration = plant.get_generalized_acceleration_output_port()
        force = plant.get_applied_generalized_force_input_port()
        force.FixValue(context, tau)
        kind, origin = self.tree.JacobianWrtVariable.kV, np.zeros(3)
        unit = np.eye(6, order='F')
        swap = [3, 4, 5, 0, 1, 2]       # spatial vectors are [angular; linear] there

        def inverse() -> np.ndarray:
            plant.SetPositionsAndVelocities(context, state)
            plant.CalcForceElementsContribution(context, forces)
            return plant.CalcInverseDynamics(context, a, forces)

        def mass() -> np.ndarray:
            plant.SetPositions(context, position)
            return plant.CalcMassMatrix(context)

        def forward() -> np.ndarray:
            plant.SetPositionsAndVelocities(context, state)
            return acceleration.Eval(context)

        def jacobian() -> np.ndarray:
            plant.SetPositions(context, position)
            return plant.CalcJacobianSpatialVelocity(
                context, kind, tool, origin, world, world)[swap]

        def space() -> Space:
            plant.SetPositionsAndVelocities(context, state)
            J = plant.CalcJacobianSpatialVelocity(context, kind, tool, origin, world, world)[swap]
            drift = plant.CalcBiasSpatialAcceleration(
                context, kind, tool, origin, world, world).get_coeffs()[swap]
            g = -plant.CalcGravityGeneralizedForces(context)
            response = dposv(plant.CalcMassMatrix(context), J.T)[1]
            Mx = dposv(J.dot(response), unit)[1]
            J_bar = response.dot(Mx)
            force = plant.CalcBiasTerm(context).dot(J_bar) - Mx.dot(drift)
            return Space(Mx, None, g.dot(J_bar), J, None, J_bar, force)

        return {quantity: Call(function) for quantity, function in zip(
            QUANTITIES, (inverse, mass, forward, jacobian, space))}

    def batch(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
        """Return inverse dynamics of rows of states."""
        plant, forces = self.plant, self.forces
        context = plant.CreateDefaultContext()
        states = list(zip(np.hstack([self.theirs(q), self.theirs(v)]), self.theirs(a)))

        def run() -> np.ndarray:
            result = []
            for state, acceleration in states:
                plant.SetPositionsAndVelocities(context, state)
                plant.CalcForceElementsContribution(context, forces)
                result.append(plant.CalcInverseDynamics(context, acceleration, forces))
            return np.array(result)

        return Call(run)


class Bullet(Peer):
    """Bullet, which takes lists, and has neither forward dynamics nor J' nor C as functions."""

    module = 'pybullet'

    def __init__(self, setup: Setup, joints: tuple[str, ...]) -> None:
        """Load, through a file: Bullet reads no text."""
        import pybullet
        self.bullet = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=self.client)
        with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
            file.write(setup.text)
            file.flush()
            self.body = pybullet.loadURDF(
                file.name, useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
                physicsClientId=self.client)
        infos = [pybullet.getJointInfo(self.body, k, physicsClientId=self.client)
                 for k in range(pybullet.getNumJoints(self.body, physicsClientId=self.client))]
        moving = [info[1].decode() for info in infos if info[3] >= 0]
        self.order = np.array([moving.index(name) for name in joints])
        self.link = next(info[0] for info in infos if info[12].decode() == setup.tool)

    def calls(self, q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> dict[str, Call]:
        """Return what to time."""
        bullet, body = self.bullet, self.body
        q, v, a = (self.theirs(x).tolist() for x in (q, v, a))
        origin, still = [0.0] * 3, [0.0] * len(q)

        def jacobian() -> np.ndarray:
            linear, angular = bullet.calculateJacobian(
                body, self.link, origin, q, still, still, self.client)
            return np.array(linear + angular)

        return {INVERSE: Call(bullet.calculateInverseDynamics, body, q, v, a, 0, self.client),
                MASS: Call(bullet.calculateMassMatrix, body, q, 0, self.client),
                JACOBIAN: Call(jacobian)}

    def batch(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Call:
        """Return inverse dynamics of rows of states."""
        function, body, client = self.bullet.calculateInverseDynamics, self.body, self.client
        states = list(zip(*(self.theirs(x).tolist() for x in (q, v, a))))
        return Call(lambda: np.array([function(body, *state, 0, client) for state in states]))


PEERS = (Pinocchio, MuJoCo, Drake, Bullet)


def available() -> list[type]:
    """Return the libraries that are installed."""
    return [peer for peer in PEERS if find_spec(peer.module)]


def missing() -> list[str]:
    """Name the others."""
    return [peer.__name__ for peer in PEERS if not find_spec(peer.module)]
