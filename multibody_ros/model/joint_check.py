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

"""What a URDF says about its joints that is unusual or contradictory, and how it was read."""

from __future__ import annotations

import math
from typing import Iterator

from .document import Element
from .finding import Finding, place, quoted
from .model import Model
from .schema import NO_LIMIT, number_problem, numbers

#: no joint sits this far (m) from the one before, nothing turns this far (rad) between its limits
FAR = 50.0
MANY_TURNS = 8.0 * math.pi


def joint_findings(root: Element) -> Iterator[Finding]:
    """Yield what is to be said about every joint."""
    for joint in root.findall('joint'):
        yield from _origin_findings(joint)
        yield from _axis_findings(joint)
        yield from _limit_findings(joint)
        yield from _dynamics_findings(joint)
    yield from _mimic_findings(root)


def follower_findings(model: Model, places: dict[str, str]) -> Iterator[Finding]:
    """Yield the mimic joints that the joint they follow takes beyond their own limits."""
    by_name = {joint.name: joint for joint in model.joints}
    for joint in model.joints:
        if joint.mimic is None or not all(map(math.isfinite, (joint.lower, joint.upper))):
            continue
        leader = by_name[joint.mimic.joint]
        ends = sorted(joint.mimic.multiplier * end + joint.mimic.offset if joint.mimic.multiplier
                      else joint.mimic.offset for end in (leader.lower, leader.upper))
        slack = 1e-3 * (joint.upper - joint.lower)
        if ends[0] < joint.lower - slack or ends[1] > joint.upper + slack:
            yield Finding(
                'note', places[joint.name], f'follows {quoted(leader.name)} from {ends[0]:.4g} to '
                f'{ends[1]:.4g}, beyond its own limits {joint.lower:.4g} and {joint.upper:.4g}: '
                'these are not used', 'narrow the limits of the joint it follows')


def _origin_findings(joint: Element) -> Iterator[Finding]:
    origin = joint.find('origin')
    if origin is None:
        return
    xyz, rpy = (numbers(origin.get(key)) if not number_problem(origin.get(key), 3) else [0.0]
                for key in ('xyz', 'rpy'))
    distance = math.hypot(*xyz)
    if distance > FAR:
        yield Finding('warning', place(joint, origin), f'the joint is {distance:.4g} m away from '
                      'the parent link', 'check the unit: m, not mm')
    angle = max(map(abs, rpy))
    if angle > 2.0 * math.pi + 0.01:
        yield Finding('warning', place(joint, origin), f'rpy holds {angle:.4g}, more than a turn',
                      'check the unit: rad, not degrees')


def _axis_findings(joint: Element) -> Iterator[Finding]:
    axis = joint.find('axis')
    if axis is None or joint.get('type') in ('fixed', 'floating') \
            or number_problem(axis.get('xyz'), 3):
        return
    length = math.hypot(*numbers(axis.get('xyz')))
    if length and abs(length - 1.0) > 1e-6:
        yield Finding('warning', place(joint, axis),
                      f'the axis has length {length:.6g} and was made a unit vector',
                      'check that no scale was meant')


def _number(element: Element, attribute: str) -> float | None:
    text = element.get(attribute)
    return None if number_problem(text, 1, math.inf) else numbers(text)[0]


def _limit_findings(joint: Element) -> Iterator[Finding]:
    kind = joint.get('type')
    limit = joint.find('limit')
    if kind not in ('revolute', 'prismatic', 'continuous'):
        return
    where = place(joint, *([] if limit is None else [limit]))
    # Limits of a joint that follows another are not used, so they may be absent.
    follows = joint.find('mimic') is not None
    if limit is None:
        if kind != 'continuous' and not follows:
            yield Finding('warning', where, f'a {kind} joint without <limit>: read as unlimited',
                          'add <limit lower upper effort velocity>, or use type continuous')
        return
    values = {key: _number(limit, key) for key in ('lower', 'upper', 'effort', 'velocity')}
    for name, value in values.items():
        if value is not None and abs(value) >= NO_LIMIT:
            yield Finding('note', where, f'{name} {value:g}: read as unlimited')
    yield from _range_findings(where, kind, follows, values['lower'], values['upper'])
    for name, unit in (('effort', 'N or N m'), ('velocity', 'm/s or rad/s')):
        value = values[name]
        if value is None:
            if not follows:
                yield Finding('warning', where, f'no {name} limit: read as unlimited',
                              f'give {name} ({unit})')
        elif value < 0.0:
            yield Finding('error', where, f'the {name} limit is negative: {value:g}',
                          f'give a positive number ({unit})')
        elif value == 0.0 and not follows:
            yield Finding('warning', where, f'the {name} limit is 0 and was read as 0: the joint '
                          'allows none', f'give the true {name} limit ({unit}), or leave it out '
                          'if there is none')


def _range_findings(where: str, kind: str, follows: bool, lower: float | None,
                    upper: float | None) -> Iterator[Finding]:
    if kind == 'continuous':
        if lower is not None or upper is not None:
            yield Finding('note', where, 'lower and upper of a continuous joint are not used')
        return
    if lower is None and upper is None:
        if not follows:
            yield Finding('warning', where, 'neither lower nor upper: read as unlimited '
                          '(other readers take 0 and 0)', 'give both')
        return
    if lower is None or upper is None:
        missing = 'lower' if lower is None else 'upper'
        yield Finding('warning', where, f'no {missing} limit: read as 0, as URDF says',
                      'give both')
    low, high = lower or 0.0, upper or 0.0
    if low > high:
        yield Finding('error', where, f'the limits are reversed: lower {low:g} is above '
                      f'upper {high:g}', 'exchange them')
    elif low == high:
        yield Finding('warning', where, f'lower and upper are both {low:g}: the joint cannot '
                      'move', 'use type fixed, or widen the limits')
    elif kind == 'revolute' and MANY_TURNS < max(-low, high) < NO_LIMIT:
        yield Finding('warning', where, f'turns from {low:g} to {high:g}',
                      'check the unit: rad, not degrees')


def _dynamics_findings(joint: Element) -> Iterator[Finding]:
    dynamics = joint.at('dynamics')
    for name in ('damping', 'friction'):
        value = _number(dynamics, name)
        if value is not None and value < 0.0:
            yield Finding('error', place(joint, dynamics),
                          f'{name} is negative: {value:g}: it would feed energy in',
                          'give a positive number')


def _mimic_findings(root: Element) -> Iterator[Finding]:
    followers = {e.get('name'): e for e in root.findall('joint') if e.find('mimic')}
    for joint in followers.values():
        mimic = joint.at('mimic')
        where = place(joint, mimic)
        leader = mimic.get('joint')
        if joint.get('type') == 'fixed':
            yield Finding('warning', where, 'a fixed joint does not move: mimic is not used',
                          'remove <mimic> or change the joint type')
        elif leader in followers:
            yield Finding('note', where, f'follows {quoted(leader)}, which follows another joint: '
                          'the chain was composed to its first joint')
        if _number(mimic, 'multiplier') == 0.0:
            yield Finding('warning', where, 'the multiplier is 0: the joint stands still',
                          'use a fixed joint, or give the multiplier')
