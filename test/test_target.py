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

"""Targets of a link that come while it moves: twists and poses take over without a jump."""

import math

from multibody_ros.control.rotation import exp_rotation
from multibody_ros.control.trajectory import (
    along_twist, JoinedTrajectory, MotionLimits, PoseTrajectory, toward_pose, TwistTrajectory)
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

LIMITS = MotionLimits(0.5, 1.5, 2.0, 5.0)
seeds = pytest.mark.parametrize('seed', range(6))


def drawn(seed):
    """Return a random pose, and two twists within the limits."""
    rng = np.random.default_rng(seed)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_rotation(rng.normal(size=3)), rng.normal(size=3)
    scale = np.repeat([0.25, 0.75], 3)
    return T, *(scale * rng.uniform(-1.0, 1.0, 6) for _ in range(2))


def check_twist(path, t, h=1e-5):
    """Compare twist and rate with differences of poses and twists."""
    before, here, after = (path.sample(t + x) for x in (-h, 0.0, h))
    turn = Rotation.from_matrix(after[0][:3, :3] @ before[0][:3, :3].T).as_rotvec()
    way = after[0][:3, 3] - before[0][:3, 3]
    assert np.concatenate([way, turn]) / (2.0 * h) == pytest.approx(here[1], abs=1e-7)
    assert (after[1] - before[1]) / (2.0 * h) == pytest.approx(here[2], abs=1e-7)


def check_joint(old, new, t):
    """Compare pose and twist of two motions at the time one takes over from the other."""
    for a, b in zip(old.sample(t)[:2], new.sample(t)[:2]):
        assert b == pytest.approx(a, abs=1e-12)


def check_limits(path, times, turning=0.0):
    """Compare speeds and accelerations with LIMITS; `turning` is |w x w_0| of a change of axis."""
    for t in times:
        _, twist, rate = path.sample(t)
        assert np.linalg.norm(twist[:3]) <= LIMITS.linear_speed + 1e-9
        assert np.linalg.norm(twist[3:]) <= LIMITS.angular_speed + 1e-9
        assert np.linalg.norm(rate[:3]) <= LIMITS.linear_acceleration + 1e-9
        # exp(A w) turns w_0 by at most |w| T / 2 in the time T of the change
        assert np.linalg.norm(rate[3:]) <= LIMITS.angular_acceleration + 0.75 * turning + 1e-9


def at_rest(pose):
    return PoseTrajectory(pose, pose)


@seeds
def test_twist_is_the_derivative_of_the_pose(seed):
    T, first, second = drawn(seed)
    path = TwistTrajectory(T, first, second, 1.0, 0.5)
    for t in (1.01, 1.25, 1.49, 1.6, 5.0):
        check_twist(path, t)
        R = path.sample(t)[0][:3, :3]
        assert R @ R.T == pytest.approx(np.eye(3), abs=1e-12)
    pose, twist, _ = path.sample(1.0)
    assert pose == pytest.approx(T, abs=1e-15) and twist == pytest.approx(first, abs=1e-15)
    for t in (1.5, 7.0):
        assert path.sample(t)[1] == pytest.approx(second, abs=1e-12)


@seeds
def test_steady_twist_is_a_screw(seed):
    """Without a change: a line, and a turn about one axis."""
    T, twist, _ = drawn(seed)
    pose = TwistTrajectory(T, twist, twist, 1.0, 0.0).sample(3.0)[0]
    assert pose[:3, 3] == pytest.approx(T[:3, 3] + 2.0 * twist[:3])
    assert pose[:3, :3] == pytest.approx(
        Rotation.from_rotvec(2.0 * twist[3:]).as_matrix() @ T[:3, :3], abs=1e-12)


@seeds
def test_takes_over_from_any_motion_without_a_jump(seed):
    """A twist from a pose's way, a twist from a twist, a pose from a twist, a pose from a pose."""
    T, first, second = drawn(seed)
    goal = drawn(seed + 100)[0]
    by_pose = toward_pose(at_rest(T), 0.0, goal, LIMITS)
    for old, t in ((by_pose, 0.7), (along_twist(by_pose, 0.7, first, 0.5, LIMITS), 0.8),
                   (along_twist(at_rest(T), 0.0, first, 0.5, LIMITS), 0.4)):
        turning = np.linalg.norm(np.cross(old.sample(t)[1][3:], second[3:]))
        new = along_twist(old, t, second, 0.5, LIMITS)
        check_joint(old, new, t)
        check_limits(new, np.arange(t, t + 3.0, 0.01), turning)
        new = toward_pose(old, t, goal, LIMITS)
        check_joint(old, new, t)
        check_limits(new, np.arange(t, t + 30.0, 0.05))
        pose, twist, rate = new.sample(t + 60.0)
        assert pose == pytest.approx(goal, abs=1e-9)
        assert not twist.any() and not rate.any()


def jumps(path, switch, h=1e-9):
    """Return how far pose and twist are apart just before and after a time."""
    before, after = path.sample(switch - h), path.sample(switch)
    return max(float(np.abs(b - a).max()) for a, b in zip(before[:2], after[:2]))


@seeds
@pytest.mark.parametrize('hold', [0.02, 0.3, 2.0])
def test_comes_to_rest_when_nothing_follows(seed, hold):
    """After the hold time, even where the twist is not reached by then; no jump on the way."""
    T, _, twist = drawn(seed)
    path = along_twist(at_rest(T), 1.0, twist, hold, LIMITS)
    assert isinstance(path, JoinedTrajectory) and path.switch == 1.0 + hold
    assert jumps(path, path.switch) < 1e-7
    check_limits(path, np.arange(1.0, 5.0, 0.01))
    speeds = [np.linalg.norm(path.sample(t)[1]) for t in np.arange(1.0 + hold, 4.0, 0.01)]
    assert speeds[0] > 0.0 and (np.diff(speeds) <= 1e-12).all() and speeds[-1] == 0.0
    assert path.sample(9.0)[0] == pytest.approx(path.sample(1.0 + hold + 1.0)[0], abs=1e-15)


@seeds
def test_renewed_twist_is_one_motion(seed):
    """Who sends the same twist again and again gets the motion of who sends it once."""
    T, _, twist = drawn(seed)
    once = along_twist(at_rest(T), 0.0, twist, 10.0, LIMITS)
    again = at_rest(T)
    for k in range(100):
        again = along_twist(again, 0.01 * k, twist, 0.25, LIMITS)
    for a, b in zip(once.sample(1.0), again.sample(1.0)):
        assert b == pytest.approx(a, abs=1e-10)


@pytest.mark.parametrize('twist', [[3.0, 4.0, 0, 0, 0, 0], [0, 0, 0.1, 0, 6.0, 8.0],
                                   [0.3, 0.4, 0, 0, 1.5, 2.0]])
def test_too_fast_a_twist_keeps_its_direction(twist):
    path = along_twist(at_rest(np.eye(4)), 0.0, twist, 9.0, LIMITS)
    reached = path.sample(8.0)[1]
    assert reached / np.linalg.norm(reached) == pytest.approx(twist / np.linalg.norm(twist))
    assert max(np.linalg.norm(reached[:3]) / LIMITS.linear_speed,
               np.linalg.norm(reached[3:]) / LIMITS.angular_speed) == pytest.approx(1.0)


def test_short_way_is_limited_by_the_acceleration():
    """A millimetre in the time that 2 m/s^2 allow: peak acceleration 10/sqrt(3) way / time^2."""
    goal = np.eye(4)
    goal[0, 3] = 0.001
    path = toward_pose(at_rest(np.eye(4)), 0.0, goal, LIMITS)
    rates = [path.sample(t)[2][0] for t in np.linspace(0.0, 0.1, 2001)]
    assert max(rates) == pytest.approx(2.0, rel=1e-4)
    assert path.second.duration == pytest.approx(math.sqrt(10.0 / math.sqrt(3.0) * 0.001 / 2.0))


@pytest.mark.parametrize(('arguments', 'reason'), [
    ((np.eye(3), np.zeros(6), np.zeros(6)), 'a pose is a 4x4 matrix'),
    ((np.eye(4), np.zeros(3), np.zeros(6)), 'a twist six numbers'),
    ((np.eye(4), np.zeros(6), np.full(6, np.nan)), r'goal\[0\] is nan'),
    ((np.eye(4), np.zeros(6), np.zeros(6), 0.0, -1.0), 'cannot take -1.0 s')])
def test_wrong_motions_are_told(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        TwistTrajectory(*arguments)


@pytest.mark.parametrize(('twist', 'hold', 'limits', 'reason'), [
    (np.zeros(3), 1.0, LIMITS, 'a twist has six numbers, not 3'),
    (np.full(6, np.inf), 1.0, LIMITS, r'twist\[0\] is inf'),
    (np.zeros(6), -1.0, LIMITS, 'hold must be 0 s or more, not -1.0'),
    (np.zeros(6), 1.0, LIMITS._replace(angular_speed=0.0), 'angular_speed must be positive'),
    (np.zeros(6), 1.0, LIMITS._replace(linear_acceleration=np.nan),
     'linear_acceleration must be positive, not nan')])
def test_wrong_twists_and_limits_are_told(twist, hold, limits, reason):
    with pytest.raises(ValueError, match=reason):
        along_twist(at_rest(np.eye(4)), 0.0, twist, hold, limits)
