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

"""Control laws and trajectories: plain objects, state in, torque out."""

from . import trajectory
from .adaptive import AdaptiveControl
from .cartesian import CartesianControl
from .closed import MechanismComputedTorque, MechanismGravityCompensation, MechanismHold
from .hold import GravityCompensation, SafeHold
from .impedance import CartesianImpedance
from .joint import ComputedTorque, IndependentJoint, PDGravity, PDPlus
from .safety import Safety, Torque
from .task import pose_error

__all__ = ['AdaptiveControl', 'CartesianControl', 'CartesianImpedance', 'ComputedTorque',
           'GravityCompensation', 'IndependentJoint', 'MechanismComputedTorque',
           'MechanismGravityCompensation', 'MechanismHold', 'PDGravity', 'PDPlus', 'pose_error',
           'SafeHold', 'Safety', 'Torque', 'trajectory']
