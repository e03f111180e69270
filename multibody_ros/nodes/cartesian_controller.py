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

"""Control of one link in operational space as a node: target poses, twists and wrenches."""

from __future__ import annotations

import sys
from typing import Any, Callable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
import numpy as np
from std_msgs.msg import Float64

from .controller import Controller
from .executor import run_node
from .messages import (
    MessageError, pose_matrix, pose_message, twist_message, twist_vector, wrench_vector)
from .observers import listened
from .parameters import declare, declare_choice
from .qos import TARGET
from ..arguments import known
from ..control import CartesianControl, CartesianImpedance
from ..control.rotation import log_rotation
from ..control.trajectory import along_twist, MotionLimits, PoseTrajectory, toward_pose


class CartesianController(Controller):
    """Holds the pose it finds, then moves end_effector_frame by ~/target_pose or _twist."""

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('cartesian_controller')

    def setup(self) -> Any:
        """Declare frames, gains and speeds, open the topics, make the law."""
        links = self.robot.link_names
        self._link = declare(self, 'end_effector_frame', '',
                             'link to guide; empty: the last one of the model') or links[-1]
        self._base = declare(self, 'base_frame', '',
                             'link current_pose is given in; empty: the first one') or links[0]
        for link in (self._link, self._base):
            known(self.robot.name, 'link', link, links)
        moving = np.any(self.robot.jacobian(self.robot.neutral(), self._link), axis=0)
        left = [name for name, moves in zip(self.joints.names, moving)
                if moves and name not in self.commanded.names]
        if left:
            raise ValueError(f'end_effector_frame {self._link!r} is moved by joints that are not '
                             f'among `joints`: {", ".join(left)}')
        self._soft = declare_choice(self, 'law', 'operational_space', 'law of the controller',
                                    ('operational_space', 'impedance')) == 'impedance'
        directions = declare(self, 'directions', 'pose',
                             'what is guided: pose, position, orientation, or some of x y z rx '
                             'ry rz with spaces between')
        self._forced = declare(self, 'force_directions', '',
                               'directions of the base along which ~/target_wrench is exerted, '
                               'some of x y z rx ry rz with spaces between').split()
        self._declare_gains()
        self._pose = self.send(PoseStamped, '~/current_pose')
        self._twist = self.send(TwistStamped, '~/current_twist')
        self._margin = self.send(Float64, '~/singularity_margin')
        self.receive(PoseStamped, '~/target_pose', self._on_pose, TARGET)
        self.receive(TwistStamped, '~/target_twist', self._on_twist, TARGET)
        self.receive(WrenchStamped, '~/target_wrench', self._on_wrench, TARGET)
        chosen = directions.split() if ' ' in directions else directions
        options: dict[str, Any] = {'posture': self.robot.neutral(), 'directions': chosen,
                                   'safety': self.safety}
        if self._soft and self._forced:
            raise ValueError('force_directions need the law operational_space')
        law: Any
        if self._soft:
            law = CartesianImpedance(self.robot, self._link, **options)
        else:
            friction = declare(self, 'friction_compensation', True,
                               "feed the URDF's friction at the desired velocity forward")
            law = CartesianControl(self.robot, self._link, friction=friction,
                                   force_directions=self._forced, **options)
        declare(self, 'damped_below', float(law.damped_below[0]),
                'mobility below which a direction counts as lost and is damped, relative; see '
                '~/singularity_margin', 1e-9, 1e3, changeable=True)
        return law

    def _declare_gains(self) -> None:
        stiffness, damping = ((400.0, 30.0), (40.0, 3.0)) if self._soft else (
            (100.0, 100.0), (20.0, 20.0))
        units = (('N/m', 'N s/m'), ('N m/rad', 'N m s/rad')) if self._soft else (
            ('1/s^2', '1/s'), ('1/s^2', '1/s'))
        for k, part in enumerate(('linear', 'angular')):
            declare(self, f'stiffness.{part}', stiffness[k], f'{part} stiffness in {units[k][0]}',
                    0.0, 1e6, changeable=True)
            declare(self, f'damping.{part}', damping[k], f'{part} damping in {units[k][1]}',
                    0.0, 1e6, changeable=True)
        declare(self, 'nullspace.stiffness', 10.0,
                'pull to the pose at the start, in the null space, in 1/s^2', 0.0, 1e6,
                changeable=True)
        declare(self, 'nullspace.damping', 6.0, 'damping in the null space in 1/s', 0.0, 1e4,
                changeable=True)
        declare(self, 'max_speed.linear', 0.25, 'peak speed in m/s', 1e-6, 100.0, changeable=True)
        declare(self, 'max_speed.angular', 1.0, 'peak turning speed in rad/s', 1e-6, 100.0,
                changeable=True)
        declare(self, 'max_acceleration.linear', 1.0, 'peak acceleration of targets in m/s^2',
                1e-6, 1e4, changeable=True)
        declare(self, 'max_acceleration.angular', 4.0,
                'peak angular acceleration of targets in rad/s^2, a little more while the axis '
                'of a turn changes', 1e-6, 1e4, changeable=True)
        declare(self, 'twist_timeout', 0.25,
                "seconds of the states' time after which a ~/target_twist that is not renewed "
                'comes to rest', 0.001, 60.0, changeable=True)

    def tune(self, value: Callable[[str], Any]) -> None:
        """Take over gains and speeds."""
        kp, kd = (np.repeat([value(f'{name}.linear'), value(f'{name}.angular')], 3)
                  for name in ('stiffness', 'damping'))
        if self._soft:
            self.law.stiffness, self.law.damping = np.diag(kp), np.diag(kd)
        else:
            self.law.kp, self.law.kd = kp, kd
        # joints that somebody else moves are not pulled
        pulled = self.commanded.among(np.ones(len(self.commanded.names)), np.zeros(self.robot.nv))
        self.law.posture_kp = value('nullspace.stiffness') * pulled
        self.law.posture_kd = value('nullspace.damping') * pulled
        self.law.damped_below = value('damped_below')
        self._limits = MotionLimits(*(value(f'{what}.{part}') for what in (
            'max_speed', 'max_acceleration') for part in ('linear', 'angular')))
        self._twist_timeout = value('twist_timeout')

    def begin(self) -> None:
        """Hold the present pose, push no more."""
        here = self.robot.pose(self.q, self._link)
        self.law.trajectory = PoseTrajectory(here, here)
        self.law.posture[:] = self.q
        if self._forced:
            self.law.wrench = np.zeros(6)

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish where the link is, how it moves, how far from a singularity."""
        if listened(self._pose) or listened(self._twist):
            T_WB = self.robot.pose(self.q, self._base)
            T_BE = np.linalg.inv(T_WB) @ self.robot.pose(self.q, self._link)
            pose = PoseStamped(pose=pose_message(T_BE, log_rotation(T_BE[:3, :3])))
            pose.header.stamp, pose.header.frame_id = stamp, self._base
            self._pose.publish(pose)
            R_BW = T_WB[:3, :3].T
            twist = TwistStamped(twist=twist_message(
                R_BW, self.robot.velocity(self.q, self.v, self._link)))
            twist.header.stamp, twist.header.frame_id = stamp, self._base
            self._twist.publish(twist)
        if listened(self._margin):
            self._margin.publish(Float64(data=self.law.margin))

    def _frame(self, frame: str) -> np.ndarray:
        """Return the pose of a target's frame, which must be a link of the robot."""
        if frame not in self.robot.link_names:
            raise MessageError(f'frame_id {frame!r} is no link of {self.robot.name!r}, only: '
                               + ', '.join(self.robot.link_names))
        T: np.ndarray = self.robot.pose(self.q, frame)
        return T

    def _on_pose(self, message: PoseStamped) -> None:
        self.beginning()
        T_WD = self._frame(message.header.frame_id) @ pose_matrix(message.pose)
        self.law.trajectory = toward_pose(self.law.trajectory, self.t, T_WD, self._limits)

    def _on_twist(self, message: TwistStamped) -> None:
        self.beginning()
        R_WF = self._frame(message.header.frame_id)[:3, :3]
        twist = twist_vector(message.twist)
        self.law.trajectory = along_twist(
            self.law.trajectory, self.t, np.concatenate([R_WF @ twist[:3], R_WF @ twist[3:]]),
            self._twist_timeout, self._limits)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self.beginning()
        R_WF = self._frame(message.header.frame_id)[:3, :3]
        wrench = wrench_vector(message.wrench)
        if not self._forced:
            raise MessageError('no direction is force controlled: set force_directions')
        self.law.wrench = np.concatenate([R_WF @ wrench[:3], R_WF @ wrench[3:]])


def main() -> int:
    """Run the node."""
    return run_node(CartesianController)


if __name__ == '__main__':
    sys.exit(main())
