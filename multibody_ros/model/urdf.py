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

"""Read a URDF (and URDF+) into a Model: the only place that knows the file format's meaning."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any, Sequence
from xml.etree import ElementTree

from .document import Element, parse, Source
from .finding import quoted
from .model import (
    Attachment, Coupling, IDENTITY, Joint, Link, Loop, Mimic, Model, ModelError, Vec3, ZERO)
from .rigid import link_parameters, rotation_rpy, unit
from .schema import (
    LARGEST_NUMBER, NO_LIMIT, NUMBERS, numbers, READ, REQUIRED_ATTRIBUTES)
from .structure import structural_findings
from .transmission import gears

FLOATING_BASE = 'floating_base'
GRAVITY: Vec3 = (0.0, 0.0, -9.81)


def read_urdf(
        source: Source, floating_base: bool = False,
        gravity: Sequence[float] = GRAVITY) -> Model:
    """
    Return the model of a URDF given as a path or as XML text.

    With `floating_base` the file's root link hangs by a floating joint `floating_base` on a new
    root link, `world` (or `world_1`, ... where the file has a link of that name).
    """
    try:
        g = tuple(float(x) for x in gravity)
    except (TypeError, ValueError):
        g = ()
    if len(g) != 3 or not all(map(math.isfinite, g)):
        raise ValueError(f'gravity must be three finite numbers in m/s^2, not {gravity!r}')
    root = parse(source)
    return model_of(root, floating_base, g)


def model_of(root: Element, floating_base: bool, gravity: Vec3) -> Model:
    """Return the model of a parsed URDF; ModelError tells the first thing that is wrong."""
    for finding in structural_findings(root):
        raise ModelError(f'URDF {quoted(root.get("name"))}: {finding}')
    model = _model(root, gravity)
    return _with_floating_base(model) if floating_base else model


def _model(root: Element, gravity: Vec3) -> Model:
    # Imported here because it takes longer (it imports yaml) than reading a robot.
    from urdf_parser_py.urdf import Robot
    from urdf_parser_py.xml_reflection.core import ParseError, Path

    node = _clean(root)
    try:
        robot = Robot.from_xml(node, Path('robot', tree=ElementTree.ElementTree(node)))
    except ParseError as error:
        raise ModelError(f'URDF {quoted(root.get("name"))}: {error}') from None
    independent = {e.get('name'): e.get('independent') or None for e in root.findall('joint')}
    gear = gears(root)
    mimic = _root_mimics({j.name: j.mimic for j in robot.joints if j.mimic is not None})
    links = {link.name: _link(link) for link in robot.links}
    joints = [_joint(j, mimic.get(j.name), gear.get(j.name), independent[j.name])
              for j in robot.joints]
    ordered_links, ordered_joints = _depth_first(links, joints)
    return Model(
        name=robot.name, links=ordered_links, joints=ordered_joints, gravity=gravity,
        loops=tuple(_loop(e) for e in root.findall('loop')),
        couplings=tuple(_coupling(e) for e in root.findall('coupling')))


def _clean(root: Element) -> ElementTree.Element:
    """Copy what mechanics needs: the parser complains about, or chokes on, anything else."""
    node = _copy(root)
    for element in root:
        if element.tag in ('link', 'joint'):
            node.append(_clean_part(element))
    return node


def _clean_part(element: Element) -> ElementTree.Element:
    node = _copy(element)
    for tag in READ.get(element.tag, ()):
        child = element.find(tag)
        if child is not None and not (tag == 'mimic' and element.get('type') == 'fixed'):
            node.append(_clean_part(child))
    if element.tag == 'limit':
        for attribute in ('effort', 'velocity'):
            node.attrib.setdefault(attribute, 'inf')
        for attribute, text in node.attrib.items():
            if abs(float(text)) >= NO_LIMIT:
                node.attrib[attribute] = '-inf' if text.lstrip().startswith('-') else 'inf'
        if 'lower' not in node.attrib and 'upper' not in node.attrib:
            node.attrib.update(lower='-inf', upper='inf')
    return node


def _copy(element: Element) -> ElementTree.Element:
    known = (*REQUIRED_ATTRIBUTES.get(element.tag, ()), *NUMBERS.get(element.tag, {}))
    # An empty number is absent: the parser would fail on it.
    return ElementTree.Element(
        element.tag, {k: element.attrib[k] for k in known if element.get(k).strip()})


def _origin(pose: Any) -> tuple[Any, Vec3]:
    if pose is None:
        return IDENTITY, ZERO
    rotation = rotation_rpy(pose.rpy) if pose.rpy else IDENTITY
    return rotation, tuple(pose.xyz or ZERO)


def _link(link: Any) -> Link:
    inertial = link.inertial
    if inertial is None:
        return Link(link.name)
    R, com = _origin(inertial.origin)
    inertia = inertial.inertia.to_matrix() if inertial.inertia else ((0.0,) * 3,) * 3
    return Link(link.name, link_parameters(inertial.mass, com, inertia, R))


def _joint(
        joint: Any, mimic: Mimic | None, gear: tuple[float, float] | None,
        independent: str | None) -> Joint:
    R, p = _origin(joint.origin)
    result = Joint(
        joint.name, joint.type, joint.parent, joint.child, rotation=R, position=p, mimic=mimic,
        independent=None if independent is None else independent == 'true')
    if joint.axis is not None and joint.type not in ('fixed', 'floating'):
        result = replace(result, axis=unit(joint.axis))
    if joint.limit is not None and joint.type != 'fixed':
        bounded = joint.type in ('revolute', 'prismatic')
        result = replace(
            result, velocity=joint.limit.velocity, effort=joint.limit.effort,
            lower=joint.limit.lower if bounded else -math.inf,
            upper=joint.limit.upper if bounded else math.inf)
    if joint.dynamics is not None and joint.type != 'fixed':
        result = replace(result, damping=joint.dynamics.damping or 0.0,
                         friction=joint.dynamics.friction or 0.0)
    if gear is not None:
        result = replace(result, gear_ratio=gear[0], rotor_inertia=gear[1])
    return result


def _root_mimics(mimics: dict[str, Any]) -> dict[str, Mimic]:
    """Follow chains of mimic joints: x = m1 (m2 q + b2) + b1 is again multiplier and offset."""
    result: dict[str, Mimic] = {}
    for name in mimics:
        chain = []
        while name in mimics and name not in result:
            chain.append(name)
            name = mimics[name].joint
        leader = result.get(name, Mimic(name))
        for follower in reversed(chain):
            tag = mimics[follower]
            multiplier = 1.0 if tag.multiplier is None else tag.multiplier
            leader = Mimic(leader.joint, multiplier * leader.multiplier,
                           multiplier * leader.offset + (tag.offset or 0.0))
            if max(abs(leader.multiplier), abs(leader.offset)) > LARGEST_NUMBER:
                raise ModelError(f'joint {quoted(follower)} follows {quoted(leader.joint)} '
                                 f'{leader.multiplier:g} times as fast: too large')
            result[follower] = leader
    return result


def _depth_first(
        links: dict[str, Link],
        joints: list[Joint]) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    root = (links.keys() - {joint.child for joint in joints}).pop()
    ordered_links, ordered_joints = [links[root]], []
    waiting = children.get(root, [])[::-1]
    while waiting:
        joint = waiting.pop()
        ordered_joints.append(joint)
        ordered_links.append(links[joint.child])
        waiting.extend(reversed(children.get(joint.child, ())))
    return tuple(ordered_links), tuple(ordered_joints)


def _attachment(end: Element) -> Attachment:
    rpy, xyz = (numbers(end.at('origin').get(key) or '0 0 0') for key in ('rpy', 'xyz'))
    return Attachment(end.get('link'), rotation_rpy(rpy), (xyz[0], xyz[1], xyz[2]))


def _loop(element: Element) -> Loop:
    predecessor, successor = (_attachment(element.at(tag)) for tag in ('predecessor', 'successor'))
    return Loop(element.get('name'), element.get('type'), predecessor, successor,
                unit(numbers(element.at('axis').get('xyz') or '0 0 1')))


def _coupling(element: Element) -> Coupling:
    return Coupling(
        element.get('name'), element.at('predecessor').get('link'),
        element.at('successor').get('link'), numbers(element.at('ratio').get('value'))[0])


def _with_floating_base(model: Model) -> Model:
    root = model.links[0].name
    for joint in model.joints:
        if joint.name == FLOATING_BASE or joint.kind == 'floating' and joint.parent == root \
                and not any(model.links[0].parameters):
            raise ModelError(
                f'URDF {quoted(model.name)}: joint {quoted(joint.name)} is in the way of '
                'floating_base=True; the robot floats already or the name is taken: leave '
                'floating_base off or rename the joint')
    names = {link.name for link in model.links}
    world = next(name for name in ('world', *(f'world_{i}' for i in range(1, len(names) + 2)))
                 if name not in names)
    return replace(
        model, links=(Link(world), *model.links),
        joints=(Joint(FLOATING_BASE, 'floating', world, root), *model.joints))
