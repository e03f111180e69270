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

"""Control laws of a link's pose: lines, singularities, null space, passivity, forces."""

from closed_loop import arm, BARE, Given, PANDA_READY, rk4, Run, state, TOOL, UR5_READY
from hypothesis import assume, example, given, settings, strategies as st
from multibody_ros import control
from multibody_ros.control.rotation import exp_rotation, log_rotation, rotation_gradient
from multibody_ros.control.singular import damped_inverse, eigen
from multibody_ros.control.trajectory import PoseTrajectory
import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

robots = pytest.mark.parametrize('name', ['panda', 'ur5_robot'])


def pose_near(T, rng, way=0.1, turn=0.3):
    """Return a pose some way and turn off."""
    result = T.copy()
    result[:3, 3] += way * rng.normal(size=3)
    result[:3, :3] = exp_rotation(turn * rng.normal(size=3)) @ T[:3, :3]
    return result


@robots
@pytest.mark.parametrize('seed', range(3))
def test_operational_space_closed_loop(name, seed):
    """Along chosen directions x'' = x_d'' + Kd e' + Kp e, whatever the null space does."""
    robot, link = arm(name), TOOL[name]
    rng = np.random.default_rng(seed)
    q = (PANDA_READY if name == 'panda' else UR5_READY) + 0.01 * rng.normal(size=robot.nv)
    v = 0.3 * rng.normal(size=robot.nv)
    T = robot.pose(q, link)
    goal = Given(pose_near(T, rng), rng.normal(size=6), rng.normal(size=6))
    J, J_dot = robot.jacobian(q, link), robot.jacobian_dot(q, v, link)
    e = np.concatenate([goal.values[0][:3, 3] - T[:3, 3], Rotation.from_matrix(
        goal.values[0][:3, :3] @ T[:3, :3].T).as_rotvec()])
    kp, kd = rng.uniform(10.0, 100.0, (2, 6))
    wanted = goal.values[2] + kd * (goal.values[1] - J @ v) + kp * e
    axes = exp_rotation(rng.normal(size=3))
    for directions, turn in (('pose', None), ('position', None), ('orientation', None),
                             (('x', 'z', 'ry'), None), (('y', 'rx', 'rz'), axes)):
        # gains per direction belong to the law's axes; along turned ones all are the same
        gains = (kp, kd) if turn is None else (50.0, 12.0)
        law = control.CartesianControl(
            robot, link, goal, *gains, posture=robot.neutral(), posture_kp=20.0,
            directions=directions, axes=turn, friction=False, damped_below=1e-4, safety=BARE)
        a = robot.forward_dynamics(q, v, law.torque(0.0, q, v))
        x_dotdot = J @ a + J_dot @ v
        aim = wanted
        if turn is not None:
            aim = goal.values[2] + 12.0 * (goal.values[1] - J @ v) + 50.0 * e
            R = np.kron(np.eye(2), turn)
            aim, x_dotdot = R.T @ aim, R.T @ x_dotdot
        rows = list(law.rows)
        assert law.margin > 1.0
        assert x_dotdot[rows] == pytest.approx(aim[rows], rel=1e-8, abs=1e-8)


def test_straight_line_at_half_a_metre_per_second():
    robot, link = arm('panda'), 'panda_hand'
    start = robot.pose(PANDA_READY, link)
    goal = start.copy()
    goal[:3, 3] += [0.1, 0.3, -0.2]
    way = goal[:3, 3] - start[:3, 3]
    length = np.linalg.norm(way)
    path = PoseTrajectory(start, goal, 0.6, 1.875 * length / 0.5)
    # the simulated arm has no friction
    law = control.CartesianControl(robot, link, path, posture=PANDA_READY, posture_kp=10.0,
                                   friction=False)
    _, qs, vs = Run(robot, law, PANDA_READY).until(2.5)
    poses = robot.pose(qs, link)
    speed = np.linalg.norm(robot.velocity(qs, vs, link)[:, :3], axis=1)
    assert speed.max() == pytest.approx(0.5, rel=1e-3)
    off = poses[:, :3, 3] - start[:3, 3]
    off -= np.outer(off @ way / length**2, way)
    assert np.linalg.norm(off, axis=1).max() < 1e-4
    wanted = np.array([path.sample(1e-3 * k)[0][:3, 3] for k in range(len(qs))])
    assert np.linalg.norm(poses[:, :3, 3] - wanted, axis=1).max() < 1e-4


class There:
    """One trajectory after the other."""

    def __init__(self, first, second, at):
        """Change over at a time."""
        self.first, self.second, self.at = first, second, at

    def sample(self, t):
        """Return the one of the time."""
        return (self.first if t < self.at else self.second).sample(t)


def test_through_the_stretched_singularity_without_a_jump():
    """
    The target goes beyond the reach and comes back; the elbow is straight on the way.

    A torque that is continuous changes half as much in steps of half the length; a jump would
    not. The guard's own limit of the rate is left out.
    """
    robot, link = arm('ur5_robot'), 'tool0'
    q = np.array([0.2, -0.6, 0.9, -0.3, 1.2, 0.3])
    start = robot.pose(q, link)
    far = start.copy()
    out = start[:3, 3] - robot.pose(q, 'shoulder_link')[:3, 3]
    far[:3, 3] += 0.09 * out / np.linalg.norm(out)
    path = There(PoseTrajectory(start, far, 0.6, 2.0), PoseTrajectory(far, start, 2.6, 2.0), 2.6)
    changes = []
    for h in (1e-3, 5e-4):
        law = control.CartesianControl(robot, link, path, posture=q, posture_kp=10.0,
                                       safety=control.Safety(rise_time=0.0))
        run = Run(robot, law, q, h=h, note=lambda law=law: law.margin)
        taus, qs, _ = run.until(6.0)
        assert not law.stopped
        assert run.notes[0] > 1.0 and min(run.notes) < 0.01 and np.abs(qs[:, 2]).min() < 0.05
        assert np.abs(taus).max() < 80.0
        assert np.abs(control.pose_error(robot.pose(run.q, link), start)).max() < 1e-6
        changes.append(np.abs(np.diff(taus, axis=0)).max())
    assert changes[1] < 0.6 * changes[0] < 2.0


def test_through_the_wrist_singularity_in_line():
    """The wrist passes through zero, where two axes fall together: it goes on, near the path."""
    robot, link = arm('ur5_robot'), 'tool0'
    q0 = np.array([0.2, -1.2, 1.6, -1.0, 0.5, 0.3])
    q1 = q0.copy()
    q1[4] = -0.5
    path = PoseTrajectory(robot.pose(q0, link), robot.pose(q1, link), 0.6, 2.0)
    law = control.CartesianControl(robot, link, path, posture=q0, posture_kp=10.0)
    run = Run(robot, law, q0)
    taus, qs, _ = run.until(4.0)
    assert qs[:, 4].min() < 0.0 < qs[:, 4].max()
    assert np.abs(np.diff(taus, axis=0)).max() < 0.05
    assert np.abs(control.pose_error(robot.pose(run.q, link), path.goal)).max() < 1e-6


def test_friction_is_fed_forward_along_the_path():
    """What Jbar x_d' would meet: it moves the link as wanted, with the least kinetic energy."""
    robot, link = arm('arm7'), 'tool'
    q = np.array([0.1, 0.5, -0.2, -1.2, 0.3, 0.9, 0.1])
    pose, twist = robot.pose(q, link), np.array([0.2, -0.1, 0.3, 0.0, 0.4, 0.0])
    law = control.CartesianControl(robot, link, Given(pose, twist, np.zeros(6)), safety=BARE,
                                   damped_below=1e-6)
    law.torque(0.0, q, np.zeros(7))
    v = robot.cartesian_dynamics(q, np.zeros(7), link).consistent_inverse @ twist
    assert law.terms.friction == pytest.approx(
        robot.damping * v + robot.friction * v / np.sqrt(v**2 + 1e-4), abs=1e-9)


def test_null_space_motion_leaves_the_tool_in_place():
    robot, link = arm('panda'), 'panda_hand'
    start = robot.pose(PANDA_READY, link)
    posture = PANDA_READY + np.array([0.8, 0.0, -0.8, 0.0, 0.5, 0.0, 0.0, 0.0])
    law = control.CartesianControl(
        robot, link, PoseTrajectory(start, start), posture=posture, posture_kp=20.0,
        posture_kd=9.0, safety=control.Safety.pure())
    q, v = PANDA_READY, np.zeros(8)
    off = []
    for k in range(1000):
        q, v = rk4(robot, q, v, law.torque, 1e-3 * k, 1e-3)
        off.append(np.abs(control.pose_error(robot.pose(q, link), start)).max())
    assert np.abs(q - PANDA_READY).max() > 0.2
    assert max(off) < 1e-8


def matrices(rng, scale):
    A = rng.normal(size=(6, 6))
    size = np.sqrt(scale * np.array([1.0] * 3 + [0.05] * 3))
    return size[:, None] * (A @ A.T) / 6.0 * size


@robots
@given(seed=st.integers(0, 2**32 - 1), gap=st.floats(0.0, 1.5))
@settings(max_examples=6, deadline=None)
def test_impedance_is_passive(name, seed, gap):
    """T + U never grows and pays for the arm's energy, whatever the symmetric stiffness."""
    robot, link = arm(name), TOOL[name]
    rng = np.random.default_rng(seed)
    K, D = matrices(rng, 400.0), matrices(rng, 20.0)
    q = PANDA_READY if name == 'panda' else UR5_READY
    target = pose_near(robot.pose(q, link), rng, 0.1, gap)
    law = control.CartesianImpedance(robot, link, PoseTrajectory(target, target), K, D,
                                     posture_kd=2.0, safety=BARE)
    v = 0.2 * rng.normal(size=robot.nv)

    def storage(q, v):
        T = robot.pose(q, link)
        e = np.concatenate([target[:3, 3] - T[:3, 3], Rotation.from_matrix(
            target[:3, :3] @ T[:3, :3].T).as_rotvec()])
        return robot.kinetic_energy(q, v) + 0.5 * e @ K @ e, np.linalg.norm(e[3:])

    h = 1e-3
    assume(storage(q, v)[1] < 2.5)
    first = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    stored, power = [storage(q, v)[0]], [v @ law.torque(0.0, q, v)]
    for k in range(250):
        q, v = rk4(robot, q, v, law.torque, k * h, h)
        energy, turn = storage(q, v)
        if turn > 3.0:
            # the error of an orientation ends at half a turn, and with it the spring
            break
        stored.append(energy)
        power.append(v @ law.torque((k + 1) * h, q, v))
        last = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert np.diff(stored).max() < 1e-7 * stored[0]
    work = simpson(power, dx=h)
    assert last - first == pytest.approx(work, abs=1e-3 * (1.0 + stored[0]))


def test_pushed_impedance_gives_way_as_a_spring():
    robot, link = arm('panda'), 'panda_hand'
    law = control.CartesianImpedance(robot, link, stiffness=[300.0] * 3 + [40.0] * 3,
                                     posture_kd=5.0)
    push = {link: [6.0, -3.0, 4.5, 0.0, 0.0, 0.0]}
    run = Run(robot, law, PANDA_READY, wrenches=push)
    run.until(6.0)
    moved = robot.pose(run.q, link)[:3, 3] - robot.pose(PANDA_READY, link)[:3, 3]
    assert moved == pytest.approx(np.array([6.0, -3.0, 4.5]) / 300.0, rel=1e-3)


def test_force_directions_push_while_the_others_follow():
    """Against a stiff wall the link exerts the wrench asked for and moves along the wall."""
    robot, link = arm('panda'), 'panda_hand'
    start = robot.pose(PANDA_READY, link)
    goal = start.copy()
    goal[:3, 3] += [0.0, 0.1, 0.0]
    law = control.CartesianControl(
        robot, link, PoseTrajectory(start, goal, 0.5, 1.5), posture=PANDA_READY, posture_kp=10.0,
        force_directions=('z',), wrench=[0.0, 0.0, -12.0, 0.0, 0.0, 0.0])
    q, v = PANDA_READY, np.zeros(8)
    wall, forces = start[2, 3], []
    for k in range(3000):
        depth = wall - robot.pose(q, link)[2, 3]
        force = max(0.0, 2e4 * depth - 200.0 * robot.velocity(q, v, link)[2])
        forces.append(force)
        tau = law.torque(1e-3 * k, q, v)
        q, v = rk4(robot, q, v, lambda *_, tau=tau: tau, 1e-3 * k, 1e-3,
                   {link: [0.0, 0.0, force, 0.0, 0.0, 0.0]})
    assert forces[-1] == pytest.approx(12.0, rel=1e-2)
    e = control.pose_error(robot.pose(q, link), goal)
    assert np.abs(e[[0, 1, 3, 4, 5]]).max() < 1e-3


# matrices that take one sweep more than most
@example(2026)
@example(3628)
@example(3933)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_eigenvalues_by_rotations(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    A = rng.normal(size=(n, n)) * 10.0**rng.uniform(-6.0, 0.0, n)
    A = A @ A.T
    values, vectors = (np.array(x) for x in eigen(A.tolist()))
    size = np.abs(A).max()
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(A), abs=1e-13 * size)
    assert vectors @ np.diag(values) @ vectors.T == pytest.approx(A, abs=1e-13 * size)
    assert vectors @ vectors.T == pytest.approx(np.eye(n), abs=1e-13)


def test_only_the_lost_directions_are_damped():
    """Against the eigenvectors of numpy: an inverse where it can be, bounded where it cannot."""
    rng = np.random.default_rng(3)
    F = np.linalg.qr(rng.normal(size=(6, 6)))[0] * np.linspace(0.8, 1.6, 6)
    groups, below, along = [[0, 1, 2], [3, 4, 5]], 0.02, []
    lost = np.linalg.svd(F)[0][:, 2]
    for share in np.linspace(0.0, 0.5, 300):
        half = F - (1.0 - share) * np.outer(lost, lost @ F)
        A = half @ half.T
        scale = np.sqrt(np.repeat([np.trace(A[:3, :3]), np.trace(A[3:, 3:])], 3) / 3.0)
        inverse, margin = damped_inverse(A.tolist(), groups, below)
        values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
        assert margin == pytest.approx(max(0.0, values[0]) / below, abs=1e-12)
        dimensionless = scale[:, None] * np.array(inverse) * scale
        for x, u in zip(values, vectors.T):
            if x >= below:
                assert dimensionless @ u == pytest.approx(u / x, abs=1e-9 / x)
        along.append(vectors[:, 0] @ dimensionless @ vectors[:, 0])
    assert margin > 1.0
    assert along[0] == pytest.approx(0.0, abs=1e-9)
    assert 1.0 / below < max(along) < 1.07 / below
    assert np.abs(np.diff(along)).max() < 0.05 * max(along)


def test_logarithm_up_to_half_a_turn():
    """Without wrap or flip up to just below pi, against SciPy; exact for the least turns."""
    rng = np.random.default_rng(5)
    for angle in (0.0, 1e-12, 1e-5, 0.1, 1.0, 3.0, np.pi - 1e-6):
        for _ in range(20):
            u = rng.normal(size=3)
            w = angle * u / np.linalg.norm(u)
            R = Rotation.from_rotvec(w).as_matrix()
            assert exp_rotation(w) == pytest.approx(R, abs=1e-14)
            assert log_rotation(R) == pytest.approx(w, abs=1e-9, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 3.1))
@settings(max_examples=50, deadline=None)
def test_rotation_spring_is_the_gradient_of_its_energy(seed, angle):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(3, 3))
    K = K @ K.T
    u = rng.normal(size=3)
    R = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    R_d = Rotation.from_rotvec(angle * u / np.linalg.norm(u)).as_matrix() @ R

    def energy(turn):
        w = Rotation.from_matrix(R_d @ R.T @ exp_rotation(turn).T).as_rotvec()
        return 0.5 * w @ K @ w

    h = 1e-5
    gradient = [(energy(h * x) - energy(-h * x)) / (2.0 * h) for x in np.eye(3)]
    w = log_rotation(R_d @ R.T)
    torque = rotation_gradient(w.tolist(), (K @ w).tolist())
    assert torque == pytest.approx(-np.array(gradient), abs=1e-6 * (1.0 + np.abs(K).max()))


def test_unknown_names_are_told():
    robot = arm('panda')
    with pytest.raises(ValueError, match="no link 'hand', only: .*panda_hand"):
        control.CartesianControl(robot, 'hand')
    with pytest.raises(ValueError, match='directions must be pose'):
        control.CartesianControl(robot, 'panda_hand', directions=('x', 'w'))
    law = control.CartesianImpedance(robot, 'panda_hand')
    with pytest.raises(ValueError, match='damping must be six non-negative numbers'):
        law.damping = -1.0
    law.damping = 7.0
    assert law.damping == pytest.approx(7.0 * np.eye(6))
    law = control.CartesianControl(robot, 'panda_hand')
    for name, bad in (('kp', -1.0), ('kd', [1.0, 2.0]), ('wrench', np.inf), ('damped_below', 0.0),
                      ('posture_kp', [1.0])):
        with pytest.raises(ValueError, match=f'{name} must be'):
            setattr(law, name, bad)
    with pytest.raises(ValueError, match='stiffness must be'):
        control.CartesianImpedance(robot, 'panda_hand', stiffness=-np.eye(6))
    with pytest.raises(ValueError, match='axes must be a rotation'):
        control.CartesianControl(robot, 'panda_hand', axes=2.0 * np.eye(3))
    q, v = state(robot, 0)
    with pytest.raises(ValueError, match="q is nan at joint 'panda_joint1'"):
        control.CartesianControl(robot, 'panda_hand').torque(0.0, np.nan * q, v)
