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

"""
Computed torque controller for a real robot: no simulator.

The robot's driver publishes joint_states and robot_description and takes efforts, as JointState on
joint_commands or as Float64MultiArray on the controller's ~/commands.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument(
            'namespace', default_value='',
            description='namespace of the controller and of its topics'),
        DeclareLaunchArgument(
            'description_file', default_value='',
            description='URDF of the robot; empty: from the robot_description topic'),
        DeclareLaunchArgument(
            'joint_states', default_value='joint_states',
            description='topic on which the robot tells its state'),
        DeclareLaunchArgument(
            'joint_commands', default_value='joint_commands',
            description='topic on which the robot takes efforts'),
        DeclareLaunchArgument(
            'robot_compensates_gravity', default_value='false',
            description='whether the robot adds the gravity torque by itself'),
        DeclareLaunchArgument(
            'array_commands', default_value='false',
            description="whether to publish for ros2_control's forward_command_controller too"),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false',
            description='whether the nodes take the time from /clock'),
        Node(
            package='multibody_ros', executable='computed_torque_controller', output='screen',
            namespace=LaunchConfiguration('namespace'),
            remappings=[('joint_states', LaunchConfiguration('joint_states')),
                        ('joint_commands', LaunchConfiguration('joint_commands'))],
            parameters=[
                {'description_file': ParameterValue(
                     LaunchConfiguration('description_file'), value_type=str),
                 'robot_compensates_gravity': ParameterValue(
                     LaunchConfiguration('robot_compensates_gravity'), value_type=bool),
                 'array_commands': ParameterValue(
                     LaunchConfiguration('array_commands'), value_type=bool),
                 'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}]),
    ])
