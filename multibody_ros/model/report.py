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

from dataclasses import asdict, dataclass, field
import json
import math
from typing import Any

from .finding import Finding

SEVERITIES = ('error', 'warning', 'note')
COLOURS = {'error': '\033[31m', 'warning': '\033[33m', 'note': '\033[36m'}
RESET = '\033[0m'


@dataclass(frozen=True)
class Report:
    """What the doctor found (errors first) and the data it was read from."""

    findings: tuple[Finding, ...] = ()
    #: False when the file cannot be loaded at all
    readable: bool = True
    #: name, counts, total mass (kg), gravity, mobility, loops
    summary: dict[str, Any] = field(default_factory=dict)
    #: one row a link: mass (kg), centre of mass (m), principal moments (kg m^2), triangle margin
    links: tuple[dict[str, Any], ...] = ()
    #: one row a joint, limits and coefficients as they were read, SI units
    joints: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether there are no errors."""
        return not self.count('error')

    def count(self, severity: str) -> int:
        """Return how many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def extended(self, findings: list[Finding]) -> Report:
        """Return the report with more findings in it."""
        merged = sorted((*self.findings, *findings),
                        key=lambda finding: SEVERITIES.index(finding.severity))
        return Report(tuple(merged), self.readable, self.summary, self.links, self.joints)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is infinite (no limit) becomes None."""
        return {
            'ok': self.ok, 'readable': self.readable, 'summary': _plain(self.summary),
            'findings': [asdict(finding) for finding in self.findings],
            'links': _plain(self.links), 'joints': _plain(self.joints)}

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_text(self, colour: bool = False) -> str:
        """Return the report for a terminal."""
        parts = []
        if self.summary:
            parts.append('\n'.join(f'{key}: {_cell(value)}'
                                   for key, value in self.summary.items()))
        parts += [_table(rows) for rows in (self.links, self.joints) if rows]
        if self.findings:
            parts.append('\n'.join(
                line for finding in self.findings for line in _lines(finding, colour)))
        counts = ', '.join(f'{self.count(s)} {s}{"" if self.count(s) == 1 else "s"}'
                           for s in SEVERITIES)
        parts.append(counts + ('' if self.readable else ': the file cannot be loaded'))
        return '\n\n'.join(parts)

    def __str__(self) -> str:
        """Return the report for a terminal, without colours."""
        return self.to_text()


def _lines(finding: Finding, colour: bool) -> list[str]:
    label = f'{finding.severity.upper():<7}'
    if colour:
        label = COLOURS[finding.severity] + label + RESET
    lines = [f'{label} {_printable(finding.element)}: {_printable(finding.message)}']
    if finding.advice:
        lines.append(f'        -> {_printable(finding.advice)}')
    return lines


def _table(rows: tuple[dict[str, Any], ...]) -> str:
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return '\n'.join(
        '  '.join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for line in cells)


def _cell(value: Any) -> str:
    if value is None:
        return '-'
    if isinstance(value, float):
        return f'{value:.4g}'
    if isinstance(value, (tuple, list)):
        return ' '.join(map(_cell, value)) or 'none'
    return _printable(str(value))


def _printable(text: str) -> str:
    """Keep names from steering the terminal."""
    return ''.join(c if c.isprintable() else '?' for c in text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
