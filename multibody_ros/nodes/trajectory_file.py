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

"""Joint trajectories from files: YAML, or CSV as spreadsheets and loggers write it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

FIELDS = ('positions', 'velocities', 'accelerations', 'effort')
#: the latest time in s that a message can hold
LATEST = 2**31 - 1


def read_trajectory(path: Path) -> JointTrajectory:
    """
    Return the trajectory of a file as a message; errors name file and place.

    YAML: joint_names, and points with time_from_start in s, positions and, where wanted,
    velocities, accelerations, effort. CSV: a column `time` in s and one column a joint, named as
    the joint; columns such as joint1.velocities hold the other fields.
    """
    if not path.is_file():
        raise ValueError(f'no file {str(path)!r}')
    readers = {'.yaml': _read_yaml, '.yml': _read_yaml, '.csv': _read_csv}
    if path.suffix not in readers:
        raise ValueError(f'{path.name} must end in one of: ' + ', '.join(readers))
    try:
        names, points = readers[path.suffix](path)
        return _message(names, points)
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        text = f'{error.args[0]} is missing' if isinstance(error, KeyError) else error
        raise ValueError(f'{path.name}: {text}') from None


def _read_yaml(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    content = yaml.safe_load(path.read_text(encoding='utf-8'))
    if not isinstance(content, dict):
        raise ValueError('must hold joint_names and points')
    return [str(name) for name in content['joint_names']], list(content['points'])


def _read_csv(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    # spreadsheets put a byte order mark in front, which is no part of the first name
    with path.open(newline='', encoding='utf-8-sig') as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    if not rows:
        raise ValueError('has no rows below the header')
    columns = [name for name in rows[0] if name and name != 'time']
    joints = [name for name in columns if not name.endswith(tuple(f'.{f}' for f in FIELDS))]
    if not joints:
        raise ValueError('has no column named as a joint, only: '
                         + ', '.join(name for name in rows[0] if name))
    points: list[dict[str, Any]] = []
    for row in rows:
        point: dict[str, Any] = {'time_from_start': float(row['time']),
                                 'positions': [float(row[name]) for name in joints]}
        for field in FIELDS[1:]:
            if any(f'{name}.{field}' in row for name in joints):
                point[field] = [float(row[f'{name}.{field}']) for name in joints]
        points.append(point)
    return joints, points


def _message(names: list[str], points: list[dict[str, Any]]) -> JointTrajectory:
    message = JointTrajectory(joint_names=names)
    for k, given in enumerate(points):
        t = float(given['time_from_start'])
        if not 0.0 <= t < LATEST:
            raise ValueError(f'point {k}: time_from_start is {t} s, not within 0 to {LATEST}')
        sec, nanosec = divmod(round(t * 1e9), 1_000_000_000)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        for field in FIELDS:
            numbers = [float(x) for x in given.get(field, [])]
            if len(numbers) not in ((len(names),) if field == 'positions' else (0, len(names))):
                raise ValueError(f'point {k}: {len(numbers)} {field} for {len(names)} joints')
            for name, number in zip(names, numbers):
                if not math.isfinite(number):
                    raise ValueError(f'point {k}: {field} of joint {name!r} is {number}')
            setattr(point, field, numbers)
        message.points.append(point)
    if not message.points:
        raise ValueError('has no points')
    return message
