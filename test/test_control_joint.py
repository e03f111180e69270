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

"""Control laws in joint coordinates: the closed loops their docstrings promise."""

from pathlib import Path
import re

from closed_loop import arm, BARE, Given, load, PANDA_READY, READY, rk4, Run, state
from multibody_ros import control
from multibody_ros.control.joint import middle
from multibody_ros.control.trajectory import JointTrajectory, SineTrajectory
import numpy as np
import pytest
from scipy.linalg import expm

ROBOTS = ['panda', 'ur5_robot', 'planar_2r']
robots = pytest.mark.parametrize('name', ROBOTS)


def reference(robot, seed):
    rng = np.random.default_rng(seed)
    return (robot.random(rng), *rng.normal(size=(2, robot.nv)))


def small(robot):
    """Return one amplitude a joint: small for a short slide."""
    room = robot.limits.upper - robot.limits.lower
    return np.minimum(0.3, 0.1 * room)


@robots
def test_computed_torque_decouples_the_error(name):
    """The error obeys e'' + Kd e' + Kp e = 0, here against the matrix exponential."""
    robot = arm(name)
    rng = np.random.default_rng(1)
    kp, kd = rng.uniform(20.0, 120.0, robot.nv), rng.uniform(5.0, 25.0, robot.nv)
    path = SineTrajectory(READY[name], small(robot), rng.uniform(0.2, 0.6, robot.nv), ramp=0.5)
    law = control.ComputedTorque(robot, path, kp, kd, friction=False,
                                 safety=control.Safety.pure())
    e = 0.2 * small(robot) * rng.normal(size=robot.nv)
    e_dot = small(robot) * rng.normal(size=robot.nv)
    q_d, v_d, _ = path.sample(0.0)
    q, v = q_d - e, v_d - e_dot
    h, steps = 1e-3, 800
    for k in range(steps):
        q, v = rk4(robot, q, v, law.torque, k * h, h)
    assert not law.terms.limiter.any()
    end = [expm(steps * h * np.array([[0.0, 1.0], [-p, -d]])) @ x
           for p, d, x in zip(kp, kd, np.transpose([e, e_dot]))]
    assert np.abs(path.sample(steps * h)[0] - q - [x[0] for x in end]).max() < 1e-8
    assert np.abs(path.sample(steps * h)[1] - v - [x[1] for x in end]).max() < 1e-7


@robots
@pytest.mark.parametrize('seed', range(3))
def test_closed_loops_of_joint_laws(name, seed):
    robot = arm(name)
    q, v = state(robot, seed)
    q_d, v_d, a_d = reference(robot, seed + 100)
    e, e_dot = q_d - q, v_d - v
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity_torque(q)
    rng = np.random.default_rng(seed)
    kp, kd = rng.uniform(1.0, 50.0, (2, robot.nv))
    goal = Given(q_d, v_d, a_d)

    def acceleration(law):
        tau = law.torque(0.0, q, v)
        assert law.terms.total == pytest.approx(tau, abs=1e-9)
        return robot.forward_dynamics(q, v, tau)

    def vanishes(x, scale):
        assert np.abs(x).max() < 1e-9 * (1.0 + np.abs(scale).max())

    a = acceleration(control.ComputedTorque(robot, goal, kp, kd, friction=False, safety=BARE))
    vanishes(a_d - a + kd * e_dot + kp * e, kp * e)
    a = acceleration(control.ComputedTorque(
        robot, goal, natural_frequency=7.0, damping_ratio=0.7, friction=False, safety=BARE))
    vanishes(a_d - a + 9.8 * e_dot + 49.0 * e, 49.0 * e)
    a = acceleration(control.PDPlus(robot, goal, kp, kd, safety=BARE))
    vanishes(M @ (a_d - a) + (C + np.diag(kd)) @ e_dot + kp * e, kp * e)
    a = acceleration(control.PDGravity(robot, goal, kp, kd, safety=BARE))
    vanishes(M @ a + C @ v - kd * e_dot - kp * e, kp * e)
    a = acceleration(control.IndependentJoint(robot, goal, kp, kd, safety=BARE))
    vanishes(M @ a + C @ v + g - kd * e_dot - kp * e, kp * e)
    a = acceleration(control.SafeHold(robot, 8.0, safety=BARE))
    vanishes(a + 8.0 * v, v)
    a = acceleration(control.GravityCompensation(robot, kd, safety=BARE))
    vanishes(M @ a + C @ v + kd * v, v)
    # with the true parameters the adaptive law leaves M s' + (C + K) s = 0
    L = rng.uniform(1.0, 6.0, robot.nv)
    a = acceleration(control.AdaptiveControl(robot, goal, L, kd, safety=BARE))
    s, s_dot = e_dot + L * e, a_d - a + L * e_dot
    vanishes(M @ s_dot + (C + np.diag(kd)) @ s, kd * s)


@robots
def test_adaptation_follows_the_gradient(name):
    """The slope is Y^T s: the derivative of s.tau with respect to the parameters."""
    robot = arm(name)
    q, v = state(robot, 3)
    law = control.AdaptiveControl(robot, Given(*reference(robot, 4)), 3.0, 1.0, safety=BARE)
    law.torque(0.0, q, v)
    n = law.estimate.size
    slope = law._latest[-n:].copy()
    s = law.terms.feedback
    for k in np.flatnonzero(slope)[::5]:
        values = []
        for step in (1e-3, -1e-3):
            law._estimate[k] += step
            values.append(s @ law.torque(0.0, q, v))
            law._estimate[k] -= step
        assert (values[0] - values[1]) / 2e-3 == pytest.approx(slope[k], rel=1e-6, abs=1e-9)


def tracking_error(law, path, robot, seconds):
    """Return the root mean square error of the second half, fingers left out, in rad."""
    run = Run(robot, law, path.centre)
    _, qs, _ = run.until(seconds)
    assert not law.stopped
    e = np.array([path.sample(k * run.h)[0] for k in range(len(qs))]) - qs
    return np.sqrt(np.mean(e[len(e) // 2:, :7]**2))


def test_wrong_masses_adaptive_beats_computed_torque_beats_pd():
    robot, wrong = arm('panda'), load('panda')
    wrong.parameters = 0.8 * wrong.parameters
    path = SineTrajectory(PANDA_READY, [0.4] * 7 + [0.005], np.linspace(0.3, 0.6, 8))
    patient = control.Safety(tracking=np.inf)
    adaptive, computed, pd = (
        tracking_error(kind(wrong, path, safety=patient), path, robot, 6.0)
        for kind in (control.AdaptiveControl, control.ComputedTorque, control.IndependentJoint))
    assert adaptive < 0.2 * computed
    assert computed < 0.5 * pd


def test_wild_states_do_not_spoil_what_was_learned():
    robot = arm('planar_2r')
    q, none = READY['planar_2r'], np.zeros(2)
    law = control.AdaptiveControl(robot, Given(q, none, none),
                                  safety=control.Safety.pure(limit_rate=0.0))
    for k in range(3):
        law.torque(0.01 * k, q, none)
    before = law.estimate
    for k, speed in enumerate((1e100, -1e150, 1e120), 3):
        law.torque(0.01 * k, q, np.full(2, speed))
    law.torque(0.1, q, none)
    assert np.isfinite(law.estimate).all()
    assert np.abs(law.torque(0.2, q, none)).max() <= 40.0
    assert law.estimate.shape == before.shape


@pytest.mark.parametrize('name', ['panda', 'ur5_robot'])
def test_let_go_anywhere_the_arm_stays(name):
    robot = arm(name)
    law = control.GravityCompensation(robot)
    for seed in range(10):
        q = state(robot, seed)[0]
        law.start()
        tau = law.torque(0.0, q, np.zeros(robot.nv))
        assert np.abs(robot.forward_dynamics(q, np.zeros(robot.nv), tau)).max() < 1e-9


def test_pushed_it_drifts_as_in_zero_gravity():
    robot, weightless = arm('ur5_robot'), load('ur5_robot', gravity=(0.0, 0.0, 0.0))
    law = control.GravityCompensation(robot, safety=control.Safety(ramp_time=0.0))
    push = {'tool0': [10.0, -6.0, 8.0, 0.1, 0.2, -0.1]}
    none = np.zeros(robot.nv)
    q0 = READY['ur5_robot']
    q, v, p, u = q0, none, q0, none
    for k in range(500):
        q, v = rk4(robot, q, v, law.torque, 1e-3 * k, 1e-3, push)
        p, u = rk4(weightless, p, u, lambda *_: none, 1e-3 * k, 1e-3, push)
    assert np.abs(q - q0).max() > 0.1
    assert np.abs(q - p).max() < 1e-9
    assert not law.terms.limiter.any() and not law.terms.avoidance.any()


def test_payload_is_carried():
    robot = load('panda')
    law = control.GravityCompensation(robot)
    robot.set_payload('panda_hand', 2.0, (0.0, 0.0, 0.1))
    tau = law.torque(0.0, PANDA_READY, np.zeros(8))
    assert np.abs(robot.forward_dynamics(PANDA_READY, np.zeros(8), tau)).max() < 1e-9
    weight = tau - arm('panda').gravity_torque(PANDA_READY)
    assert law.terms.payload == pytest.approx(weight, abs=1e-9)
    assert np.abs(weight).max() > 1.0


def test_anatomy_is_the_textbook_s():
    robot = load('panda')
    q, v = state(robot, 5)
    q_d, v_d, a_d = reference(robot, 6)
    law = control.ComputedTorque(robot, Given(q_d, v_d, a_d), safety=BARE)
    bare = arm('panda')
    robot.set_payload('panda_link7', 1.5, (0.01, 0.02, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    tau = law.torque(0.0, q, v)
    terms = law.terms
    M = bare.mass_matrix(q)
    a = a_d + 20.0 * (v_d - v) + 100.0 * (q_d - q)
    assert terms.inertia == pytest.approx(M @ a_d, abs=1e-9)
    assert terms.coriolis == pytest.approx(bare.coriolis_matrix(q, v) @ v, abs=1e-9)
    assert terms.gravity == pytest.approx(bare.gravity_torque(q), abs=1e-9)
    assert terms.feedback == pytest.approx(M @ (a - a_d), abs=1e-8)
    assert terms.payload == pytest.approx(
        robot.inverse_dynamics(q, v, a) - bare.inverse_dynamics(q, v, a), abs=1e-8)
    assert terms.friction == pytest.approx(robot.damping * v_d, abs=1e-9)
    assert terms.total == pytest.approx(tau, abs=1e-8)


def test_friction_is_fed_forward_smoothly():
    robot = arm('arm7')
    zero = np.zeros(7)

    def friction(v_d):
        law = control.ComputedTorque(robot, Given(zero, v_d, zero), safety=BARE)
        law.torque(0.0, zero, zero)
        return law.terms.friction

    fast = np.full(7, 1.0)
    assert friction(fast) == pytest.approx(robot.damping + robot.friction, rel=1e-4)
    assert friction(-fast) == pytest.approx(-friction(fast))
    assert not friction(zero).any()
    with pytest.raises(ValueError, match='share'):
        control.GravityCompensation(robot, friction=1.0)


def test_effort_of_the_trajectory_is_fed_forward():
    robot = arm('planar_2r')
    path = JointTrajectory([0.0, 1.0], [[0.0, 0.0]] * 2, efforts=[[1.0, 2.0], [3.0, 6.0]])
    law = control.PDGravity(robot, path, safety=BARE)
    q, v = np.zeros(2), np.zeros(2)
    assert law.torque(0.25, q, v) - robot.gravity_torque(q) == pytest.approx([1.5, 3.0])
    assert law.terms.feedforward == pytest.approx([1.5, 3.0])


def test_disturbances_make_up_the_motor_torque():
    """Seen from the motor: torque = inertia motor'' + disturbances; they shrink with N."""
    robot = arm('geared_arm')
    q, v = state(robot, 7)
    a = np.array([0.5, -1.0, 2.0])
    N = np.array([100.0, 100.0, 80.0])
    d = control.IndependentJoint(robot).disturbances(q, v, a)
    motor = d.inertia * (N * a) + d.acceleration + d.velocity + d.gravity
    assert motor == pytest.approx(robot.inverse_dynamics(q, v, a) / N, rel=1e-9)
    # most of the inertia is the rotor's own
    assert np.all(d.inertia > [0.00012, 0.00012, 5e-05])


def test_gains_change_while_running():
    robot = arm('planar_2r')
    law = control.PDGravity(robot, Given([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]), 10.0, 1.0,
                            safety=BARE)
    q, v = np.zeros(2), np.zeros(2)
    first = law.torque(0.0, q, v) - robot.gravity_torque(q)
    law.kp = 30.0
    assert law.torque(0.1, q, v) - robot.gravity_torque(q) == pytest.approx(3.0 * first)
    with pytest.raises(ValueError, match='kp must be finite'):
        law.kp = np.nan


@pytest.mark.parametrize('bad, told', [
    (-5.0, "kd must not be negative, but is -5 at joint 'joint1'"),
    ([1.0, 2.0, 3.0], r'kd must be a number or 2 numbers .*joint1, joint2.*not of shape \(3,\)'),
    (np.inf, "kd must be finite, but is inf at joint 'joint1'"), ('x', 'kd must hold numbers')])
def test_gains_are_checked_alike_when_made_and_when_changed(bad, told):
    robot = arm('planar_2r')
    with pytest.raises(ValueError, match=told):
        control.ComputedTorque(robot, None, 1.0, bad)
    law = control.ComputedTorque(robot)
    with pytest.raises(ValueError, match=told):
        law.kd = bad
    assert law.kd == pytest.approx([20.0, 20.0])


@pytest.mark.parametrize('name, bad, told', [
    ('rate', -1.0, 'rate must be one number, finite'), ('rate', [1.0, 2.0], 'rate must be one'),
    ('effort', -1.0, 'effort must not be negative'), ('rates', np.nan, 'rates must be a number')])
def test_other_settings_are_checked_too(name, bad, told):
    law = control.SafeHold(arm('planar_2r'))
    with pytest.raises(ValueError, match=told):
        setattr(law, name, bad)
    law.effort = np.inf


def test_a_setting_that_a_law_lacks_is_told_with_those_it_has():
    law = control.AdaptiveControl(arm('planar_2r'))
    with pytest.raises(AttributeError, match="AdaptiveControl has no setting 'kp', only: "
                                             'convergence, damping_gain, effort, rates'):
        law.kp = 5.0
    assert not hasattr(law, 'kd')


def test_the_documentation_s_example_works(monkeypatch, capsys):
    root = Path(__file__).parents[1]
    monkeypatch.chdir(root)
    (block,) = re.findall(r'```python\n(.*?)```', (root / 'docs' / 'control.md').read_text(), re.S)
    exec(block, {})
    shown = capsys.readouterr().out
    assert float(shown.split()[0]) < 1e-2 and shown.endswith('running\n')


def test_without_a_trajectory_the_present_pose_is_held():
    robot = arm('ur5_robot')
    q0 = READY['ur5_robot']
    law = control.ComputedTorque(robot)
    run = Run(robot, law, q0)
    run.until(0.5)
    run.v = np.array([0.3, 0.2, 0.0, 0.0, 0.0, 0.0])
    run.until(2.5)
    assert np.abs(run.q - q0).max() < 1e-5
    assert middle(robot) == pytest.approx(np.zeros(6))
