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

"""Two simulated arms, each with a computed torque controller, in the namespaces left and right."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument(
            'left', default_value='left', description='namespace of the first arm'),
        DeclareLaunchArgument(
            'right', default_value='right', description='namespace of the second arm'),
        DeclareLaunchArgument(
            'robot', default_value='arm7',
            choices=['arm6', 'arm7', 'cartesian_arm', 'geared_arm', 'planar_2r'],
            description='robot of this package, from which params_file comes'),
        DeclareLaunchArgument(
            'params_file',
            default_value=[PathJoinSubstitution(
                [FindPackageShare('multibody_ros'), 'config', LaunchConfiguration('robot')]),
                '.yaml'],
            description='YAML file with the parameters of the nodes of both arms'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false',
            description='whether the nodes take the time from a /clock of somebody else'),
        *(Node(
            package='multibody_ros', executable=executable, output='screen',
            namespace=LaunchConfiguration(side),
            parameters=[
                LaunchConfiguration('params_file'),
                {'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)}])
          for side in ('left', 'right')
          for executable in ('simulator', 'computed_torque_controller')),
    ])
