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

from pathlib import Path

from setuptools import find_packages, setup

NAME = 'multibody_ros'

# The ROS 2 wheels exist for this platform only, and must never land in a ROS installation.
WHEELS = "sys_platform == 'linux' and platform_machine == 'x86_64'"


def shared(folder):
    """Pair every file under a folder with its place below share/."""
    files = (f for f in sorted(Path(folder).rglob('*')) if f.is_file() and f.suffix != '.pyc')
    return [(f'share/{NAME}/{f.parent}', [str(f)]) for f in files]


setup(
    name=NAME,
    version='0.1.0',
    description='Multibody dynamics of any URDF robot, compiled at load time, with a torque-level '
                'simulator and model-based controllers for ROS 2.',
    long_description=Path('README.md').read_text() if Path('README.md').exists() else '',
    long_description_content_type='text/markdown',
    author='multibody_ros developers',
    maintainer='multibody_ros developers',
    maintainer_email='multibody_ros@example.com',
    license='Apache-2.0',
    keywords=['ROS', 'dynamics', 'robotics', 'URDF'],
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        *shared('launch'),
        *shared('config'),
        *shared('urdf'),
    ],
    zip_safe=False,
    install_requires=[
        'llvmlite>=0.45',
        'numpy>=1.24',
        'scipy>=1.10',
        'urdf-parser-py>=0.0.4',
    ],
    extras_require={
        'ros': [
            f'ros-jazzy-rclpy==7.1.6; {WHEELS}',
            f'ros-jazzy-rmw-fastrtps-cpp==8.4.3; {WHEELS}',
            f'ros-jazzy-common-interfaces==5.3.6; {WHEELS}',
            'PyYAML>=6.0',
        ],
        'plot': ['matplotlib>=3.7'],
        'record': ['mcap-ros2-support>=0.5'],
        'bench': [
            'example-robot-data>=6.0',
            'matplotlib>=3.7',
            'mujoco>=3.2',
            'pin>=4.0',
        ],
        # More peers for the benchmark, which does without them.
        'peers': ['drake>=1.51', 'pybullet>=3.2'],
        'test': [
            'catkin-pkg>=1.0',
            'colcon-core>=0.17',
            'colcon-ros>=0.5',
            'coverage>=7.10',
            'distributed>=2025.1',
            'example-robot-data>=6.0',
            'flake8>=7.0',
            'flake8-blind-except',
            'flake8-builtins',
            'flake8-class-newline',
            'flake8-comprehensions',
            'flake8-deprecated',
            'flake8-docstrings',
            'flake8-import-order>=0.19',
            'flake8-quotes',
            'hypothesis>=6.100',
            'matplotlib>=3.7',
            'mcap-ros2-support>=0.5',
            'mujoco>=3.2',
            'mypy>=2.4,<2.5',
            'pin>=4.0',
            'pydocstyle>=6.3',
            'pytest>=8.0',
            'pytest-cov>=6.0',
            'pytest-timeout>=2.3',
            'rosbags>=0.10',
            'ruff>=0.17,<0.18',
            'setuptools==79.0.1',
            'wheel',
        ],
    },
    entry_points={
        'console_scripts': [
            f'multibody = {NAME}.cli:main',
            f'simulator = {NAME}.nodes.simulator:main',
            f'computed_torque_controller = {NAME}.nodes.computed_torque_controller:main',
            f'gravity_compensation_controller = {NAME}.nodes.gravity_compensation_controller:main',
            f'cartesian_controller = {NAME}.nodes.cartesian_controller:main',
            f'joint_controller = {NAME}.nodes.joint_controller:main',
            f'trajectory_publisher = {NAME}.nodes.trajectory_publisher:main',
            f'robot_state = {NAME}.nodes.robot_state:main',
        ],
    },
)
