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

"""
What keeps a URDF from being one tree of links and joints with finite numbers.

Every finding here is an error that the reader refuses and the doctor reports: the reader stops at
the first, the doctor shows them all.
"""

from __future__ import annotations

from typing import Iterator

from .document import Element
from .finding import choices, Finding, place, quoted
from .schema import JOINT_KINDS, LOOP_KINDS, number_problem, numbers, shape_findings
from .transmission import gear_numbers

SCALAR_KINDS = ('revolute', 'continuous', 'prismatic')
AXIS_KINDS = SCALAR_KINDS + ('planar',)


def structural_findings(root: Element) -> Iterator[Finding]:
    """Yield the errors that make a file unreadable as a robot."""
    if root.tag != 'robot':
        yield Finding('error', f'<{root.tag[:40]}> (line {root.line})',
                      'is not a URDF: the outermost element must be <robot>',
                      'give the URDF file, not an SDF, MJCF or launch file')
        return
    for element in root.walk():
        if element.tag.startswith('xacro:'):
            yield Finding('error', f'<{element.tag[:40]}> (line {element.line})',
                          'the file is xacro and was not expanded',
                          'run `xacro FILE > robot.urdf` and give the result')
            return
    yield from shape_findings(root, root)
    links = list(root.findall('link'))
    joints = list(root.findall('joint'))
    if not links:
        yield Finding('error', place(root), 'the robot has no links', 'add <link name="..."/>')
    for tag in ('link', 'joint', 'loop', 'coupling'):
        yield from _named_findings(root, tag)
    names = dict.fromkeys(e.get('name') for e in links)
    for joint in joints:
        yield from _joint_findings(joint, names)
    yield from _tree_findings(root, names, joints)
    yield from _mimic_findings(joints)
    for tag, kinds in (('loop', LOOP_KINDS), ('coupling', None)):
        for element in root.findall(tag):
            yield from _closure_findings(element, names, kinds)
    for element, text in gear_numbers(root):
        if problem := number_problem(text, 1):
            yield Finding('error', f'transmission <{element.tag}> (line {element.line})', problem,
                          'give one finite number')


def _named_findings(root: Element, tag: str) -> Iterator[Finding]:
    seen: dict[str, Element] = {}
    for element in root.findall(tag):
        yield from shape_findings(element, element)
        name = element.get('name')
        if name and name in seen:
            yield Finding('error', place(element),
                          f'the {tag} name is used twice, first on line {seen[name].line}',
                          f'rename one of the two {tag}s')
        seen.setdefault(name, element)


def _joint_findings(joint: Element, links: dict[str, None]) -> Iterator[Finding]:
    kind = joint.get('type')
    if kind and kind not in JOINT_KINDS:
        yield Finding('error', place(joint), f'unknown joint type {quoted(kind)}',
                      'use one of: ' + ', '.join(JOINT_KINDS))
    for tag in ('parent', 'child'):
        end = joint.at(tag)
        name = end.get('link')
        if name and name not in links:
            yield Finding('error', place(joint, end),
                          f'there is no link {quoted(name)}',
                          'the links are: ' + choices(links, name))
    axis = joint.find('axis')
    if axis is not None and kind in AXIS_KINDS:
        text = axis.get('xyz')
        if not number_problem(text, 3) and not any(numbers(text)):
            yield Finding('error', place(joint, axis),
                          'the axis is zero', 'give a direction, e.g. xyz="0 0 1"')
    independent = joint.get('independent', 'true')
    if independent not in ('true', 'false'):
        yield Finding('error', place(joint), f'independent is {quoted(independent)}',
                      'write independent="true" or "false"')


def _tree_findings(
        root: Element, links: dict[str, None], joints: list[Element]) -> Iterator[Finding]:
    """Find links with two parents, links on a cycle, links hanging on nothing."""
    parent_joint: dict[str, Element] = {}
    children: dict[str, list[str]] = {}
    for joint in joints:
        parent, child = (joint.at(tag).get('link') for tag in ('parent', 'child'))
        if parent not in links or child not in links:
            continue
        if child in parent_joint:
            yield Finding('error', place(joint),
                          f'the link {quoted(child)} already hangs on joint '
                          f'{quoted(parent_joint[child].get("name"))}',
                          'a link has one parent; close a loop with URDF+ <loop> instead')
            continue
        parent_joint[child] = joint
        children.setdefault(parent, []).append(child)
    roots = [name for name in links if name not in parent_joint]
    if len(roots) > 1:
        yield Finding('error', place(root),
                      f'the links are not connected: {len(roots)} of them have no parent joint: '
                      + choices(map(quoted, roots)), 'connect all but one by a joint')
    reached = set()
    waiting = list(roots)
    while waiting:
        link = waiting.pop()
        reached.add(link)
        waiting.extend(children.get(link, ()))
    for ring in _rings([name for name in links if name not in reached], parent_joint):
        yield Finding('error', place(parent_joint[ring[0]]),
                      'the joints form a cycle through the links ' + choices(map(quoted, ring)),
                      'a URDF is a tree; close a loop with URDF+ <loop> instead')


def _rings(lost: list[str], parent_joint: dict[str, Element]) -> Iterator[list[str]]:
    """Yield the cycles among links that no root reaches, each once."""
    done: set[str] = set()
    for start in lost:
        path: dict[str, None] = {}
        link = start
        while link not in done and link not in path:
            path[link] = None
            link = parent_joint[link].at('parent').get('link')
        if link in path:
            ring = list(path)
            yield ring[ring.index(link):]
        done.update(path)


def _mimic_findings(joints: list[Element]) -> Iterator[Finding]:
    by_name = {joint.get('name'): joint for joint in joints}
    leader = {}
    for joint in joints:
        mimic = joint.find('mimic')
        if mimic is None or joint.get('type') == 'fixed':
            continue
        name = mimic.get('joint')
        where = place(joint, mimic)
        if joint.get('type') not in SCALAR_KINDS:
            yield Finding('error', where, f'a {joint.get("type")[:40]} joint cannot mimic',
                          'mimic is for ' + ', '.join(SCALAR_KINDS))
        elif name and name not in by_name:
            yield Finding('error', where, f'there is no joint {quoted(name)} to follow',
                          'the joints are: ' + choices(by_name, name))
        elif name and by_name[name].get('type') not in SCALAR_KINDS:
            yield Finding('error', where, f'the joint {quoted(name)} it follows is '
                          f'{quoted(by_name[name].get("type"))}',
                          'follow a joint of type ' + ', '.join(SCALAR_KINDS))
        elif name:
            leader[joint.get('name')] = name
    settled: set[str] = set()
    for start in leader:
        path: dict[str, None] = {}
        name = start
        while name in leader and name not in settled and name not in path:
            path[name] = None
            name = leader[name]
        if name in path:
            yield Finding('error', place(by_name[name]),
                          'mimic goes round in a circle: ' + choices(map(quoted, path)),
                          'let one of these joints follow none')
        settled.update(path)


def _closure_findings(
        element: Element, links: dict[str, None],
        kinds: tuple[str, ...] | None) -> Iterator[Finding]:
    kind = element.get('type')
    if kinds and kind and kind not in kinds:
        yield Finding('error', place(element), f'unknown loop type {quoted(kind)}',
                      'use one of: ' + ', '.join(kinds))
    for tag in ('predecessor', 'successor'):
        end = element.at(tag)
        name = end.get('link')
        if name and name not in links:
            yield Finding('error', place(element, end),
                          f'there is no link {quoted(name)}',
                          'the links are: ' + choices(links, name))
    axis = element.find('axis')
    if axis is not None and not number_problem(axis.get('xyz'), 3) \
            and not any(numbers(axis.get('xyz'))):
        yield Finding('error', place(element, axis), 'the axis is zero',
                      'give a direction, e.g. xyz="0 0 1"')
