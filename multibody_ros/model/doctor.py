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

"""The model doctor: everything that can be said about a robot file, good and bad."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
import math
from typing import Any, Callable

import numpy as np

from .document import parse, Source
from .file_check import file_findings
from .finding import Finding, place
from .inertia_check import inertia_findings, triangle_margin
from .joint_check import follower_findings
from .mobility_check import COUNTED, examine_mobility
from .model import COORDINATES, Joint, Link, Model, ModelError, Vec3
from .motion_check import Examinable, examine_motion, LARGEST
from .report import Report
from .structure import structural_findings
from .urdf import FLOATING_BASE, GRAVITY, model_of

#: equations that close a loop of each kind (theory.md section 6)
LOOP_EQUATIONS = {'revolute': 5, 'continuous': 5, 'prismatic': 5, 'fixed': 6, 'spherical': 3,
                  'universal': 4, 'cylindrical': 4, 'planar': 3, 'floating': 0}
#: errors of structure that are told one by one
TOLD = 200


def examine(source: Source) -> Report:
    """Return the report on a URDF (path or text) from its text alone; never raises ModelError."""
    return _examine(source, None)[0]


def unreadable(error: ModelError) -> Report:
    """Return the report on a file that is no XML."""
    finding = Finding('error', 'file', str(error), 'nothing else could be examined')
    return Report((finding,), readable=False)


def diagnose(
        source: Source, load: Callable[[], Examinable], model: Model | None = None) -> Report:
    """
    Return the full report; `load` gives the robot when the file turns out to be readable.

    `model` is what was read from the source, if with a floating base or another gravity.
    """
    report, places = _examine(source, model)
    if not report.readable:
        return report
    if report.summary['nv'] > LARGEST:
        return report.extended([Finding(
            'note', 'robot', f'more than {LARGEST} velocities: mass matrix and gravity were not '
            'examined')])
    try:
        robot = load()
        motion = examine_motion(robot, places)
        report = examine_mobility(robot, report)
    except ModelError as error:
        return replace(report, readable=False).extended([Finding('error', 'robot', str(error))])
    return replace(
        report.extended(motion.findings), mass_matrix=motion.mass_matrix, joints=tuple(
            {**row, 'gravity': motion.gravity.get(row['joint'])} for row in report.joints))


def _examine(source: Source, model: Model | None) -> tuple[Report, dict[str, str]]:
    """Return the report from the text alone, and joint name -> its element for a human."""
    try:
        root = parse(source)
    except ModelError as error:
        return unreadable(error), {}
    errors = list(islice(structural_findings(root), TOLD))
    findings = list(errors)
    if root.tag == 'robot':
        findings += file_findings(root)
        findings += inertia_findings(root)
    places = {joint.get('name'): place(joint) for joint in root.findall('joint')}
    places.setdefault(FLOATING_BASE, f'joint {FLOATING_BASE!r}')
    if len(errors) == TOLD:
        findings.append(Finding('note', 'file', f'more errors may follow the first {TOLD}'))
    if not errors and model is None:
        try:
            model = model_of(root, False, GRAVITY)
        except ModelError as error:
            findings.append(Finding('error', 'robot', str(error)))
    if errors or model is None:
        return Report(readable=False).extended(findings), places
    findings += follower_findings(model, places)
    findings += _gravity_findings(model.gravity)
    if model.loops:
        findings.append(COUNTED)
    report = Report(
        summary=_summary(model), links=tuple(map(_link_row, model.links)),
        joints=tuple(map(_joint_row, model.joints)))
    return report.extended(findings), places


def _gravity_findings(gravity: Vec3) -> list[Finding]:
    strength = math.hypot(*gravity)
    if strength == 0.0:
        return [Finding('note', 'gravity', 'is zero')]
    if not 1.0 < strength < 30.0:
        return [Finding('warning', 'gravity', f'is {strength:.4g} m/s^2',
                        'check the unit: 9.81 m/s^2 on Earth')]
    if gravity[2] > 0.5 * strength:
        return [Finding('note', 'gravity', 'points along +z of the root link: up, unless the '
                        'robot hangs from a ceiling')]
    return []


def _summary(model: Model) -> dict[str, Any]:
    moving = [j for j in model.joints if j.kind != 'fixed' and j.mimic is None]
    nq, nv = (sum(COORDINATES[j.kind][k] for j in moving) for k in (0, 1))
    closed = sum(LOOP_EQUATIONS[loop.kind] for loop in model.loops) + len(model.couplings)
    return {
        'robot': model.name,
        'links': len(model.links),
        'joints': dict(Counter(joint.kind for joint in model.joints)),
        'nq': nq,
        'nv': nv,
        'mobility': nv - closed,
        'total_mass': float(sum(link.parameters[0] for link in model.links)),
        'moving_mass': _moving_mass(model),
        'gravity': list(model.gravity),
        'used': {
            'damping': sum(j.damping != 0.0 for j in model.joints),
            'friction': sum(j.friction != 0.0 for j in model.joints),
            'rotor_inertia': sum(j.rotor_inertia != 0.0 for j in model.joints),
            'mimic': sum(j.mimic is not None for j in model.joints),
        },
        'loops': [loop.name for loop in model.loops],
        'couplings': [coupling.name for coupling in model.couplings],
    }


def _moving_mass(model: Model) -> float:
    """Return the mass of the links that some joint moves, kg."""
    still = {model.links[0].name}
    for joint in model.joints:
        if joint.kind == 'fixed' and joint.parent in still:
            still.add(joint.child)
    return float(sum(link.parameters[0] for link in model.links if link.name not in still))


def _link_row(link: Link) -> dict[str, Any]:
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = link.parameters
    if not any(link.parameters):
        return {'link': link.name, 'mass': 0.0, 'centre': None, 'principal_moments': None,
                'triangle_margin': None}
    com = np.array([hx, hy, hz]) / m if m else np.zeros(3)
    I_o = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    I_c = I_o - m * (com @ com * np.eye(3) - np.outer(com, com))
    # What is left of a point mass after subtracting is rounding.
    I_c[np.abs(I_c) < 1e-14 * np.abs(I_o).max()] = 0.0
    return {
        'link': link.name, 'mass': m, 'centre': com.tolist(),
        'principal_moments': np.linalg.eigvalsh(I_c).tolist(),
        'triangle_margin': triangle_margin(I_c) if np.any(I_c) else None,
    }


def _joint_row(joint: Joint) -> dict[str, Any]:
    mimic = joint.mimic
    row = {
        'joint': joint.name, 'type': joint.kind, 'parent': joint.parent, 'child': joint.child,
        'axis': None if joint.kind == 'floating' else list(joint.axis),
        'lower': joint.lower, 'upper': joint.upper, 'velocity': joint.velocity,
        'effort': joint.effort, 'gravity': None, 'damping': joint.damping,
        'friction': joint.friction, 'gear_ratio': joint.gear_ratio,
        'rotor_inertia': joint.rotor_inertia, 'mimic': None if mimic is None else {
            'joint': mimic.joint, 'multiplier': mimic.multiplier, 'offset': mimic.offset},
    }
    if joint.kind == 'fixed':
        row.update(dict.fromkeys(list(row)[4:]))
    return row
