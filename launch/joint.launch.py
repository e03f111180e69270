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

"""Simulator and joint_controller: springs at the joints, `law` in params_file says which."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
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
            choices=['arm6', 'arm7', 'cartesian_arm', 'geared_arm', 'planar_2r'],
            description='robot of this package, from which params_file and description_file come'),
        DeclareLaunchArgument(
            'params_file',
            default_value=[PathJoinSubstitution(
                [FindPackageShare('multibody_ros'), 'config', LaunchConfiguration('robot')]),
                '.yaml'],
            description='YAML file with the parameters of the nodes'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false',
            description='whether the nodes take the time from /clock'),
        IncludeLaunchDescription(PathJoinSubstitution(
            [FindPackageShare('multibody_ros'), 'launch', 'simulator.launch.py'])),
        Node(
            package='multibody_ros', executable='joint_controller', output='screen',
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                LaunchConfiguration('params_file'),
                {'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}]),
    ])
