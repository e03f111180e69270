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

"""Joints and links of any name and kind: topics of their own, true names in messages."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped, WrenchStamped
from multibody_ros.nodes.names import topic_tokens
import numpy as np
import pytest
from ros_loop import GRIPPER
from sensor_msgs.msg import JointState


@pytest.mark.parametrize(('names', 'tokens'), [
    (['joint1', 'Elbow_2', '__x'], ['joint1', 'Elbow_2', '__x']),
    (['arm-joint', 'left.elbow', 'a b', 'arm/shoulder'],
     ['arm_joint', 'left_elbow', 'a_b', 'arm_shoulder']),
    (['1st_joint', 'ellb\xf6gen', '\xe4rmel', '7', '{}'],
     ['n1st_joint', 'ellb_gen', 'n_rmel', 'n7', 'n__']),
    (['a-b', 'a b', 'a_b', 'a_b_2', 'a.b'], ['a_b_3', 'a_b_4', 'a_b', 'a_b_2', 'a_b_5'])])
def test_every_name_has_a_token_of_its_own(names, tokens):
    assert [topic_tokens(names)[name] for name in names] == tokens


def test_reactions_of_every_joint_whatever_its_name_and_kind(loop, tmp_path):
    """A fixed joint, a mimic and a moving one carry the weight of what hangs on them."""
    path = tmp_path / 'gripper.urdf'
    path.write_text(GRIPPER)
    loop.simulate(path)
    loop.start('gravity_compensation_controller', {'state_timeout': 3600.0})
    topics = {'n1st_joint': ('upper', 2.7), 'force_sensor': ('hand-0', 0.7),
              'finger_joint_2': ('left finger', 0.1), 'finger_joint': ('right finger', 0.1)}
    heard = {token: loop.listen(WrenchStamped, f'simulator/joint_wrenches/{token}')
             for token in topics}
    loop.wait(lambda: all(heard.values()), 'no reactions')
    loop.advance(0.01)
    last = loop.states[-1].header.stamp
    loop.wait(lambda: all(kept[-1].header.stamp == last for kept in heard.values()), 'no last')
    for token, (child, mass) in topics.items():
        wrench = heard[token][-1]
        force = wrench.wrench.force
        assert wrench.header.frame_id == child
        # the arm is level: its links have the vertical in common
        np.testing.assert_allclose([force.x, force.y, force.z], [0.0, 0.0, 9.81 * mass],
                                   atol=1e-9)
    assert loop.states[-1].name == ['1st-joint', 'finger.joint']


def test_robot_state_of_links_whatever_their_names(loop, tmp_path):
    path = tmp_path / 'gripper.urdf'
    path.write_text(GRIPPER)
    loop.start('robot_state', {'description_file': path, 'links': 'hand-0'})
    poses = loop.listen(PoseStamped, 'robot_state/hand_0/current_pose')
    state = JointState(name=['1st-joint', 'finger.joint'], position=[0.0, 0.0])
    loop.insist(loop.talk(JointState, 'joint_states'), state, lambda: poses, 'no pose')
    assert poses[0].pose.position.x == pytest.approx(0.4)
