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

"""Friction to be fed forward."""

from __future__ import annotations

from .vectors import Vector
from ..compiler.functions import sqrt

#: rad/s or m/s below which Coulomb friction fades out
FADE = 0.01


def smooth_friction(damping: Vector, coulomb: Vector, v: Vector) -> Vector:
    """
    Return b v + c v / sqrt(v^2 + FADE^2).

    The sign of v itself would make the torque chatter where v is about zero.
    """
    return [b * x + c * (x / sqrt(x * x + FADE * FADE)) for b, c, x in zip(damping, coulomb, v)]
