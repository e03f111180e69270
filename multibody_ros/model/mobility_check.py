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

"""How freely a mechanism with loops really moves: from the rank of its equations."""

from __future__ import annotations

from dataclasses import replace

from .finding import Finding
from .model import ModelError
from .motion_check import Examinable
from .report import Report

#: what stands in the report as long as only equations have been counted
COUNTED = Finding('note', 'mobility', 'is counted with every loop in space; planar and other '
                  'special mechanisms move more freely than that')


def examine_mobility(robot: Examinable, report: Report) -> Report:
    """Return the report with the true mobility of a robot that has constraints."""
    if not robot.constraints:
        return report
    try:
        found = robot.mobility()
    except ModelError as error:
        return report.extended([Finding(
            'warning', 'constraints', str(error), 'give the links lengths that close the loops')])
    rest = [finding for finding in report.findings if finding is not COUNTED]
    summary = {
        **report.summary, 'mobility': found.freedoms, 'gruebler': found.gruebler,
        'gruebler_planar': found.gruebler_planar, 'equations': found.equations,
        'rank': found.rank, 'redundant': [list(pair) for pair in found.redundant]}
    return replace(report, findings=tuple(rest), summary=summary)
