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
A log as MCAP: what Foxglove and rosbag2 read.

/joint_states holds positions, velocities and the torques the motors gave; /simulation/<array> the
other arrays as std_msgs/Float64MultiArray, their columns named in the layout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .log import Log

_LINE = '\n' + '=' * 80 + '\n'
_JOINT_STATE = _LINE.join([
    ('std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n'
     'float64[] effort'),
    'MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id',
    'MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec'])
_ARRAY = _LINE.join([
    'std_msgs/MultiArrayLayout layout\nfloat64[] data',
    'MSG: std_msgs/MultiArrayLayout\nstd_msgs/MultiArrayDimension[] dim\nuint32 data_offset',
    'MSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride'])
_PREFIX = '/simulation/'


def write(log: Log, path: Path) -> None:
    """Write a log; robots whose joints have one coordinate each."""
    writer_class = _library('mcap_ros2.writer').Writer
    if log.q_names != log.joint_names:
        raise ValueError('a JointState has one position a joint: a robot with a floating joint '
                         'goes into .npz or .csv')
    with path.open('wb') as file:
        writer = writer_class(file)
        states = writer.register_msgdef('sensor_msgs/msg/JointState', _JOINT_STATE)
        arrays = writer.register_msgdef('std_msgs/msg/Float64MultiArray', _ARRAY)
        others = {name: x for name, x in log.arrays.items() if name not in ('t', 'q', 'v', 'tau')}
        for k, t in enumerate(log.t):
            stamp = round(t * 1e9)
            time = {'log_time': stamp, 'publish_time': stamp, 'sequence': k}
            writer.write_message(topic='/joint_states', schema=states, message={
                'header': {'stamp': {'sec': stamp // 10 ** 9, 'nanosec': stamp % 10 ** 9},
                           'frame_id': ''},
                'name': list(log.joint_names), 'position': log.q[k].tolist(),
                'velocity': log.v[k].tolist(), 'effort': log.tau[k].tolist()}, **time)
            for name, values in others.items():
                row = np.atleast_1d(values[k])
                layout = {'dim': [{'label': name, 'size': len(row), 'stride': len(row)}],
                          'data_offset': 0}
                writer.write_message(topic=_PREFIX + name, schema=arrays,
                                     message={'layout': layout, 'data': row.tolist()}, **time)
        writer.finish()


def read(path: Path) -> Log:
    """Read a log, or any MCAP with /joint_states."""
    from .log import Log
    decoder = _library('mcap_ros2.decoder').DecoderFactory()
    rows: dict[str, list[Any]] = {}
    names: tuple[str, ...] = ()
    with path.open('rb') as file:
        reader = _library('mcap.reader').make_reader(file, decoder_factories=[decoder])
        for _, channel, _, message in reader.iter_decoded_messages():
            if channel.topic == '/joint_states':
                names = tuple(message.name)
                stamp = message.header.stamp
                rows.setdefault('t', []).append(stamp.sec + 1e-9 * stamp.nanosec)
                for name, values in (('q', message.position), ('v', message.velocity),
                                     ('tau', message.effort)):
                    rows.setdefault(name, []).append(list(values))
            elif channel.topic.startswith(_PREFIX):
                rows.setdefault(channel.topic[len(_PREFIX):], []).append(list(message.data))
    if 't' not in rows:
        raise ValueError(f"'{path}' has no messages on /joint_states")
    return Log(names, names, {name: np.array(values) for name, values in rows.items()})


def _library(name: str) -> Any:
    from importlib import import_module
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError('MCAP files need the package mcap-ros2-support: '
                          "pip install 'multibody_ros[record]'") from error
