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

"""Reference motions: against SciPy's interpolation, their own derivatives, and their limits."""

from hypothesis import given, settings, strategies as st
import multibody_ros as mb
from multibody_ros.control.rotation import exp_rotation
from multibody_ros.control.trajectory import (
    ArcTrajectory, ChirpTrajectory, JointTrajectory, PointToPoint, PoseTrajectory, SineTrajectory,
    spline_velocities)
import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline
from scipy.spatial.transform import Rotation, Slerp

TIMES = np.array([0.5, 1.0, 2.5, 3.0, 5.0])
INSIDE = np.linspace(0.5, 4.999, 57)


def waypoints(seed=0, joints=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, len(TIMES), joints))


def samples(path, times):
    return [np.array(x) for x in zip(*(path.sample(t) for t in times))]


def derivatives_agree(path, times, h=1e-5, tolerance=1e-6):
    """Compare velocity and acceleration with differences of positions and velocities."""
    for t in times:
        before, here, after = (path.sample(t + x) for x in (-h, 0.0, h))
        assert (after[0] - before[0]) / (2.0 * h) == pytest.approx(here[1], abs=tolerance)
        assert (after[1] - before[1]) / (2.0 * h) == pytest.approx(here[2], abs=tolerance)


def test_positions_alone_are_joined_by_lines():
    q, _, _ = waypoints()
    position, velocity, acceleration = samples(JointTrajectory(TIMES, q), INSIDE)
    for k in range(3):
        assert position[:, k] == pytest.approx(np.interp(INSIDE, TIMES, q[:, k]), abs=1e-12)
    slopes = np.diff(q, axis=0) / np.diff(TIMES)[:, None]
    assert velocity == pytest.approx(slopes[np.searchsorted(TIMES, INSIDE, 'right') - 1])
    assert not acceleration.any()


def test_with_velocities_by_cubics():
    q, v, _ = waypoints()
    spline = CubicHermiteSpline(TIMES, q, v)
    for order, values in enumerate(samples(JointTrajectory(TIMES, q, v), INSIDE)):
        assert values == pytest.approx(spline(INSIDE, order), abs=1e-9)


def test_with_accelerations_by_quintics():
    q, v, a = waypoints()
    spline = BPoly.from_derivatives(TIMES, np.stack([q, v, a], axis=1))
    for order, values in enumerate(samples(JointTrajectory(TIMES, q, v, a), INSIDE)):
        assert values == pytest.approx(spline(INSIDE, order), abs=1e-9)


def test_ends_are_held():
    q, v, a = waypoints()
    path = JointTrajectory(TIMES, q, v, a)
    assert path.duration == 4.5
    for t, row in ((-1.0, 0), (0.4, 0), (5.0, -1), (9.0, -1)):
        position, velocity, acceleration = path.sample(t)
        assert position == pytest.approx(q[row])
        assert not velocity.any() and not acceleration.any()


def test_spline_velocities_make_accelerations_continuous():
    q, _, _ = waypoints()
    v = spline_velocities(TIMES, q, start=0.3)
    spline = CubicSpline(TIMES, q, bc_type=((1, np.full(3, 0.3)), (1, np.zeros(3))))
    assert v == pytest.approx(spline(TIMES, 1))
    path = JointTrajectory(TIMES, q, v)
    for t in TIMES[1:-1]:
        assert path.sample(t - 1e-9)[2] == pytest.approx(path.sample(t + 1e-9)[2], abs=1e-6)


@given(seed=st.integers(0, 1000), now=st.floats(0.0, 6.0), wait=st.floats(-1.0, 2.0),
       degree=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_replacement_does_not_jump(seed, now, wait, degree):
    """Up to the handover it is the old motion, from there it goes through the new waypoints."""
    old = JointTrajectory(TIMES, *waypoints(seed))
    points = waypoints(seed + 1)[:degree]
    start = now + wait
    new = JointTrajectory(start + TIMES, *points)
    handover = max(now, start)
    path = old.replaced(now, new, start)
    for t in (t for t in np.linspace(now, handover, 9) if t < handover):
        for x, y in zip(path.sample(t), old.sample(t)):
            assert x == pytest.approx(y, abs=1e-9)
    assert path.sample(handover)[0] == pytest.approx(old.sample(handover)[0], abs=1e-9)
    ahead = new.times > handover
    for t, row in zip(new.times[ahead], points[0][ahead]):
        assert path.sample(t)[0] == pytest.approx(row, abs=1e-9)
    # short enough that even the jerk of a hasty segment moves nothing by it
    gap = 1e-9 * (new.times[ahead][0] - handover)
    size = 1.0 + max(np.abs(x).max() for x in path.sample(handover))
    for k in range(degree if old.times[0] < handover < old.times[-1] else 1):
        before, after = path.sample(handover - gap)[k], path.sample(handover + gap)[k]
        if new.times[ahead][0] - handover > 0.1:
            assert before == pytest.approx(after, abs=1e-3 * size)


def test_replacement_of_what_is_past_is_refused():
    q, v, _ = waypoints()
    old = JointTrajectory(TIMES, q, v)
    with pytest.raises(ValueError, match='no waypoint lies ahead of 9 s: the last one is 4 s'):
        old.replaced(9.0, JointTrajectory(TIMES, q))
    # waypoints in the past are left out, the others reached in time
    path = old.replaced(2.0, JointTrajectory(TIMES, q + 1.0, v))
    assert path.sample(2.5)[0] == pytest.approx(q[2] + 1.0)
    assert path.sample(1.0)[0] == pytest.approx(q[1])


@pytest.mark.parametrize('wait', [0.0, 0.03])
def test_stream_of_references_does_not_pile_up(wait):
    """However many have come, what is kept is what lies ahead; the motion is the same."""
    path = JointTrajectory([0.0], np.zeros((1, 2)), efforts=np.zeros((1, 2)))
    sizes = []
    for now in 0.01 * np.arange(1, 200):
        q = np.full((2, 2), np.sin(now))
        goal = JointTrajectory([now + 0.05, now + 0.55], q, 0.0 * q, 0.0 * q, efforts=q)
        old, path = path, path.replaced(now, goal, now + wait)
        for t in np.linspace(now, now + wait, 5):
            for x, y in zip((*path.sample(t), path.effort(t)), (*old.sample(t), old.effort(t))):
                assert x == pytest.approx(y, abs=1e-9)
        sizes.append((len(path._knots), len(path._segments), len(path._effort_times)))
    assert sizes[-1] == sizes[20] and max(max(sizes)) < 10


def test_before_what_is_kept_the_position_is_held():
    q, v, a = waypoints()
    old = JointTrajectory(TIMES, q, v, a)
    path = old.replaced(2.0, JointTrajectory([4.0], q[:1]))
    for x, y in zip(path.sample(1.2), old.sample(1.2)):
        assert x == pytest.approx(y)
    position, velocity, acceleration = path.sample(0.7)
    assert position == pytest.approx(q[1]) and not velocity.any() and not acceleration.any()


def test_continuous_joints_take_the_short_way():
    old = JointTrajectory([0.0], [[3.0, 3.0]])
    path = old.replaced(0.0, JointTrajectory([1.0, 2.0], [[-3.0, -3.0], [-2.5, -2.5]]),
                        continuous=[0])
    assert path.sample(1.0)[0] == pytest.approx([2.0 * np.pi - 3.0, -3.0])
    assert path.sample(2.0)[0] == pytest.approx([2.0 * np.pi - 2.5, -2.5])
    assert np.abs(path.sample(0.5)[1][0]) < 0.3 < np.abs(path.sample(0.5)[1][1])


def test_efforts_are_linear_and_handed_over():
    path = JointTrajectory([0.0, 1.0, 3.0], np.zeros((3, 2)), efforts=[[0, 0], [2, 4], [6, 8]])
    assert path.effort(0.5) == pytest.approx([1.0, 2.0])
    assert path.effort(2.0) == pytest.approx([4.0, 6.0])
    assert path.effort(9.0) == pytest.approx([6.0, 8.0])
    more = path.replaced(2.0, JointTrajectory([4.0], np.ones((1, 2))))
    assert more.effort(1.5) == pytest.approx([3.0, 5.0])
    assert more.effort(0.5) == pytest.approx([2.0, 4.0])
    assert more.effort(3.0) == pytest.approx([2.0, 3.0])
    assert not more.effort(4.0).any()
    assert JointTrajectory([0.0], np.zeros((1, 2))).effort is None


@pytest.mark.parametrize('times, message', [
    ([0.0, 0.0], 'times must increase, but time 1 is 0 s after 0 s'),
    ([0.0], '1 times for 2 waypoints'), ([0.0, np.nan], r'times\[1\] is nan')])
def test_wrong_waypoints_are_told(times, message):
    with pytest.raises(ValueError, match=message):
        JointTrajectory(times, np.zeros((2, 3)))


def test_wrong_rows_are_told():
    with pytest.raises(ValueError, match='v .* must have the shape of q'):
        JointTrajectory([0.0, 1.0], np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match='a needs v'):
        JointTrajectory([0.0, 1.0], np.zeros((2, 3)), a=np.zeros((2, 3)))
    with pytest.raises(ValueError, match='2 joints cannot follow 3'):
        JointTrajectory([0.0], np.zeros((1, 3))).replaced(
            0.0, JointTrajectory([1.0], np.zeros((1, 2))))


@given(seed=st.integers(0, 1000), smooth=st.booleans())
@settings(max_examples=60, deadline=None)
def test_point_to_point_uses_its_limits_and_no_more(seed, smooth):
    rng = np.random.default_rng(seed)
    start, goal = rng.normal(size=(2, 4)) * 10.0**rng.uniform(-2.0, 1.0)
    velocity, acceleration = rng.uniform(0.1, 3.0, (2, 4))
    path = PointToPoint(start, goal, velocity, acceleration, 0.7, smooth)
    times = np.linspace(0.7, 0.7 + path.duration, 601)
    q, v, a = samples(path, times)
    assert (np.abs(v) <= velocity * (1 + 1e-9)).all()
    assert (np.abs(a) <= acceleration * (1 + 1e-9)).all()
    # some joint is at one of its limits: nothing could be quicker
    assert max((np.abs(v) / velocity).max(), (np.abs(a) / acceleration).max()) > 0.999
    assert q[0] == pytest.approx(start) and path.sample(999.0)[0] == pytest.approx(goal)
    # all on one line, at the same share of the way at the same time
    share = (q - start) / (goal - start)
    assert share == pytest.approx(np.repeat(share[:, :1], 4, axis=1), abs=1e-9)
    if smooth:
        derivatives_agree(path, times[1:-1:97], tolerance=1e-4 * (1 + np.abs(a).max()))


def test_point_to_point_in_closed_form():
    """A trapezoid takes D/v + v/a, a triangle 2 sqrt(D/a)."""
    assert PointToPoint([0.0], [3.0], 1.0, 2.0).duration == pytest.approx(3.5)
    assert PointToPoint([0.0], [0.3], 1.0, 2.0).duration == pytest.approx(2.0 * np.sqrt(0.15))
    assert PointToPoint([0.0], [0.0], 1.0, 2.0).duration == 0.0
    turn = PointToPoint([3.0], [-3.0], 1.0, 2.0, continuous=[0])
    assert turn.goal == pytest.approx([2.0 * np.pi - 3.0])
    with pytest.raises(ValueError, match='velocity must be positive'):
        PointToPoint([0.0], [1.0], 0.0, 1.0)
    with pytest.raises(ValueError, match='start has 1 joints, goal 2'):
        PointToPoint([0.0], [1.0, 2.0], 1.0, 1.0)


def poses(seed):
    rng = np.random.default_rng(seed)
    start, goal = np.eye(4), np.eye(4)
    for T in (start, goal):
        T[:3, :3] = exp_rotation(rng.normal(size=3))
        T[:3, 3] = rng.normal(size=3)
    return start, goal


def check_twist(path, t, h=1e-5):
    """Compare twist and rate with differences of poses and twists."""
    before, here, after = (path.sample(t + x) for x in (-h, 0.0, h))
    turn = Rotation.from_matrix(after[0][:3, :3] @ before[0][:3, :3].T).as_rotvec()
    way = after[0][:3, 3] - before[0][:3, 3]
    assert np.concatenate([way, turn]) / (2.0 * h) == pytest.approx(here[1], abs=1e-7)
    assert (after[1] - before[1]) / (2.0 * h) == pytest.approx(here[2], abs=1e-7)


@pytest.mark.parametrize('seed', range(3))
def test_line_and_slerp(seed):
    start, goal = poses(seed)
    path = PoseTrajectory(start, goal, 1.0, 2.0)
    slerp = Slerp([0.0, 1.0], Rotation.from_matrix([start[:3, :3], goal[:3, :3]]))
    way = goal[:3, 3] - start[:3, 3]
    for t in (1.2, 2.0, 2.9):
        pose = path.sample(t)[0]
        share = (pose[:3, 3] - start[:3, 3]) @ way / (way @ way)
        assert pose[:3, 3] == pytest.approx(start[:3, 3] + share * way)
        assert pose[:3, :3] == pytest.approx(slerp(share).as_matrix(), abs=1e-9)
        check_twist(path, t)
    for t, end in ((0.0, start), (1.0, start), (3.0, goal), (9.0, goal)):
        pose, twist, rate = path.sample(t)
        assert pose == pytest.approx(end, abs=1e-12)
        assert not twist.any() and not rate.any()


@pytest.mark.parametrize('seed', range(5))
def test_arc_through_three_points(seed):
    start, goal = poses(seed)
    via = np.random.default_rng(seed + 50).normal(size=3)
    path = ArcTrajectory(start, via, goal, 0.5, 3.0)
    points = np.array([path.sample(t)[0][:3, 3] for t in np.linspace(0.5, 3.5, 4001)])
    assert np.linalg.norm(points - path.centre, axis=1) == pytest.approx(path.radius)
    assert points[0] == pytest.approx(start[:3, 3]) and points[-1] == pytest.approx(goal[:3, 3])
    assert np.linalg.norm(points - via, axis=1).min() < 2e-3 * path.radius
    for t in (0.9, 2.0, 3.1):
        check_twist(path, t)


def test_no_arc_along_a_line():
    start, goal = poses(0)
    with pytest.raises(ValueError, match='they lie on one line'):
        ArcTrajectory(start, 0.5 * (start[:3, 3] + goal[:3, 3]), goal)
    with pytest.raises(ValueError, match='poses are 4x4'):
        PoseTrajectory(np.eye(3), goal)
    with pytest.raises(ValueError, match='cannot take -1'):
        PoseTrajectory(start, goal, 0.0, -1.0)


def test_sines_and_chirps_begin_and_end_at_rest():
    centre = np.array([0.1, -0.2, 0.3])
    for path in (SineTrajectory(centre, 0.4, [0.5, 1.0, 2.0], 0.3, 1.0, 6.0),
                 ChirpTrajectory(centre, [0.1, 0.2, 0.3], 0.2, [1.0, 2.0, 3.0], 6.0)):
        derivatives_agree(path, np.linspace(0.05, 5.95, 41), tolerance=1e-5)
        for t in (0.0, 6.0, 7.0):
            q, v, a = path.sample(t)
            assert q == pytest.approx(centre)
            assert v == pytest.approx(np.zeros(3), abs=1e-12)
            assert a == pytest.approx(np.zeros(3), abs=1e-9)


def test_chirp_sweeps_its_frequencies():
    """Half a turn between zeros: the time between them tells the frequency."""
    path = ChirpTrajectory([0.0], [1.0], 1.0, 5.0, 10.0)
    t = np.linspace(1.0, 9.0, 16001)
    x = np.array([path.sample(s)[0][0] for s in t])
    zeros = t[np.flatnonzero(np.diff(np.sign(x)))]
    middle, frequency = 0.5 * (zeros[1:] + zeros[:-1]), 0.5 / np.diff(zeros)
    assert frequency == pytest.approx(1.0 + 0.4 * middle, rel=3e-2)
    with pytest.raises(ValueError, match='fit twice'):
        SineTrajectory([0.0], 1.0, 1.0, ramp=1.0, duration=1.5)


def test_all_are_found_in_one_place():
    for name in ('JointTrajectory', 'PointToPoint', 'PoseTrajectory', 'ArcTrajectory',
                 'SineTrajectory', 'ChirpTrajectory', 'minimum_jerk', 'TwistTrajectory',
                 'toward_pose', 'along_twist'):
        assert hasattr(mb.trajectory, name)
