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

"""The guard of every control law: what no input and no law may do."""

from closed_loop import arm, Given, load, PANDA_READY, Run, UR5_READY
from hypothesis import given, HealthCheck, settings, strategies as st
import multibody_ros as mb
from multibody_ros import control
from multibody_ros.control.safety import Torque
from multibody_ros.control.trajectory import JointTrajectory, PoseTrajectory
import numpy as np
import pytest
from robots import arm as one_joint, chain

Safety = control.Safety
wild = st.floats(allow_nan=True, allow_infinity=True, width=64)
joint_laws = (control.ComputedTorque, control.PDGravity, control.PDPlus, control.IndependentJoint,
              control.AdaptiveControl)
KINDS = ('computed', 'gravity', 'plus', 'independent', 'adaptive', 'compensation', 'hold',
         'cartesian', 'impedance', 'hybrid')


def laws(robot, link, goal, pose, safety=None):
    """Return one law of every kind."""
    made = [kind(robot, goal, safety=safety) for kind in joint_laws]
    made += [control.GravityCompensation(robot, 2.0, friction=0.5, safety=safety),
             control.SafeHold(robot, safety=safety),
             control.CartesianControl(robot, link, pose, posture=robot.neutral(),
                                      posture_kp=10.0, safety=safety),
             control.CartesianImpedance(robot, link, pose, safety=safety),
             control.CartesianControl(robot, link, pose, force_directions=('z',), wrench=-5.0,
                                      safety=safety)]
    return dict(zip(KINDS, made))


class Wild:
    """A trajectory that gives anything."""

    def __init__(self):
        """Give nothing yet."""
        self.values = ()

    def sample(self, t):
        """Return what was put in."""
        return self.values


GOAL, POSE = Wild(), Wild()
MADE = {}


@pytest.mark.parametrize('kind', KINDS)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_input_gives_a_torque_beyond_the_limits(kind, data):
    robot = arm('arm7')
    if not MADE:
        MADE.update(laws(robot, 'tool', GOAL, POSE))
    law = MADE[kind]
    numbers = data.draw(st.one_of(st.just(wild), st.just(st.floats(-1e3, 1e3))))

    def vector(size):
        return np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)))

    for _ in range(3):
        GOAL.values = vector(7), vector(7), vector(7)
        POSE.values = vector(16).reshape(4, 4), vector(6), vector(6)
        t, q, v = data.draw(wild), vector(7), vector(7)
        try:
            tau = law.torque(t, q, v)
        except ValueError:
            continue
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= robot.limits.effort).all()
        assert np.isfinite(t) and np.isfinite(q).all() and np.isfinite(v).all()


@pytest.mark.parametrize('kind', KINDS)
def test_the_start_is_bumpless(kind):
    """The first torque holds the weight, whatever the target, and none after it jumps."""
    robot, link = arm('ur5_robot'), 'tool0'
    far = UR5_READY + 0.6
    pose = robot.pose(far, link)
    none = np.zeros(6)
    law = laws(robot, link, Given(far, none, none), PoseTrajectory(pose, pose))[kind]
    run = Run(robot, law, UR5_READY)
    taus, _, _ = run.until(0.3)
    assert taus[0] == pytest.approx(robot.gravity_torque(UR5_READY), abs=1e-9)
    rate = robot.limits.effort / law.safety.rise_time if law.safety.rise_time else np.inf
    assert (np.abs(np.diff(taus, axis=0)) <= rate * 1e-3 + 1e-9).all()
    assert np.abs(np.diff(taus[:20], axis=0)).max() < 0.5


def test_torque_rate_is_limited():
    robot = arm('ur5_robot')
    none = np.zeros(6)
    law = control.ComputedTorque(robot, Given(UR5_READY, none, none),
                                 safety=Safety(ramp_time=0.0, tracking=np.inf, rise_time=0.1))
    first = law.torque(0.0, UR5_READY, none)
    law.trajectory = Given(UR5_READY + 0.5, none, none)
    second = law.torque(0.002, UR5_READY, none)
    assert np.abs(second - first).max() == pytest.approx(150.0 / 0.1 * 0.002)
    # asking again for the same instant is no new step
    assert law.torque(0.002, UR5_READY, none) == pytest.approx(second, abs=0.0)
    assert law.terms.limiter[0] < 0.0
    assert law.terms.total == pytest.approx(second)


def test_limits_are_those_of_the_urdf():
    robot = arm('ur5_robot')
    none = np.zeros(6)
    goal = Given(UR5_READY + np.array([3.0, -3.0, 0.3, 3.0, -3.0, 3.0]), none, none)
    hard = Safety(ramp_time=0.0, rise_time=0.0, tracking=np.inf)
    tau = control.ComputedTorque(robot, goal, 3e4, 1.0, safety=hard).torque(0.0, UR5_READY, none)
    assert (np.abs(tau) == robot.limits.effort).any()
    assert (np.abs(tau) <= robot.limits.effort).all()
    half = control.ComputedTorque(robot, goal, 3e4, 1.0, safety=Safety.pure(effort=10.0))
    assert np.abs(half.torque(0.0, UR5_READY, none)).max() == 10.0
    # no limit in the file, none here
    free = mb.load_urdf(one_joint(inside='', kind='continuous'))
    strong = control.PDGravity(free, Given([1.0], [0.0], [0.0]), 1e6, 1.0, safety=hard)
    tau = strong.torque(0.0, np.zeros(1), np.zeros(1))
    assert tau - free.gravity_torque(np.zeros(1)) == pytest.approx([1e6])


@pytest.mark.parametrize('speed', [0.5, 2.0])
def test_a_joint_thrown_at_its_limit_stops_before(speed):
    robot = arm('ur5_robot')
    law = control.GravityCompensation(robot)
    q, v = UR5_READY.copy(), np.zeros(6)
    q[2], v[2] = 2.5, speed
    run = Run(robot, law, q, v)
    _, qs, _ = run.until(4.0)
    assert 3.0 < qs[:, 2].max() < robot.limits.upper[2]
    assert np.abs(law.terms.avoidance).max() < 1.0


def test_a_target_beyond_the_limit_is_not_reached():
    robot = arm('panda')
    goal = PANDA_READY.copy()
    goal[[1, 3]] = 2.2, 0.3
    law = control.ComputedTorque(robot, Given(goal, np.zeros(8), np.zeros(8)), 16.0, 8.0)
    _, qs, _ = Run(robot, law, PANDA_READY).until(6.0)
    assert not law.stopped
    # torques held for a millisecond leave a rounding of what continuous ones would not cross
    assert (qs - robot.limits.upper).max() < 1e-6
    assert qs[-1, [1, 3]] == pytest.approx(robot.limits.upper[[1, 3]], abs=1e-3)
    # the other joints go on
    assert qs[-1, [0, 2, 4, 5, 6]] == pytest.approx(goal[[0, 2, 4, 5, 6]], abs=1e-3)


def test_avoidance_is_silent_where_nothing_threatens():
    robot = arm('panda')
    law = control.GravityCompensation(robot, safety=Safety.pure())
    rng = np.random.default_rng(1)
    for _ in range(20):
        law.torque(0.0, robot.random(rng), np.zeros(8))
        assert not law.terms.avoidance.any()


def test_too_large_an_error_stops_the_arm_without_dropping_it():
    """The stop brakes and carries the weight: the arm rests where it came to rest."""
    robot = arm('panda')
    away = PANDA_READY + np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.5, 0.0, 0.0])
    path = JointTrajectory([0.0, 1.0, 2.0], [PANDA_READY, PANDA_READY, away])
    # a controller too weak for its task
    law = control.ComputedTorque(robot, path, 1.0, 2.0, safety=Safety(tracking=0.1))
    run = Run(robot, law, PANDA_READY)
    run.until(1.99)
    assert "joint 'panda_joint" in law.stopped and 'limit 0.1' in law.stopped
    q = run.q.copy()
    braking = np.abs(run.v).max() / law.safety.stop_rate
    taus, _, _ = run.until(4.0)
    assert np.abs(run.v).max() < 1e-6
    assert np.abs(run.q - q).max() <= braking + 1e-6
    assert taus[-1] == pytest.approx(robot.gravity_torque(run.q), abs=1e-6)
    law.trajectory = None
    law.start()
    assert not law.stopped
    run.until(5.0)
    assert np.abs(run.q - q).max() <= braking + 1e-6


def test_stop_on_request_and_start_again():
    robot = arm('ur5_robot')
    law = control.GravityCompensation(robot)
    run = Run(robot, law, UR5_READY, 0.3 * np.ones(6))
    run.until(0.6)
    assert np.abs(run.v).max() > 0.2
    law.stop()
    run.until(2.0)
    assert np.abs(run.v).max() < 1e-4 and law.stopped == 'stopped on request'
    law.start()
    run.v = 0.3 * np.ones(6)
    run.until(2.6)
    assert np.abs(run.v).max() > 0.2


def test_time_that_goes_back_is_a_new_start():
    robot = arm('ur5_robot')
    none = np.zeros(6)
    law = control.ComputedTorque(robot, Given(UR5_READY + 0.3, none, none))
    first = law.torque(5.0, UR5_READY, none)
    for k in range(1000):
        law.torque(5.0 + 1e-3 * k, UR5_READY, none)
    assert np.abs(law.torque(6.5, UR5_READY, none) - first).max() > 1.0
    assert law.torque(0.0, UR5_READY, none) == pytest.approx(first)


@pytest.mark.parametrize('kind', ['joint', 'tool'])
def test_a_new_start_holds_the_pose_it_finds(kind):
    robot = arm('ur5_robot')
    none = np.zeros(6)
    law = control.ComputedTorque(robot) if kind == 'joint' \
        else control.CartesianControl(robot, 'tool0')
    for q in (UR5_READY, UR5_READY + 0.2):
        law.start()
        for t in (0.0, 1.0, 2.0):
            assert law.torque(t, q, none) == pytest.approx(robot.gravity_torque(q), abs=1e-9)


def test_long_chains_are_computed_without_a_compiler():
    robot = mb.load_urdf(chain(70))
    q = np.full(70, 0.05)
    law = control.GravityCompensation(
        robot, 1.0, safety=Safety.pure(effort=np.inf, limit_rate=0.0))
    assert law.torque(0.0, q, np.ones(70)) == pytest.approx(robot.gravity_torque(q) - 1.0)


def test_a_floating_base_is_held_as_well():
    robot = mb.load_urdf(one_joint(), floating_base=True)
    q, v = robot.neutral(), np.zeros(7)
    goal = robot.integrate(q, 0.1 * np.ones(7))
    law = control.ComputedTorque(robot, Given(goal, v, v), friction=False, safety=Safety.pure())
    a = robot.forward_dynamics(q, v, law.torque(0.0, q, v))
    assert a == pytest.approx(100.0 * robot.difference(q, goal))
    q[3:7] = 0.0
    with pytest.raises(ValueError, match='quaternion of length zero'):
        law.torque(0.1, q, v)


def test_errors_name_the_culprit():
    robot = arm('ur5_robot')
    q, v = UR5_READY.copy(), np.zeros(6)
    law = control.ComputedTorque(robot)
    with pytest.raises(ValueError, match='no torque yet'):
        law.terms  # noqa: B018
    q[2] = np.nan
    with pytest.raises(ValueError, match="q is nan at joint 'elbow_joint'"):
        law.torque(0.0, q, v)
    with pytest.raises(ValueError, match='q must have 6 entries'):
        law.torque(0.0, q[:5], v)
    with pytest.raises(ValueError, match='time must be finite'):
        law.torque(np.nan, UR5_READY, v)
    with pytest.raises(ValueError, match='one vector'):
        control.SafeHold(robot).torque(0.0, UR5_READY[None], v[None])
    goal = Given(UR5_READY, np.full(6, np.inf), v)
    with pytest.raises(ValueError, match='v_d is inf at entry 0 in ComputedTorque'):
        control.ComputedTorque(robot, goal).torque(0.0, UR5_READY, v)
    with pytest.raises(ValueError, match='rise_time must be finite'):
        Safety(rise_time=-1.0)
    with pytest.raises(ValueError, match="effort must be .* nan at joint 'shoulder_pan_joint'"):
        control.SafeHold(robot, safety=Safety(effort=np.nan))


def test_lists_do_as_well_as_arrays():
    robot = arm('ur5_robot')
    law = control.SafeHold(robot)
    fast = law.torque(0.0, UR5_READY, np.ones(6))
    assert law.torque(0.1, UR5_READY.tolist(), [1] * 6) == pytest.approx(fast, abs=1e-12)


def test_a_payload_taken_up_does_not_jump():
    robot = load('ur5_robot')
    law = control.GravityCompensation(robot, safety=Safety(ramp_time=0.0))
    run = Run(robot, law, UR5_READY)
    run.until(0.1)
    robot.set_payload('tool0', 5.0, (0.0, 0.0, 0.1))
    taus, _, _ = run.until(0.2)
    assert np.abs(np.diff(taus, axis=0)).max() <= 150.0 / 0.05 * 1e-3 + 1e-9
    assert taus[-1] == pytest.approx(robot.gravity_torque(run.q), abs=0.1)
    assert np.abs(law.terms.payload).max() > 5.0


def test_terms_have_names():
    assert Torque._fields[:6] == ('inertia', 'coriolis', 'gravity', 'friction', 'payload',
                                  'feedback')
    assert Torque._fields[-1] == 'limiter'
