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
The simulated robot alone: it stands still until commands arrive on joint_commands.

The launch files of controllers include this one; its arguments are theirs, too.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import FileContent, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument(
            'namespace', default_value='',
            description='namespace of the nodes and of their topics'),
        DeclareLaunchArgument(
            'robot', default_value='arm7',
            choices=['arm6', 'arm7', 'cartesian_arm', 'five_bar', 'four_bar', 'geared_arm',
                     'parallelogram_arm', 'planar_2r', 'remote_2r', 'slider_crank'],
            description='robot of this package, from which params_file and description_file come'),
        DeclareLaunchArgument(
            'params_file',
            default_value=[PathJoinSubstitution(
                [FindPackageShare('multibody_ros'), 'config', LaunchConfiguration('robot')]),
                '.yaml'],
            description='YAML file with the parameters of the nodes'),
        DeclareLaunchArgument(
            'description_file',
            default_value=[PathJoinSubstitution(
                [FindPackageShare('multibody_ros'), 'urdf', LaunchConfiguration('robot')]),
                '.urdf'],
            description='path of the URDF of the robot'),
        DeclareLaunchArgument(
            'robot_description',
            default_value=FileContent(LaunchConfiguration('description_file')),
            description='URDF as text instead, for example "$(xacro robot.urdf.xacro)"'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false',
            description='whether the nodes take the time from /clock'),
        DeclareLaunchArgument(
            'publish_clock', default_value=LaunchConfiguration('use_sim_time'),
            description='whether the simulator publishes /clock'),
        DeclareLaunchArgument(
            'rviz', default_value='false',
            description='whether to show the robot: starts rviz2 and robot_state_publisher'),
        Node(
            package='multibody_ros', executable='simulator', output='screen',
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                LaunchConfiguration('params_file'),
                {'robot_description': ParameterValue(
                     LaunchConfiguration('robot_description'), value_type=str),
                 'publish_clock': ParameterValue(
                     LaunchConfiguration('publish_clock'), value_type=bool),
                 'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}]),
        Node(
            package='robot_state_publisher', executable='robot_state_publisher', output='screen',
            condition=IfCondition(LaunchConfiguration('rviz')),
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                {'robot_description': ParameterValue(
                     LaunchConfiguration('robot_description'), value_type=str),
                 'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}]),
        Node(
            package='rviz2', executable='rviz2', output='screen',
            condition=IfCondition(LaunchConfiguration('rviz')),
            namespace=LaunchConfiguration('namespace'),
            arguments=['-d', PathJoinSubstitution(
                [FindPackageShare('multibody_ros'), 'config', 'multibody.rviz'])],
            parameters=[
                {'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}]),
    ])
