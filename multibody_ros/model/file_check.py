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

"""What a URDF says that is unusual, contradictory or not used, and how it was read."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Iterator

from .document import Element
from .finding import choices, Finding, place, quoted
from .joint_check import joint_findings
from .schema import (
    CHILDREN, number_problem, NUMBERS, numbers, OPTIONAL_ATTRIBUTES, READ, REQUIRED_ATTRIBUTES)
from .transmission import gear_text, REDUCTION, ROTOR, transmissions

#: tags of joints that are known but mean nothing here
IGNORED = {
    'calibration': 'joint calibration', 'safety_controller': 'soft limits of safety_controller'}
#: kinds of unknown tags and attributes that are told one by one
TOLD = 100


def file_findings(root: Element) -> Iterator[Finding]:
    """Yield warnings and notes, and errors that do not keep the file from being read."""
    yield from _unknown_findings(root)
    yield from joint_findings(root)
    yield from _transmission_findings(root)
    for tag, what in IGNORED.items():
        users = [e for e in root.findall('joint') if e.find(tag)]
        if users:
            yield Finding('note', place(users[0], users[0].at(tag)),
                          f'not used: {what} ({len(users)} joints)')


def _unknown_findings(root: Element) -> Iterator[Finding]:
    """Report each kind of unknown tag or attribute once; empty numbers; tags that repeat."""
    first: dict[tuple[str, str, str], str] = {}
    times: Counter[tuple[str, str, str]] = Counter()

    def count(kind: str, owner: Element, name: str, where: str) -> None:
        first.setdefault((kind, owner.tag, name), where)
        times[kind, owner.tag, name] += 1

    def visit(owner: Element, element: Element, inside: tuple[Element, ...]) -> None:
        known = (*REQUIRED_ATTRIBUTES.get(element.tag, ()), *NUMBERS.get(element.tag, {}),
                 *OPTIONAL_ATTRIBUTES.get(element.tag, ()))
        where = place(owner, *inside)
        for attribute, text in element.attrib.items():
            if attribute not in known and ':' not in attribute and attribute != 'xmlns':
                count('attribute', element, attribute, where)
            elif attribute in NUMBERS.get(element.tag, {}) and not text:
                count('empty', element, attribute, where)
        seen = set()
        for child in element:
            way = (*inside, child)
            if child.tag not in CHILDREN.get(element.tag, set()):
                count('tag', element, child.tag, place(owner, *way))
            elif child.tag in READ.get(element.tag, ()):
                if child.tag in seen:
                    count('repeated tag', element, child.tag, place(owner, *way))
                else:
                    visit(owner, child, way)
            seen.add(child.tag)

    for element in root:
        if element.tag in READ:
            visit(element, element, ())
        elif element.tag not in CHILDREN['robot']:
            count('tag', root, element.tag, f'<{element.tag[:40]}> (line {element.line})')
    if len(first) > TOLD:
        yield Finding('warning', place(root), f'{len(first) - TOLD} more kinds of unknown tags '
                      'and attributes are not read', 'is this a URDF?')
    for (kind, tag, name), where in islice(first.items(), TOLD):
        number = times[kind, tag, name]
        often = '' if number == 1 else f' ({number} times, here first)'
        if kind == 'repeated tag':
            yield Finding('warning', where, f'a second <{name}> in <{tag}>{often} is not '
                          'read', 'keep one')
        elif kind == 'empty':
            yield Finding('warning', where, f'the attribute {name!r} of <{tag}> is empty{often}: '
                          'read as absent', 'give its number, or remove it')
        else:
            allowed = CHILDREN.get(tag, set()) if kind == 'tag' else {
                *REQUIRED_ATTRIBUTES.get(tag, ()), *NUMBERS.get(tag, {}),
                *OPTIONAL_ATTRIBUTES.get(tag, ())}
            yield Finding('warning', where, f'unknown {kind} {quoted(name)} in <{tag}>{often} is '
                          'not read', f'known there: {choices(sorted(allowed))}')


def _transmission_findings(root: Element) -> Iterator[Finding]:
    joints = [e.get('name') for e in root.findall('joint')]
    known = set(joints)
    for transmission in transmissions(root):
        where = place(transmission)
        names = {e.get('name') for e in transmission.findall('joint')}
        for name in sorted(names - known):
            yield Finding('warning', where, f'there is no joint {quoted(name)}',
                          'the joints are: ' + choices(joints, name))
        if not names:
            yield Finding('warning', where, 'names no joint: it is not used',
                          'add <joint name="..."/>')
        elif len(names) > 1:
            yield Finding('note', where, f'couples {len(names)} joints: its reductions and rotor '
                          'inertias are not used')
        for element in transmission.walk():
            text = gear_text(element)
            if element.tag not in REDUCTION + ROTOR or number_problem(text, 1):
                continue
            value = numbers(text)[0]
            if element.tag in REDUCTION and value == 0.0:
                yield Finding('error', place(transmission, element),
                              'the reduction is zero', 'give motor turns per joint turn')
            elif element.tag in ROTOR and value < 0.0:
                yield Finding('error', place(transmission, element),
                              f'the rotor inertia is negative: {value:g}', 'give kg m^2')
    yield from _rotorless_findings(root)


def _rotorless_findings(root: Element) -> Iterator[Finding]:
    """Tell of gears whose motor has no inertia: nothing is reflected to the joint."""
    without = [place(transmission) for transmission in transmissions(root)
               if any(_geared(e) for e in transmission.walk())
               and not any(e.tag in ROTOR for e in transmission.walk())]
    if without:
        yield Finding('note', without[0], f'a reduction without rotor inertia ({len(without)} '
                      'transmissions): no inertia is reflected to the joint',
                      'add <rotorInertia> (kg m^2) beside it if it matters')


def _geared(element: Element) -> bool:
    text = gear_text(element)
    return (element.tag in REDUCTION and not number_problem(text, 1)
            and abs(numbers(text)[0]) != 1.0)
