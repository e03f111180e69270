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

"""Gear ratios and rotor inertias from <transmission> elements, in the dialects that are in use."""

from __future__ import annotations

from typing import Iterator

from .document import Element
from .schema import numbers

REDUCTION = ('mechanicalReduction', 'mechanical_reduction', 'drake:gear_ratio')
ROTOR = ('rotorInertia', 'motorInertia', 'rotor_inertia', 'drake:rotor_inertia')


def transmissions(root: Element) -> Iterator[Element]:
    """Yield the transmissions of the robot, those inside <ros2_control> as well."""
    yield from root.findall('transmission')
    for system in root.findall('ros2_control'):
        yield from system.findall('transmission')


def gear_text(element: Element) -> str:
    """Return the number of such an element: its attribute `value`, else what is inside."""
    return element.get('value') or element.text


def gear_numbers(root: Element) -> Iterator[tuple[Element, str]]:
    """Yield every element that holds a reduction or a rotor inertia, with its text."""
    for transmission in transmissions(root):
        for element in transmission.walk():
            if element.tag in REDUCTION + ROTOR:
                yield element, gear_text(element)


def gears(root: Element) -> dict[str, tuple[float, float]]:
    """
    Return joint name -> (gear ratio N, rotor inertia J), motor turns per joint turn, kg m^2.

    A transmission of several joints couples them; it has no one reduction and is left out. Two
    motors on one joint add: J is then what gives the sum of N^2 J with the first one's ratio.
    """
    found: dict[str, tuple[float, float]] = {}
    for transmission in transmissions(root):
        names = {joint.get('name', '') for joint in transmission.findall('joint')}
        if len(names) != 1:
            continue
        name = names.pop()
        ratio = _first(transmission, REDUCTION, 1.0)
        rotor = _first(transmission, ROTOR, 0.0)
        if name in found and found[name][0] != 0.0:
            first_ratio, first_rotor = found[name]
            rotor = first_rotor + rotor * (ratio / first_ratio) ** 2
            ratio = first_ratio
        found[name] = (ratio, rotor)
    return found


def _first(transmission: Element, tags: tuple[str, ...], default: float) -> float:
    """Return the number at the actuator, else at the joint, else at the transmission itself."""
    for place in (*transmission.findall('actuator'), *transmission.findall('joint'), transmission):
        for child in place:
            if child.tag in tags:
                return numbers(gear_text(child))[0]
    return default
