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

"""The part of URDF and URDF+ that mechanics needs: which tags, which attributes, which numbers."""

from __future__ import annotations

import math
from typing import Iterator

from .document import Element
from .finding import Finding, place

JOINT_KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')
LOOP_KINDS = JOINT_KINDS + ('spherical', 'universal', 'cylindrical')

#: tags that may stand inside a tag; those not in READ are known but mean nothing to mechanics
CHILDREN = {
    'robot': {'link', 'joint', 'loop', 'coupling', 'transmission', 'material', 'gazebo', 'sensor',
              'ros2_control'},
    'link': {'inertial', 'visual', 'collision', 'origin'},
    'joint': {'origin', 'axis', 'parent', 'child', 'limit', 'dynamics', 'mimic', 'calibration',
              'safety_controller'},
    'inertial': {'origin', 'mass', 'inertia'},
    'loop': {'predecessor', 'successor', 'axis', 'origin', 'limit', 'dynamics'},
    'coupling': {'predecessor', 'successor', 'ratio'},
    'predecessor': {'origin'},
    'successor': {'origin'},
}
READ = {
    'link': ('inertial',),
    'joint': ('parent', 'child', 'origin', 'axis', 'limit', 'dynamics', 'mimic'),
    'inertial': ('origin', 'mass', 'inertia'),
    'loop': ('predecessor', 'successor', 'axis'),
    'coupling': ('predecessor', 'successor', 'ratio'),
    'predecessor': ('origin',),
    'successor': ('origin',),
}
#: attributes that are numbers, and how many numbers each holds
NUMBERS = {
    'origin': {'xyz': 3, 'rpy': 3},
    'mass': {'value': 1},
    'inertia': {'ixx': 1, 'ixy': 1, 'ixz': 1, 'iyy': 1, 'iyz': 1, 'izz': 1},
    'axis': {'xyz': 3},
    'limit': {'lower': 1, 'upper': 1, 'velocity': 1, 'effort': 1},
    'dynamics': {'damping': 1, 'friction': 1},
    'mimic': {'multiplier': 1, 'offset': 1},
    'ratio': {'value': 1},
}
REQUIRED_ATTRIBUTES = {
    'robot': ('name',),
    'link': ('name',),
    'joint': ('name', 'type'),
    'loop': ('name', 'type'),
    'coupling': ('name',),
    'parent': ('link',),
    'child': ('link',),
    'predecessor': ('link',),
    'successor': ('link',),
    'mimic': ('joint',),
    'mass': ('value',),
    'inertia': ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
    'axis': ('xyz',),
    'ratio': ('value',),
}
REQUIRED_CHILDREN = {
    'joint': ('parent', 'child'),
    'inertial': ('mass',),
    'loop': ('predecessor', 'successor'),
    'coupling': ('predecessor', 'successor', 'ratio'),
}
OPTIONAL_ATTRIBUTES = {
    'robot': ('version',),
    'link': ('type',),
    'joint': ('independent',),
}
#: no length, mass or angle is larger than this; products of a few such numbers stay finite
LARGEST_NUMBER = 1e30
#: a limit from here on means that there is none: other formats write 1e16 or the largest double
NO_LIMIT = 1e16


def numbers(text: str) -> list[float]:
    """Return the finite numbers of an attribute; the ValueError says what is wrong with it."""
    if '${' in text or '$(' in text:
        raise ValueError('is a xacro expression: expand the file with xacro first')
    values = []
    for word in text.split():
        try:
            # Python reads 1_000 and digits of other scripts, XML Schema's double does not.
            value = float(word) if word.isascii() and '_' not in word else None
        except ValueError:
            value = None
        if value is None:
            raise ValueError(f'{word[:40]!r} is not a number')
        if not math.isfinite(value):
            raise ValueError(f'{word[:40]!r} is not finite')
        values.append(value)
    return values


def number_problem(text: str, count: int, largest: float = LARGEST_NUMBER) -> str:
    """Say what keeps a text from being `count` numbers one can use; empty when nothing does."""
    try:
        values = numbers(text)
    except ValueError as error:
        return str(error)
    if len(values) != count:
        return f'holds {len(values)} numbers instead of {count}'
    return next((f'{x:g} is too large' for x in values if abs(x) > largest), '')


def shape_findings(element: Element, owner: Element, *inside: Element) -> Iterator[Finding]:
    """
    Find missing tags, missing attributes and bad numbers of an element and those inside it.

    `owner` and `inside` are the way from the named element (link, joint, ...) to this one.
    """
    tag = element.tag
    for attribute in REQUIRED_ATTRIBUTES.get(tag, ()):
        if not element.get(attribute, '').strip():
            yield Finding('error', place(owner, *inside),
                          f'the attribute {attribute!r} is missing or empty',
                          f'write <{tag} {attribute}="...">')
    for attribute, count in NUMBERS.get(tag, {}).items():
        text = element.get(attribute)
        largest = math.inf if tag == 'limit' else LARGEST_NUMBER
        if text and (problem := number_problem(text, count, largest)):
            yield Finding('error', place(owner, *inside), f'attribute {attribute!r}: {problem}',
                          'give finite decimal numbers, SI units')
    for child_tag in REQUIRED_CHILDREN.get(tag, ()):
        if element.find(child_tag) is None:
            yield Finding('error', place(owner, *inside), f'has no <{child_tag}>',
                          f'add <{child_tag} .../>')
    for child_tag in READ.get(tag, ()):
        child = element.find(child_tag)
        if child is not None:
            yield from shape_findings(child, owner, *inside, child)
