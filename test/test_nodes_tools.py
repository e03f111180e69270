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

"""The small nodes, robot_state and trajectory_publisher, and the bench for others' tests."""

from __future__ import annotations

from pathlib import Path
import re

from geometry_msgs.msg import PoseStamped, TwistStamped
from multibody_ros import load_urdf
from multibody_ros.nodes.messages import pose_matrix
from multibody_ros.nodes.trajectory_file import read_trajectory
import numpy as np
import pinocchio as pin
import pytest
from ros_loop import JOINTS, START, URDF
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

ROOT = Path(__file__).resolve().parent.parent


def test_robot_state_agrees_with_pinocchio(loop, peer):
    model, data = peer
    loop.start('robot_state', {'description_file': URDF, 'links': 'link4 tool',
                               'base_frame': 'link1'})
    poses = loop.listen(PoseStamped, 'robot_state/tool/current_pose')
    twists = loop.listen(TwistStamped, 'robot_state/link4/current_twist')
    conditions = loop.listen(Float64, 'robot_state/tool/jacobian_condition')
    publisher = loop.talk(JointState, 'joint_states')
    v = np.linspace(-1.0, 1.0, 7)
    state = JointState(name=JOINTS, position=START.tolist(), velocity=v.tolist())
    state.header.stamp.sec = 3
    loop.insist(publisher, state, lambda: poses and twists and conditions, 'nothing published')
    pin.forwardKinematics(model, data, START, v)
    pin.updateFramePlacements(model, data)
    base, tool, link4 = (model.getFrameId(name) for name in ('link1', 'tool', 'link4'))
    T = data.oMf[base].inverse() * data.oMf[tool]
    np.testing.assert_allclose(pose_matrix(poses[0].pose), T.homogeneous, atol=1e-12)
    assert (poses[0].header.frame_id, poses[0].header.stamp.sec) == ('link1', 3)
    velocity = pin.getFrameVelocity(model, data, link4, pin.LOCAL_WORLD_ALIGNED)
    R = data.oMf[base].rotation.T
    n, w = twists[0].twist.linear, twists[0].twist.angular
    np.testing.assert_allclose([n.x, n.y, n.z], R @ velocity.linear, atol=1e-12)
    np.testing.assert_allclose([w.x, w.y, w.z], R @ velocity.angular, atol=1e-12)
    J = pin.computeFrameJacobian(model, data, START, tool, pin.LOCAL_WORLD_ALIGNED)
    assert conditions[0].data == pytest.approx(np.linalg.cond(J), rel=1e-9)


def test_robot_state_estimates_velocities_that_are_not_given(loop):
    loop.start('robot_state', {'description_file': URDF})
    twists = loop.listen(TwistStamped, 'robot_state/tool/current_twist')
    publisher = loop.talk(JointState, 'joint_states')
    state = JointState(name=JOINTS, position=START.tolist(), velocity=[np.nan] * 7)
    state.header.stamp.sec = 3
    loop.insist(publisher, state, lambda: twists, 'no twist')
    assert twists[-1].twist.angular.z == 0.0
    state.header.stamp.sec, state.position[0] = 4, 0.25
    loop.insist(publisher, state, lambda: twists[-1].header.stamp.sec == 4, 'no second twist')
    assert twists[-1].twist.angular.z == pytest.approx(0.25)


def test_trajectory_publisher_moves_the_arm(loop, tmp_path):
    loop.closed('computed_torque_controller')
    file = tmp_path / 'way.yaml'
    goal = START + 0.3
    file.write_text(f'joint_names: {JOINTS}\npoints:\n'
                    f'- {{time_from_start: 1.0, positions: {(START + 0.1).tolist()}}}\n'
                    f'- {{time_from_start: 2.0, positions: {goal.tolist()}}}\n')
    child = loop.start('trajectory_publisher', {'file': file})
    loop.forget(child)
    assert child.wait(30) == 0
    loop.advance(2.5).assert_near(goal, 0.02)
    child = loop.start('trajectory_publisher', {
        'file': file, 'topic': 'nobody/joint_trajectory', 'patience': 0.5})
    loop.forget(child)
    assert child.wait(30) == 1


def test_csv_holds_the_same_as_yaml(tmp_path):
    csv, yaml = tmp_path / 'way.csv', tmp_path / 'way.yaml'
    csv.write_text('time, b, a, b.velocities, a.velocities\n0.5, 1, 2, 0.1, 0.2\n1, 3, 4, 0, 0\n')
    yaml.write_text('joint_names: [b, a]\npoints:\n'
                    '- {time_from_start: 0.5, positions: [1, 2], velocities: [0.1, 0.2]}\n'
                    '- {time_from_start: 1, positions: [3, 4], velocities: [0, 0]}\n')
    message = read_trajectory(csv)
    assert message == read_trajectory(yaml)
    assert message.joint_names == ['b', 'a']
    assert message.points[0].time_from_start.nanosec == 500_000_000
    assert list(message.points[1].positions) == [3.0, 4.0]


def test_csv_of_a_spreadsheet_begins_with_a_mark(tmp_path):
    csv = tmp_path / 'way.csv'
    csv.write_text('time,a\n0,1\n1,2\n', encoding='utf-8-sig')
    assert [list(point.positions) for point in read_trajectory(csv).points] == [[1.0], [2.0]]


@pytest.mark.parametrize(('name', 'text', 'reason'), [
    ('way.txt', '', 'must end in one of: .yaml, .yml, .csv'),
    ('way.csv', 'time, a\n', 'no rows'), ('way.csv', 'a\n1\n', 'time is missing'),
    ('way.csv', 'time, a\n1, x\n', "'x'"), ('way.yaml', '[1, 2]', 'joint_names and points'),
    ('way.yaml', 'joint_names: [a]', 'points is missing'),
    ('way.yaml', 'joint_names: [a]\npoints: []', 'has no points'),
    ('way.yaml', 'joint_names: [a]\npoints: [{time_from_start: -1, positions: [0]}]',
     'point 0: time_from_start is -1.0'),
    ('way.yaml', 'joint_names: [a]\npoints: [{time_from_start: 1, positions: [0, 1]}]',
     'point 0: 2 positions for 1 joints'),
    ('way.csv', 'time\n0\n1\n', 'no column named as a joint, only: time'),
    ('way.csv', 'time, a, b, b.velocities\n0, 1, 2, 3\n', 'a.velocities is missing'),
    ('way.csv', 'time, a\n0, nan\n', "point 0: positions of joint 'a' is nan"),
    ('way.yaml', 'joint_names: [a]\npoints:\n- {time_from_start: 1, positions: [.inf]}',
     "point 0: positions of joint 'a' is inf"),
    ('way.yaml', 'joint_names: [a]\npoints: [{time_from_start: 1e12, positions: [0]}]',
     'point 0: time_from_start is 1000000000000.0 s, not within 0 to 2147483647')])
def test_bad_files_are_explained(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=re.escape(reason)) as error:
        read_trajectory(tmp_path / name)
    assert name in str(error.value)


def test_robot_of_the_bench_has_the_gravity_of_the_simulator(loop):
    """The weight that the bench computes is the one the simulated arm falls with."""
    g = [1.0, 2.0, -3.0]
    robot = loop.simulate(URDF, gravity=g)
    np.testing.assert_allclose(robot.gravity_torque(START),
                               load_urdf(URDF, gravity=g).gravity_torque(START))
    assert robot is loop.robot


def test_documented_example_of_the_bench(tmp_path, pytester_run):
    """The page's example runs as it is printed: somebody's controller, and its test."""
    text = (ROOT / 'docs' / 'nodes.md').read_text()
    files = dict(re.findall(r'`(\w+\.py)`:\n\n((?:    .*\n|\n)+)', text))
    assert set(files) == {'my_controller.py', 'test_my_controller.py'}
    for name, body in files.items():
        (tmp_path / name).write_text(re.sub('^    ', '', body, flags=re.MULTILINE))
    assert len(re.sub('^    ', '', files['test_my_controller.py']).strip().splitlines()) <= 12
    status, printed = pytester_run(tmp_path)
    assert status == 0 and '1 passed' in printed, printed


@pytest.fixture
def pytester_run():
    """Return what runs pytest in a folder, as its user would."""
    import subprocess
    import sys

    def run(folder):
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', '.'],
            cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        return done.returncode, done.stdout

    return run
