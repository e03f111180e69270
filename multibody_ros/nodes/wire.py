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
JointState as it goes over the wire (CDR), written and read in place.

rclpy makes an object of every message and of every name in it, which takes longer than a step of
the simulation and the law together. In the control loop only the stamp and the numbers change from
message to message; the rest is compared with that of the last one, as bytes. What is encoded
otherwise goes through rclpy.
"""

from __future__ import annotations

from struct import error as StructError, pack_into, unpack_from
from typing import Any, Iterable, Sequence

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

FIELDS = ('position', 'velocity', 'effort')
#: plain CDR, little endian; behind it the stamp, then the header's frame
_ENCAPSULATION, _STAMP, _FRAME = b'\x00\x01', 4, 12


class Layout:
    """Where the names and numbers of a message are."""

    def __init__(self, data: bytes) -> None:
        """Find them; ValueError where this is no JointState as we know it."""
        if data[:2] != _ENCAPSULATION:
            raise ValueError('another encoding')
        try:
            at = _aligned(_FRAME + 4 + _count(data, _FRAME), 4)
            count, at = _count(data, at), at + 4
            self.names: list[str] = []
            for _ in range(count):
                at = _aligned(at, 4)
                size = _count(data, at)
                self.names.append(data[at + 4:at + 3 + size].decode())
                at += 4 + size
            #: field: (where its length stands, its first number, how many)
            self.places: dict[str, tuple[int, int, int]] = {}
            for field in FIELDS:
                at = _aligned(at, 4)
                count = _count(data, at)
                start = _aligned(at + 4, 8) if count else at + 4
                self.places[field] = at, start, count
                at = start + 8 * count
        except (StructError, UnicodeDecodeError) as error:
            raise ValueError('no JointState') from error
        if at > len(data):
            raise ValueError('no JointState')
        self._head = data[_FRAME:self.places['position'][0] + 4]
        self._length = len(data)

    def fits(self, data: bytes) -> bool:
        """Tell whether a message differs from ours in its stamp and its numbers only."""
        at, _, count = self.places['velocity']
        return (len(data) == self._length and data[_FRAME:_FRAME + len(self._head)] == self._head
                and _count(data, at) == count)


def _count(data: bytes, at: int) -> int:
    return int(unpack_from('<I', data, at)[0])


def _aligned(at: int, size: int) -> int:
    """Return the next place for `size` bytes; places count from behind the first four."""
    return at + -(at - 4) % size


class Arrived:
    """What the loop asks of a JointState: names, and numbers as they lie in the message."""

    __slots__ = ('_data', '_places', 'name')

    def __init__(self, data: bytes, layout: Layout) -> None:
        """Read `data`, which has this layout."""
        self._data, self._places, self.name = data, layout.places, layout.names

    def _numbers(self, field: str) -> Sequence[float]:
        _, start, count = self._places[field]
        if not count:
            return ()
        return memoryview(self._data)[start:start + 8 * count].cast('d')

    @property
    def position(self) -> Sequence[float]:
        """The positions."""
        return self._numbers('position')

    @property
    def velocity(self) -> Sequence[float]:
        """The velocities."""
        return self._numbers('velocity')

    @property
    def effort(self) -> Sequence[float]:
        """The efforts."""
        return self._numbers('effort')


class Reader:
    """Reads the messages of one subscription (`raw=True`), which mostly look the same."""

    def __init__(self) -> None:
        """Know none yet."""
        self._layout: Layout | None = None

    def __call__(self, data: bytes) -> tuple[int, Any]:
        """Return the stamp in ns, and the message or what stands for it."""
        layout = self._layout
        if layout is None or not layout.fits(data):
            try:
                layout = self._layout = Layout(data)
            except ValueError:
                message = deserialize_message(data, JointState)
                stamp = message.header.stamp
                return stamp.sec * 1_000_000_000 + stamp.nanosec, message
        sec, nanosec = unpack_from('<iI', data, _STAMP)
        return sec * 1_000_000_000 + nanosec, Arrived(data, layout)


class Writer:
    """Writes messages that differ in their stamp and their numbers only."""

    def __init__(self, names: list[str], fields: Sequence[str]) -> None:
        """Prepare a message with these fields; ValueError where rclpy encodes otherwise."""
        nothing = [0.0] * len(names)
        data = serialize_message(JointState(name=names, **dict.fromkeys(fields, nothing)))
        places = Layout(data).places
        self._buffer = bytearray(data)
        self._numbers: list[Any] = []
        for field in fields:
            _, start, count = places[field]
            self._numbers.append(memoryview(self._buffer)[start:start + 8 * count].cast('d'))

    def __call__(self, ns: int, values: Iterable[np.ndarray]) -> bytes:
        """Return the message of time `ns` with the `values` of the fields."""
        pack_into('<iI', self._buffer, _STAMP, *divmod(ns, 1_000_000_000))
        for numbers, given in zip(self._numbers, values):
            numbers[:] = given
        return bytes(self._buffer)
