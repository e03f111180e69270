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

"""Multibody dynamics of any URDF robot, compiled at load time, for torque control in ROS 2."""

from . import control, simulation
from .compiler.kernel import set_threads
from .control import trajectory
from .dynamics import constraints
from .model.model import ModelError
from .robot import load_urdf, Robot
from .simulation import rollouts, Simulation

__all__ = ['constraints', 'control', 'load_urdf', 'ModelError', 'Robot', 'rollouts',
           'set_threads', 'Simulation', 'simulation', 'trajectory']
__version__ = '0.1.0'
