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

"""Robot, as users hold it, against Pinocchio: real robots and random trees, compiled and not."""

import multibody_ros as mb
from multibody_ros import compiled
from multibody_ros.programs import FRAME, TREE
import numpy as np
from peer import Peer
import pytest
from random_trees import random_model, SCALAR_KINDS, urdf_of
from robots import example_robots

FILES = {f'{path.parent.parent.name}/{path.stem}': path for path in example_robots()}
COMPILED = ('ur_description/ur5_robot', 'panda_description/panda',
            'allegro_hand_description/allegro_left_hand', 'anymal_b_simple_description/anymal',
            'talos_data/talos_reduced')
#: velocities times links from which compiling the regressor takes a test too long
COMPILABLE = 1000


def close(actual, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


class Pair:
    """A robot of ours, the same one in Pinocchio, and a state."""

    def __init__(self, text, floating_base, gravity=(0.0, 0.0, -9.81)):
        """Load both."""
        try:
            self.robot = mb.load_urdf(text, floating_base=floating_base, gravity=gravity)
            tree = self.robot._programs.tree
            self.peer = Peer(tree, text, floating_base, gravity)
        except mb.ModelError as error:
            pytest.skip(str(error))
        except ValueError as error:
            if 'parent joint of the mimic joint is not in the kinematic tree' in str(error):
                pytest.skip('Pinocchio wants the joint that is followed before the follower')
            raise
        self.mimic = len(tree.bodies) > len(self.robot.joint_names)
        self.rng = np.random.default_rng(7)
        self.states = [self.state() for _ in range(2)]

    def state(self):
        """Return a random q, v, a."""
        nv = self.robot.nv
        return self.robot.random(self.rng), self.rng.normal(size=nv), self.rng.normal(size=nv)

    def check(self):
        """Compare everything Pinocchio has."""
        for q, v, a in self.states:
            self.check_dynamics(q, v, a)
            if not self.mimic:
                self.check_more(q, v, a)

    def check_dynamics(self, q, v, a):
        """Compare what Pinocchio can do with followers too."""
        robot, peer = self.robot, self.peer
        tau, M = peer.inverse_dynamics(q, v, a), peer.mass_matrix(q)
        close(robot.inverse_dynamics(q, v, a), tau)
        close(robot.mass_matrix(q), M)
        still = np.zeros(robot.nv)
        close(robot.gravity_torque(q), peer.inverse_dynamics(q, still, still))
        close(robot.bias_torque(q, v), peer.inverse_dynamics(q, v, still))
        condition = np.linalg.cond(M) if robot.nv else 1.0
        if condition < 1e12:
            close(robot.forward_dynamics(q, v, tau), a, 1e-12 * condition)
        if robot.nv * len(robot.link_names) < COMPILABLE or compiled.LARGE < 0:
            close(robot.regressor(q, v, a) @ robot.parameters, tau)

    def check_more(self, q, v, a):
        """Compare kinematics, energies, momentum."""
        robot, peer = self.robot, self.peer
        kinetic, potential = peer.energies(q, v)
        close(robot.kinetic_energy(q, v), kinetic)
        close(robot.potential_energy(q), potential)
        frames = robot._programs.tree.frames
        moving = [name for name in robot.link_names if frames[name].body >= 0]
        for link in moving[-1:] + moving[:1]:
            J, J_dot = peer.jacobians(q, v, link)
            close(robot.jacobian(q, link), J)
            close(robot.jacobian_dot(q, v, link), J_dot)
            close(robot.velocity(q, v, link), J @ v)
            close(robot.pose(q, link), peer.pose(q, link))


@pytest.fixture
def uncompiled(monkeypatch):
    """Run the same programs without compiling them: there are many robots."""
    names = (*TREE, *FRAME, 'pose', 'regressor', 'integrate')
    monkeypatch.setattr(compiled, 'QUADRATIC', names)
    monkeypatch.setattr(compiled, 'LARGE', -1)


@pytest.mark.parametrize('floating_base', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('path', FILES.values(), ids=FILES)
def test_every_example_robot_agrees_with_pinocchio(path, floating_base, uncompiled):
    Pair(path.read_text(), floating_base).check()


@pytest.mark.parametrize('name', COMPILED)
def test_compiled_robots_agree_with_pinocchio(name):
    Pair(FILES[name].read_text(), name == COMPILED[3]).check()


@pytest.mark.parametrize('joints', [1, 2, 5, 12, 25, 40])
def test_compiled_random_trees_agree_with_pinocchio(joints):
    rng = np.random.default_rng(joints)
    kinds = (*SCALAR_KINDS, 'revolute', 'fixed', 'floating')
    model = random_model(rng, joints, kinds, mimic=0.0, rotors=False)
    Pair(urdf_of(model), False, model.gravity).check()


@pytest.mark.parametrize('name', COMPILED[1::2])
@pytest.mark.parametrize('size', [1, 13])
def test_a_batch_gives_what_its_rows_give(name, size):
    pair = Pair(FILES[name].read_text(), False)
    robot, link = pair.robot, pair.robot.link_names[-1]
    q, v, a = map(np.array, zip(*(pair.state() for _ in range(size))))
    calls = {
        'inverse_dynamics': (q, v, a), 'forward_dynamics': (q, v, a), 'mass_matrix': (q,),
        'coriolis_matrix': (q, v), 'gravity_torque': (q,), 'bias_torque': (q, v),
        'kinetic_energy': (q, v), 'potential_energy': (q,), 'momentum': (q, v),
        'difference': (q, q[::-1].copy())}
    for name, arrays in calls.items():
        function = getattr(robot, name)
        np.testing.assert_array_equal(function(*arrays), [function(*x) for x in zip(*arrays)])
    for name, arrays in {'pose': (q,), 'velocity': (q, v), 'jacobian': (q,),
                         'jacobian_dot': (q, v)}.items():
        function = getattr(robot, name)
        np.testing.assert_array_equal(function(*arrays, link),
                                      [function(*x, link) for x in zip(*arrays)])
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v[0], a),
                                  [robot.inverse_dynamics(x, v[0], y) for x, y in zip(q, a)])
    lead = robot.mass_matrix(q.reshape(1, size, 1, -1))
    np.testing.assert_array_equal(lead[0, :, 0], robot.mass_matrix(q))


def test_derivatives_agree_with_pinocchio():
    pair = Pair(FILES['panda_description/panda'].read_text(), True)
    robot, peer = pair.robot, pair.peer
    if pair.mimic:
        pair = Pair(FILES['ur_description/ur5_robot'].read_text(), True)
        robot, peer = pair.robot, pair.peer
    q, v, a = pair.states[0]
    dq, dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    expected = peer.inverse_dynamics_derivatives(q, v, a)
    close(dq, expected[0])
    close(dv, expected[1])
    close(M, peer.mass_matrix(q))
    tau = robot.inverse_dynamics(q, v, a)
    condition = np.linalg.cond(M)
    for ours, theirs in zip(robot.forward_dynamics_derivatives(q, v, tau),
                            peer.forward_dynamics_derivatives(q, v, tau)):
        close(ours, theirs, 1e-13 * condition)
    batch = robot.inverse_dynamics_derivatives([q, q], [v, v], [a, a])
    np.testing.assert_array_equal(batch.q, [dq, dq])


def test_floating_coordinates_move_as_in_pinocchio():
    pair = Pair(FILES['ur_description/ur5_robot'].read_text(), True)
    robot, rng = pair.robot, pair.rng
    for size in (1e-12, 1e-6, 1e-3, 0.3, 1.0, 2.0):
        q, v = robot.random(rng), size * rng.normal(size=robot.nv)
        v[3:6] *= min(1.0, 3.0 / np.linalg.norm(v[3:6]))
        close(pair.peer.q(robot.integrate(q, v)), pair.peer.integrate(q, v), 1e-14)
        close(robot.difference(q, robot.integrate(q, v)), v, 1e-13)
        close(robot.integrate(q, v, 0.5), robot.integrate(q, 0.5 * v))
