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

"""JointState as bytes: what rclpy writes is read, what we write rclpy reads."""

from hypothesis import given, settings, strategies as st
from multibody_ros import load_urdf
from multibody_ros.nodes.messages import JointMap, MessageError
from multibody_ros.nodes.wire import FIELDS, Layout, Reader, Writer
from multibody_ros.resources import resource
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

# what rclpy loads for the first message uses an old module of Python's
pytestmark = pytest.mark.filterwarnings('ignore:module .sre_:DeprecationWarning')
NUMBERS = st.lists(st.floats(allow_nan=False), max_size=9)
NAMES = st.lists(st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs'])),
                 max_size=9)


def message(names=(), frame='', sec=0, nanosec=0, **fields):
    result = JointState(name=list(names), **fields)
    result.header.frame_id = frame
    result.header.stamp.sec, result.header.stamp.nanosec = sec, nanosec
    return result


@settings(max_examples=300)
@given(NAMES, st.text('ab_/', max_size=9), st.integers(0, 2 ** 31 - 1),
       st.integers(0, 10 ** 9 - 1), NUMBERS, NUMBERS, NUMBERS)
def test_reads_what_rclpy_writes(names, frame, sec, nanosec, position, velocity, effort):
    read = Reader()
    ours = {'position': position, 'velocity': velocity, 'effort': effort}
    for _ in range(2):      # as a stranger, and as one like the last
        ns, arrived = read(serialize_message(message(names, frame, sec, nanosec, **ours)))
        assert ns == sec * 10 ** 9 + nanosec
        assert list(arrived.name) == names
        assert {field: list(getattr(arrived, field)) for field in FIELDS} == ours


@pytest.mark.parametrize('other', [
    message(['a', 'c'], position=[1.0, 2.0]), message(['a', 'b'], effort=[1.0, 2.0]),
    message(['a', 'b'], velocity=[1.0, 2.0]), message(['b', 'a'], position=[1.0, 2.0]),
    message(['ab', ''], position=[1.0, 2.0]), message(['a', 'b'], 'x', position=[1.0, 2.0]),
    message(['a', 'b', 'c'], position=[1.0]), message(['a'], position=[1.0, 2.0, 3.0]), message(),
    message(['a', 'b'], position=[1.0], velocity=[2.0])],
    ids=lambda m: f'{m.name}{m.position.tolist()}{m.velocity.tolist()}{m.header.frame_id}')
def test_a_message_that_looks_otherwise_is_not_taken_for_the_last_one(other):
    read = Reader()
    usual = message(['a', 'b'], position=[1.0, 2.0])
    for expected in (usual, other, usual, other, other):
        _, arrived = read(serialize_message(expected))
        assert list(arrived.name) == expected.name
        for field in FIELDS:
            assert list(getattr(arrived, field)) == list(getattr(expected, field))


@settings(max_examples=200)
@given(NAMES, st.sets(st.sampled_from(FIELDS)), st.integers(0, 2 ** 31 * 10 ** 9 - 1), st.data())
def test_rclpy_reads_what_we_write(names, fields, ns, data):
    fields = sorted(fields)
    write = Writer(names, fields)
    for _ in range(2):
        values = {field: data.draw(st.lists(st.floats(allow_nan=False), min_size=len(names),
                                            max_size=len(names))) for field in fields}
        read = deserialize_message(write(ns, [np.array(x) for x in values.values()]), JointState)
        assert read == message(names, '', *divmod(ns, 10 ** 9), **values)


def test_what_is_cut_off_is_not_read():
    data = serialize_message(message(['a', 'bcd'], 'base', position=[1.0, 2.0], effort=[3.0, 4.0]))
    _, start, count = Layout(data).places['effort']
    for size in range(start + 8 * count):
        with pytest.raises(ValueError, match='no JointState|encoding'):
            Layout(data[:size])
    # more names than there can be: behind the frame's length and its five bytes
    with pytest.raises(ValueError, match='no JointState'):
        Layout(data[:24] + b'\xff' * 4 + data[28:])


def test_another_encoding_goes_through_rclpy():
    data = serialize_message(message(['a'], sec=3, position=[1.0]))
    with pytest.raises(ValueError, match='another encoding'):
        Layout(b'\x00\x00' + data[2:])


def test_where_rclpy_encodes_otherwise_messages_are_sent_as_objects(monkeypatch):
    joints = JointMap(load_urdf(resource('urdf/planar_2r.urdf')))

    def refuse(*_):
        raise ValueError('another encoding')

    monkeypatch.setattr('multibody_ros.nodes.messages.Writer', refuse)
    for k in range(2):
        sent = joints.encoded(10 ** 9 + k, effort=np.array([1.0, float(k)]))
        assert isinstance(sent, JointState)
        assert (sent.header.stamp.sec, sent.header.stamp.nanosec) == (1, k)
        assert list(sent.effort) == [1.0, k]


def test_numbers_come_in_the_robots_order_and_finite():
    joints = JointMap(load_urdf(resource('urdf/planar_2r.urdf')))
    read = Reader()
    first, second = joints.names
    for names, efforts, expected in (
            ([first, second], [1.0, 2.0], [1.0, 2.0]), ([second, first], [1.0, 2.0], [2.0, 1.0]),
            (['other', second, first], [9.0, 1.0, 2.0], [2.0, 1.0])):
        for _ in range(2):
            _, arrived = read(serialize_message(message(names, effort=efforts)))
            assert joints.read(arrived, 'effort').tolist() == expected
    for names, efforts, reason in (
            ([first], [1.0], 'joints missing'), ([first, second], [1.0], '1 entries for 2 names'),
            ([first, second], [1.0, np.nan], f'{second!r} is nan'),
            ([first, first], [1.0, 1.0], 'named twice'), ([first, second], [], '0 entries')):
        _, arrived = read(serialize_message(message(names, effort=efforts)))
        with pytest.raises(MessageError, match=reason):
            joints.read(arrived, 'effort')
