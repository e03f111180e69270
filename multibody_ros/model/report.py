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

"""The model doctor's report: findings, what was read, as text for a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
import json
import math
from typing import Any, Iterable

from .finding import choices, Finding
from .terminal import printable, table, wrapped

SEVERITIES = ('error', 'warning', 'note')
COLOURS = {'error': '\033[31m', 'warning': '\033[33m', 'note': '\033[36m'}
RESET = '\033[0m'
AXES = {(1.0, 0.0, 0.0): 'x', (0.0, 1.0, 0.0): 'y', (0.0, 0.0, 1.0): 'z',
        (-1.0, 0.0, 0.0): '-x', (0.0, -1.0, 0.0): '-y', (0.0, 0.0, -1.0): '-z'}


@dataclass(frozen=True)
class Report:
    """What the doctor found (errors first) and the data it was read from. SI units."""

    findings: tuple[Finding, ...] = ()
    #: False when the file cannot be loaded at all
    readable: bool = True
    #: name, counts, masses, gravity, mobility (Gruebler's count), what data was used, loops
    summary: dict[str, Any] = field(default_factory=dict)
    #: one row a link: mass, centre of mass, principal moments, triangle margin (I1 + I2 - I3) / I3
    links: tuple[dict[str, Any], ...] = ()
    #: one row a joint: limits and coefficients as they were read, the largest gravity load
    joints: tuple[dict[str, Any], ...] = ()
    #: smallest and largest eigenvalue of M over random configurations; None: not examined
    mass_matrix: dict[str, Any] | None = None

    @property
    def ok(self) -> bool:
        """Tell whether there are no errors."""
        return not self.count('error')

    def count(self, severity: str) -> int:
        """Return how many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def extended(self, findings: Iterable[Finding]) -> Report:
        """Return the report with more findings in it."""
        merged = sorted((*self.findings, *findings),
                        key=lambda finding: SEVERITIES.index(finding.severity))
        return replace(self, findings=tuple(merged))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is infinite (no limit) becomes None."""
        return {
            'ok': self.ok, 'readable': self.readable, 'summary': _plain(self.summary),
            'mass_matrix': _plain(self.mass_matrix),
            'findings': [asdict(finding) for finding in self.findings],
            'links': _plain(self.links), 'joints': _plain(self.joints)}

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_text(self, colour: bool = False) -> str:
        """Return the report for a terminal."""
        parts = [_summary_lines(self.summary, self.mass_matrix), _link_lines(self.links),
                 _joint_lines(self.joints), _finding_lines(self.findings, colour)]
        counts = ', '.join(f'{self.count(s)} {s}{"" if self.count(s) == 1 else "s"}'
                           for s in SEVERITIES)
        parts.append([counts + ('' if self.readable else ': the file cannot be loaded')])
        return '\n\n'.join('\n'.join(part) for part in parts if part)

    def __str__(self) -> str:
        """Return the report for a terminal, without colours."""
        return self.to_text()


def _summary_lines(summary: dict[str, Any], mass_matrix: dict[str, Any] | None) -> list[str]:
    if not summary:
        return []
    kinds = ', '.join(f'{number} {kind}' for kind, number in summary['joints'].items())
    used = ', '.join(f'{name.replace("_", " ")} of {number}'
                     for name, number in summary['used'].items())
    rows = {
        'robot': summary['robot'],
        'links': f'{summary["links"]}, {summary["total_mass"]:.4g} kg, '
                 f'of which {summary["moving_mass"]:.4g} kg move',
        'joints': f'{sum(summary["joints"].values())}' + (kinds and f': {kinds}'),
        'coordinates': f'nq {summary["nq"]}, nv {summary["nv"]}, mobility {summary["mobility"]}',
        'gravity': ' '.join(f'{x:g}' for x in summary['gravity']) + ' m/s^2',
        'used': f'{used} joints',
    }
    if summary['loops'] or summary['couplings']:
        rows['closed by'] = choices((*summary['loops'], *summary['couplings']))
        if 'rank' in summary:
            rows['closed by'] += f': {summary["equations"]} equations of rank {summary["rank"]}'
        if summary.get('redundant'):
            names = choices((f'{name}.{label}' for name, label in summary['redundant']), limit=6)
            rows['redundant'] = f'{names}: forces there are not unique'
    if mass_matrix:
        rows['mass matrix'] = (
            f'eigenvalues {mass_matrix["smallest_eigenvalue"]:.3g} ({mass_matrix["of_joint"]}) to '
            f'{mass_matrix["largest_eigenvalue"]:.3g} in {mass_matrix["configurations"]} random '
            'configurations')
    return [line for key, text in rows.items() for line in wrapped(key, text, 13)]


def _link_lines(links: tuple[dict[str, Any], ...]) -> list[str]:
    rows = [{
        'link': row['link'], 'kg': row['mass'],
        'centre of mass, m': ' '.join(f'{round(x, 3) + 0.0:6.3f}' for x in row['centre']),
        'principal moments, kg m^2': ' '.join(f'{x:8.3g}' for x in row['principal_moments']),
        'triangle': row['triangle_margin']} for row in links if row['centre'] is not None]
    lines = table(rows, 'Links. triangle is (I1 + I2 - I3) / I3; a body cannot have it negative'
                  ) if rows else []
    empty = [row['link'] for row in links if row['centre'] is None]
    if empty:
        lines += wrapped('', 'without mass: ' + choices(empty))
    return lines


def _joint_lines(joints: tuple[dict[str, Any], ...]) -> list[str]:
    rows = [{
        'joint': row['joint'], 'type': row['type'],
        'axis': row['axis'] and AXES.get(
            tuple(row['axis']), ' '.join(f'{x:.3g}' for x in row['axis'])),
        'lower': row['lower'], 'upper': row['upper'], 'speed': row['velocity'],
        'effort': row['effort'], 'gravity': row['gravity'], 'damping': row['damping'],
        'friction': row['friction'], 'rotor': row['gear_ratio'] ** 2 * row['rotor_inertia']}
        for row in joints if row['type'] != 'fixed' and row['mimic'] is None]
    lines = table(rows, 'Joints, in rad and N m or m and N. gravity is the largest load met, '
                  'rotor the reflected inertia', fold=True) if rows else []
    for row in joints:
        if row['mimic'] is not None:
            lines += wrapped('', f'{row["joint"]} follows {_followed(**row["mimic"])}')
    fixed = [row['joint'] for row in joints if row['type'] == 'fixed']
    if fixed:
        lines += wrapped('', 'fixed: ' + choices(fixed))
    return lines


def _followed(joint: str, multiplier: float, offset: float) -> str:
    factor = '' if multiplier == 1.0 else f'{multiplier:.4g} * '
    return factor + joint + (f' {offset:+.4g}' if offset else '')


def _finding_lines(findings: tuple[Finding, ...], colour: bool) -> list[str]:
    """Return the findings, those that say the same about several elements together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        key = finding.severity, finding.message, finding.advice
        groups.setdefault(key, []).append(finding.element)
    lines = []
    for (severity, message, advice), elements in groups.items():
        where = elements[0] if len(elements) == 1 else f'{len(elements)} elements'
        first, *more = wrapped(severity.upper(), f'{where}: {message}', 8)
        if colour:
            first = COLOURS[severity] + first[:8] + RESET + first[8:]
        lines += [first, *more]
        if len(elements) > 1:
            lines += [f'        {printable(element)}' for element in elements[:20]]
        if len(elements) > 20:
            lines.append(f'        ... {len(elements) - 20} more')
        if advice:
            lines += wrapped('     ->', advice, 8)
    return lines


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
