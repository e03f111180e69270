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

"""Hostile text is harmless: a robot or a ModelError comes out, nothing else, and soon."""

import encodings.aliases
import json
import math
import re

from hypothesis import given, settings, strategies
from multibody_ros import load_urdf, ModelError
from multibody_ros.model.doctor import diagnose, examine
import numpy as np
import pytest
from robots import arm, BALL, chain, joint, LIMIT, link, robot, SHIPPED

pytestmark = pytest.mark.timeout(100)
ARM = (SHIPPED / 'arm7.urdf').read_text()
#: every attribute that holds numbers, each with a value of its own
EVERY = robot(
    link('a'), link('b', '<inertial><origin xyz="0.11 0.12 0.13" rpy="0.14 0.15 0.16"/>'
                         '<mass value="1.5"/><inertia ixx="0.31" ixy="0.01" ixz="0.02" '
                         'iyy="0.32" iyz="0.03" izz="0.33"/></inertial>'),
    link('c'), joint('p', 'a', 'b', inside='<origin xyz="0.21 0.22 0.23" rpy="0.24 0.25 0.26"/>'
                     '<axis xyz="0.6 0 0.8"/><limit lower="-1.1" upper="1.2" effort="51" '
                     'velocity="2.1"/><dynamics damping="0.41" friction="0.42"/>'),
    joint('q', 'b', 'c', inside='<mimic joint="p" multiplier="1.7" offset="0.18"/>' + LIMIT),
    '<loop name="l" type="revolute"><predecessor link="c"><origin xyz="0.1 0.2 0.3" '
    'rpy="0.4 0.5 0.6"/></predecessor><successor link="a"/><axis xyz="0 1 0"/></loop>',
    '<coupling name="k"><predecessor link="b"/><successor link="c"/><ratio value="1.9"/>'
    '</coupling>',
    '<transmission name="t"><joint name="p"><mechanicalReduction>55</mechanicalReduction></joint>'
    '<actuator name="m"><rotorInertia>0.0007</rotorInertia></actuator></transmission>')
NUMBERS = [m.span(1) for m in re.finditer(
    r'(?:xyz|rpy|value|i[xyz][xyz]|lower|upper|effort|velocity|damping|friction|multiplier|offset)'
    r'="([^"]*)"', EVERY)] + [m.span(1) for m in re.finditer(r'>([0-9.]+)<', EVERY)]


@pytest.fixture(autouse=True)
def silence(capfd):
    """Nothing is printed, whatever is read."""
    yield
    assert capfd.readouterr() == ('', '')


def attempt(source):
    """Return the robot and no words, or None and the words of the refusal; the doctor agrees."""
    report = examine(source)
    json.loads(report.to_json())
    assert all(c.isprintable() or c == '\n' for c in report.to_text())
    try:
        found = load_urdf(source)
    except ModelError as error:
        assert not report.readable and not report.ok
        assert 0 < len(str(error)) < 3000
        return None, str(error)
    assert report.readable
    return found, ''


def loaded(source):
    """Return the robot, or None where the file is refused."""
    return attempt(source)[0]


def refusal(source):
    """Return the words with which a file is refused."""
    found, words = attempt(source)
    assert found is None
    return words


def numbers_of(model):
    """Yield all numbers of a model but the limits, which may be infinite."""
    for part in model.links:
        yield from part.parameters
    for part in model.joints:
        yield from (*np.ravel(part.rotation), *part.position, *part.axis, part.damping,
                    part.friction, part.rotor_inertia, part.gear_ratio)
        if part.mimic:
            yield from (part.mimic.multiplier, part.mimic.offset)
    for part in model.loops:
        yield from (*part.axis, *np.ravel(part.predecessor.rotation), *part.predecessor.position)
    for part in model.couplings:
        yield part.ratio


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha">' + ''.join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip('abcdefghi', 'bcdefghij')) + ']>'


@pytest.mark.parametrize('text', [
    LAUGHS + robot(link('&j;')),
    LAUGHS + robot(link('a'), '&j;'),
    f'<!DOCTYPE r [<!ENTITY a "{"x" * 100_000}">]>' + robot(link('&a;' * 10_000)),
    '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + robot(link('a'), '&a;'),
    '<!DOCTYPE r [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>' + robot(link('a'), '&a;'),
    '<!DOCTYPE r [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>' + robot(link('a')),
    '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd">' + robot(link('a')),
    '<!DOCTYPE r [<!ATTLIST link name CDATA "default">]>' + robot('<link/>'),
], ids=['laughs in an attribute', 'laughs in text', 'quadratic blowup', 'external file',
        'external address', 'parameter entity', 'remote DTD', 'default attribute'])
@pytest.mark.parametrize('coded', [str, str.encode, lambda text: text.encode('utf-16')],
                         ids=['text', 'UTF-8', 'UTF-16'])
def test_entities_are_refused_before_they_are_read(text, coded):
    assert 'DOCTYPE (line 1)' in refusal(coded(text))


def test_entities_nobody_declared_are_refused_and_those_of_xml_are_read():
    assert 'not well-formed' in refusal(robot(link('&ha;')))
    found = loaded(robot(link('&lt;&amp;&#65;&quot;')))
    assert found.link_names == ('<&A"',)


@pytest.mark.parametrize('filler', [
    '<!--' + '-x' * 5_000_000 + '-->',
    '<material name="' + 'x' * 10_000_000 + '"/>',
    '<material>' + 'x' * 10_000_000 + '</material>',
    '<?note ' + 'x' * 10_000_000 + '?>',
    '<gazebo>' + f'<plugin name="{"p" * 80}"/>\n' * 100_000 + '</gazebo>',
], ids=['comment', 'attribute', 'text', 'instruction', 'elements'])
def test_ten_megabytes_beside_a_robot_change_nothing(filler, tmp_path):
    path = tmp_path / 'large.urdf'
    path.write_text(arm().replace('</robot>', filler + '</robot>'))
    assert loaded(path).model == load_urdf(arm()).model


@pytest.mark.parametrize('text, words', [
    ('<robot name="r">' + '<a/>' * 2_500_000 + '</robot>', 'more than 300000 elements'),
    ('<robot name="r">' + '<a>' * 1_000_000, 'more than 200 deep'),
    (arm('<origin xyz="' + '1 ' * 1_000_000 + '"/>'), '1000000 numbers instead of 3'),
    (arm('<origin xyz="0 0 ' + '1' * 1_000_000 + '"/>'), 'is not finite'),
    (robot(link('a' * 1_000_000), link('b' * 1_000_000)), 'not connected'),
    (robot(*map(link, 'ab'), joint('j', 'a', 'b' * 1_000_000)), "no link 'b"),
    (robot(link('a'), f'<{"x" * 1_000_000} name="y"/>', link('a')), 'used twice'),
    (f'<{"x" * 1_000_000}/>', 'must be <robot>'),
    (robot(*(link(f'a{i}') for i in range(450)),
           *(joint(f'j{i}', f'x{i}', f'y{i}') for i in range(5000))), "no link 'x0'"),
], ids=['elements', 'depth', 'list', 'digits', 'names', 'link', 'tag', 'root', 'errors'])
def test_size_ends_in_a_short_error(text, words):
    assert words in refusal(text)


def test_file_without_end_is_not_read_to_the_end(tmp_path):
    path = tmp_path / 'sparse.urdf'
    with open(path, 'wb') as stream:
        stream.truncate(2 ** 40)
    assert 'larger than 64 MB' in refusal(path)


def test_chain_of_ten_thousand_links_is_read():
    found = loaded(chain(10_000))
    assert found.nv == 10_000 and len(found.link_names) == 10_001


@pytest.mark.parametrize('text, words', [
    (robot(*(link(f'a{i}') for i in range(3000)),
           *(joint(f'j{i}', f'a{i}', f'a{(i + 1) % 3000}') for i in range(3000))), 'cycle'),
    (robot(link('l0'), *(link(f'l{i + 1}') + joint(
        f'j{i}', f'l{i}', f'l{i + 1}', inside=f'<mimic joint="j{(i + 1) % 2000}"/>' + LIMIT)
        for i in range(2000))), 'circle'),
    (robot(link('l0'), *(link(f'l{i + 1}') + joint(
        f'j{i}', f'l{i}', f'l{i + 1}', inside=(
            f'<mimic joint="j{i - 1}" multiplier="1.5"/>' if i else '') + LIMIT)
        for i in range(2000))), 'too large'),
], ids=['cycle', 'mimic circle', 'mimic chain that grows without end'])
def test_long_ways_round_end(text, words):
    assert words in refusal(text)


@pytest.mark.parametrize('bad', [
    'nan', 'NaN', '-nan', 'inf', '-inf', 'Infinity', '1e999', '-1e999', '0x10', '0x1p3', '1,5',
    'one', '1_0', '--1', '1e', '1d3', '&#x661;', '&#x221E;', '1 2', '0 0', '1 2 3 4', '${x}',
    '$(arg x)', ' ', '&#10;'])
def test_what_is_no_number_is_refused_everywhere(bad):
    for start, stop in NUMBERS:
        assert loaded(EVERY[:start] + bad + EVERY[stop:]) is None, EVERY[start - 40:stop]


@pytest.mark.parametrize('number', ['', '1e308', '-1e308', '1e30', '-1e30', '1e-320', '-0', '0'])
def test_extreme_numbers_are_refused_or_stay_finite(number):
    for start, stop in NUMBERS:
        text = ' '.join([number] * max(1, len(EVERY[start:stop].split())))
        found = loaded(EVERY[:start] + text + EVERY[stop:])
        if found is not None:
            assert all(map(math.isfinite, numbers_of(found.model)))
            limits = found.limits
            assert not np.isnan([limits.lower, limits.upper, limits.effort]).any()
            assert np.isfinite(found.random(np.random.default_rng(0))).all()


@pytest.mark.parametrize('old', ['value="1.5"', 'ixx="0.31"', 'lower="-1.1"', 'upper="1.2"',
                                 'xyz="0.11 0.12 0.13"'])
@pytest.mark.parametrize('number', ['-1e30', '1e30', '1e-300'])
def test_dynamics_of_extreme_numbers_are_examined(old, number):
    key, value = old.split('="')
    text = re.sub('<loop.*</coupling>', '', EVERY).replace(
        old, f'{key}="{" ".join([number] * len(value.split()))}"')
    report = diagnose(text, lambda: load_urdf(text))
    assert report.readable and report.findings
    json.loads(report.to_json())


def escaped(text):
    return ''.join(f'&#{ord(c)};' for c in text)


STRANGE = '\t\n\r\x7f\x85\u2028\u202e\u200b\ufeff\u00ad\u0600\u05d0\U0001f916\U000e0001'
LEGAL = strategies.sampled_from(STRANGE) | strategies.characters(
    min_codepoint=0x20, exclude_categories=['Cs'], exclude_characters='\ufffe\uffff')


@settings(derandomize=True, deadline=None, max_examples=150)
@given(strategies.text(LEGAL, min_size=1), strategies.text(LEGAL, min_size=1))
def test_names_of_any_script_are_kept_and_shown_harmlessly(one, other):
    text = f'<robot name="{escaped(one)}">' + link(escaped(one)) + link(escaped(other)) + joint(
        escaped(one), escaped(one), escaped(other)) + '</robot>'
    found = loaded(text)
    if one.strip() and other.strip() and one != other:
        assert (found.name, found.joint_names, found.link_names) == (one, (one,), (one, other))
        assert found.v_index[one] == slice(0, 1)
    else:
        assert found is None


@pytest.mark.parametrize('character', ['\x00', '\x01', '\x1b', '\ufffe', '\ud800', '&#0;',
                                       '&#x1b;', '&#xd800;', '&#xffffffff;', '&#x110000;'])
def test_characters_that_xml_forbids_are_refused(character):
    assert re.search('not well-formed|not valid Unicode', refusal(robot(link(character))))


def test_escape_sequences_in_errors_and_reports_do_not_reach_the_terminal():
    nasty = escaped('\x9b31m\u202e\x85\x7f')
    words = refusal(robot(link(nasty), joint('j', nasty, 'b')))
    assert words.isprintable()


@pytest.mark.parametrize('source', [
    ARM.encode('utf-8-sig'), ARM.encode('utf-16'), ARM.encode('utf-16-le'), ARM.encode(
        'utf-16-be'), '\ufeff' + ARM, b'\n\n' + ARM.encode(), ' \r\n\t' + ARM,
    ARM.replace('?>', ' encoding="latin-1"?>').encode('latin-1'),
    ARM.replace('?>', ' encoding="utf-16"?>'), ARM.replace('?>', ' encoding="utf-8"?>').encode(),
    ARM.replace('\n', '\r\n'), bytearray(ARM.encode())])
def test_encodings_of_one_file_give_one_model(source):
    assert loaded(source).model == load_urdf(ARM).model


@pytest.mark.parametrize('coding, name', [
    ('latin-1', '\xe9paule'), ('iso-8859-5', '\u043b\u043e\u043a\u043e\u0442\u044c'),
    ('windows-1252', '\u20ac'), ('utf-8', '\u8098'), ('utf-16', '\u8098')])
def test_declared_encoding_holds_for_a_file_and_not_for_text(coding, name):
    text = f'<?xml version="1.0" encoding="{coding}"?>' + robot(link(name))
    assert loaded(text.encode(coding)).link_names == (name,)
    assert loaded(text).link_names == (name,)


def test_every_encoding_python_knows_is_read_or_refused():
    plain = load_urdf(arm()).model
    for coding in sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values(), 'x',
                          'undefined', 'idna', 'punycode', '../x'}):
        found = loaded(f'<?xml version="1.0" encoding="{coding}"?>'.encode() + arm().encode())
        assert found is None or found.model == plain or 'ebcdic' in coding


@pytest.mark.parametrize('source', [
    ARM.encode('utf-32'), ARM.encode('utf-7')[::-1],
    ARM.replace('arm7', '\xe9').encode('latin-1'), b'\xff\xfe', b'\xef\xbb\xbf', b'', b'\x00',
    b'<', b'<robot', b'<robot name="r"/><robot name="r"/>', b'<robot name="r"/>trailing', '',
    ' ', '\n', 'no/such/file.urdf', 'robot.urdf\x00', 'x' * 100_000, '\ud800', None, 3,
    ['<robot/>']])
def test_what_is_no_file_and_no_text_is_refused(source):
    refusal(source)


def test_every_truncation_is_refused():
    data = ARM.encode()
    whole = len(data.rstrip())
    for stop in range(0, whole, 3):
        with pytest.raises(ModelError):
            load_urdf(data[:stop])
    assert load_urdf(data[:whole]).model == load_urdf(ARM).model


DATA = ARM.encode()
PLACES = strategies.integers(0, len(DATA) - 1)
EDITS = strategies.lists(
    strategies.tuples(PLACES, strategies.integers(0, 40), strategies.one_of(
        strategies.binary(max_size=4),
        strategies.sampled_from([b'"', b'<', b'>', b'/', b'&', b'\x00', b'\xff', b' ', b'-', b'9',
                                 b'e9', b'nan', b'<!--', b'-->', b'<![CDATA[', b'<link name="x"/>',
                                 b'</robot>', b'<robot>', b'&amp;']),
        PLACES.map(lambda start: DATA[start:start + 60]))), min_size=1, max_size=4)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(EDITS)
def test_random_edits_of_the_bytes_do_no_harm(edits):
    data = DATA
    for start, length, new in edits:
        data = data[:start] + new + data[start + length:]
    loaded(data)


VALUES = [m.span(1) for m in re.finditer('"([^"]*)"', ARM)]
ELEMENTS = re.findall(r'<link.*?</link>|<joint.*?</joint>|<link name="\w+"/>', ARM, re.DOTALL)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(strategies.lists(strategies.tuples(
    strategies.sampled_from(VALUES), strategies.sampled_from(VALUES).map(
        lambda span: ARM[slice(*span)]) | strategies.sampled_from(
            ['', '0', '-1', '1e9', 'fixed', 'floating', 'planar', 'continuous', 'prismatic'])),
    min_size=1, max_size=6, unique_by=lambda edit: edit[0]))
def test_random_exchanges_of_values_do_no_harm(edits):
    text = ARM
    for (start, stop), new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    loaded(text)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(strategies.lists(strategies.sampled_from(ELEMENTS), max_size=20))
def test_random_selections_of_elements_do_no_harm(elements):
    loaded(robot(*elements))


def test_directories_and_devices_are_refused(tmp_path):
    assert 'directory' in refusal(tmp_path).lower()
    assert 'no URDF file' in refusal(tmp_path / 'missing.urdf')


def test_a_robot_without_moving_parts_is_read():
    found = loaded(robot(link('a', BALL)))
    assert (found.nq, found.nv, found.joint_names) == (0, 0, ())
