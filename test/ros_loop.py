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

"""What the tests of the nodes share on top of multibody_ros.testing."""

from __future__ import annotations

from multibody_ros.nodes.messages import nanoseconds, time_message
from multibody_ros.resources import resource
from multibody_ros.testing import Bench
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

#: the machine may be busy with other work: nothing here may depend on how fast it is
PATIENT = {'command_timeout': 5.0, 'state_timeout': 5.0}
CONFIG = resource('config/arm7.yaml')
URDF = resource('urdf/arm7.urdf')
JOINTS = [f'joint{k}' for k in range(1, 8)]
START = np.array([0.0, 0.5, 0.0, -1.4, 0.0, 0.9, 0.0])
FRICTIONLESS = {f'physics.{kind}.{name}': 0.0 for kind in ('friction', 'damping')
                for name in JOINTS}

#: an arm with a force sensor and fingers that slide out, names as some exporters write them
GRIPPER = """
<robot name="gripper">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand-0"><inertial><origin xyz="0.05 0 0"/><mass value="0.5"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left finger"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right finger"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="1st-joint" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="5"/></joint>
  <joint name="force.sensor" type="fixed"><parent link="upper"/><child link="hand-0"/>
    <origin xyz="0.4 0 0"/></joint>
  <joint name="finger.joint" type="prismatic"><parent link="hand-0"/><child link="left finger"/>
    <origin xyz="0.1 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.05" upper="0.05" effort="20" velocity="1"/></joint>
  <joint name="finger_joint" type="prismatic"><parent link="hand-0"/><child link="right finger"/>
    <origin xyz="0.1 0 0"/><axis xyz="1 0 0"/><mimic joint="finger.joint"/>
    <limit lower="-0.05" upper="0.05" effort="20" velocity="1"/></joint>
</robot>"""


class Loop(Bench):
    """A bench with the shipped arm."""

    def closed(self, controller, parameters=None, **physics):
        """Start simulator, in lock-step, and controller; the first state is answered."""
        self.simulate(URDF, [CONFIG], **physics)
        child = self.start(controller, {'state_timeout': 3600.0, **(parameters or {})}, [CONFIG])
        self.wait_for_commands()
        return child

    def pass_time(self, seconds):
        """Return the states of the next `seconds` of a robot that runs freely."""
        self.states.clear()
        self.wait(lambda: self.states and stamp(self.states[-1]) - stamp(self.states[0])
                  >= seconds, 'the joint states stopped', 30.0 + seconds)
        return list(self.states)

    def refused(self, publisher, message, name, reason):
        """Publish until the node has counted a refusal for this reason."""
        before = int((self.last_health(name) or self.health(name))['rejected'])

        def counted():
            report = self.last_health(name)
            return int(report['rejected']) > before and reason in report['last rejection']

        self.insist(publisher, message, counted, f'{reason!r} was not counted')


def trajectory(start, seconds, goal, names=JOINTS):
    """Ask for rest at `goal`, `seconds` after the stamp `start`; 0: from now on."""
    point = JointTrajectoryPoint(positions=[float(x) for x in goal])
    point.time_from_start.sec = int(seconds)
    point.time_from_start.nanosec = round((seconds - int(seconds)) * 1e9)
    message = JointTrajectory(joint_names=list(names), points=[point])
    message.header.stamp = time_message(round(start * 1e9))
    return message


def stamp(message):
    """Return the stamp in seconds."""
    return 1e-9 * nanoseconds(message.header.stamp)


def values(messages, field, names):
    """Return one row a message, columns as in `names`."""
    return np.array([[dict(zip(m.name, getattr(m, field)))[name] for name in names]
                     for m in messages])


def minimum_jerk(s):
    """Return the profile of a motion from rest to rest, the quintic through both ends."""
    s = np.clip(s, 0.0, 1.0)
    return 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
