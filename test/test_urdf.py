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

"""What the URDF reader makes of a file."""

import math

from multibody_ros.model.model import Attachment, Coupling, Mimic, ModelError
from multibody_ros.model.urdf import read_urdf
import numpy as np
import pytest
from robots import arm, BALL, each, example_robots, joint, LIMIT, link, robot, shipped

#: files that are broken: mimic of joints that do not exist, a robot without name and links
BROKEN = {'alex_psyonic_hands', 'ur3'}


def only_joint(text):
    (result,) = read_urdf(text).joints
    return result


@pytest.mark.parametrize('path', each(example_robots()))
def test_mass_and_joints_agree_with_pinocchio(path):
    pinocchio = pytest.importorskip('pinocchio')
    if path.stem in BROKEN:
        with pytest.raises(ModelError):
            read_urdf(path)
        return
    model = read_urdf(path)
    other = pinocchio.buildModelFromUrdf(str(path))
    moving = [j.name for j in model.joints if j.kind != 'fixed']
    assert sorted(moving) == sorted(other.names[1:])
    mass = sum(each_link.parameters[0] for each_link in model.links)
    assert mass == pytest.approx(sum(each.mass for each in other.inertias), rel=1e-12)
    friction = {j.name: (j.damping, j.friction) for j in model.joints}
    for name in moving:
        part = other.joints[other.getJointId(name)]
        assert other.damping[part.idx_v] == friction[name][0]
        assert other.friction[part.idx_v] == friction[name][1]


@pytest.mark.parametrize('path', each(shipped()))
def test_shipped_robots_are_read_without_a_word(path, capfd):
    read_urdf(path)
    assert capfd.readouterr() == ('', '')


def test_path_text_and_bytes_give_the_same_model():
    path = shipped()[0]
    model = read_urdf(path)
    for source in (str(path), path.read_text(), path.read_bytes(), '\ufeff\n ' + path.read_text()):
        assert read_urdf(source) == model


def test_order_is_depth_first_with_children_in_document_order():
    model = read_urdf(robot(
        joint('b', 'root', 'y'), joint('deep', 'x', 'z'), joint('a', 'root', 'x'),
        *(link(name) for name in ('z', 'y', 'x', 'root'))))
    assert [j.name for j in model.joints] == ['b', 'a', 'deep']
    assert [part.name for part in model.links] == ['root', 'y', 'x', 'z']


def test_two_unit_masses_give_the_worked_inertia():
    """Theory.md section 1: unit masses at (1,2,0) and (3,2,0)."""
    text = robot(link('a', '<inertial><origin xyz="2 2 0"/><mass value="2"/><inertia ixx="0" '
                      'ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial>'))
    (part,) = read_urdf(text).links
    assert part.parameters == (2.0, 4.0, 4.0, 0.0, 8.0, -8.0, 0.0, 10.0, 0.0, 18.0)


def test_turned_inertia_keeps_its_principal_moments():
    text = robot(link('a', '<inertial><origin rpy="0.3 -0.8 2"/><mass value="1"/><inertia '
                      'ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'))
    xx, xy, xz, yy, yz, zz = read_urdf(text).links[0].parameters[4:]
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert moments == pytest.approx([1, 2, 2.5], rel=1e-14)
    # The first principal axis is the x axis of Rz(2) Ry(-0.8) Rx(0.3).
    x = [math.cos(2) * math.cos(-0.8), math.sin(2) * math.cos(-0.8), -math.sin(-0.8)]
    assert abs(axes[:, 0] @ x) == pytest.approx(1.0, rel=1e-14)


def test_right_angles_are_exact():
    turned = only_joint(arm(f'<origin rpy="{math.pi / 2} {math.pi} {-math.pi / 2}"/>' + LIMIT))
    assert {abs(x) for row in turned.rotation for x in row} == {0.0, 1.0}


def test_axis_defaults_to_x_and_is_normalised():
    assert only_joint(arm()).axis == (1.0, 0.0, 0.0)
    assert only_joint(arm('<axis xyz="0 0 -3"/>')).axis == (0.0, 0.0, -1.0)
    assert math.hypot(*only_joint(arm('<axis xyz="1e-200 2e-200 0"/>')).axis) == pytest.approx(1.0)


def test_axis_of_a_fixed_joint_does_not_matter():
    assert only_joint(arm('<axis xyz="0 0 0"/>', 'fixed')).kind == 'fixed'


@pytest.mark.parametrize('inside, expected', [
    ('', (-math.inf, math.inf, math.inf, math.inf)),
    ('<limit effort="5" velocity="2"/>', (-math.inf, math.inf, 5, 2)),
    ('<limit lower="-1" effort="0" velocity="0"/>', (-1, 0, 0, 0)),
    ('<limit lower="-1" upper="2"/>', (-1, 2, math.inf, math.inf)),
])
def test_absent_limits_are_infinite_and_zero_stays_zero(inside, expected):
    found = only_joint(arm(inside))
    assert (found.lower, found.upper, found.effort, found.velocity) == expected


def test_continuous_joint_has_no_position_limits():
    found = only_joint(arm(LIMIT, 'continuous'))
    assert (found.lower, found.upper, found.effort) == (-math.inf, math.inf, 50)


def test_damping_and_friction_are_read():
    found = only_joint(arm('<dynamics damping="0.5" friction="2"/>'))
    assert (found.damping, found.friction) == (0.5, 2.0)
    assert only_joint(arm('<dynamics friction="2"/>')).damping == 0.0


def test_mimic_chain_is_composed_to_its_first_joint():
    """With b = 2 a + 0.5 and c = -3 b + 1 we have c = -6 a - 0.5."""
    model = read_urdf(robot(
        *(link(name) for name in 'wxyz'),
        joint('c', 'w', 'z', inside='<mimic joint="b" multiplier="-3" offset="1"/>'),
        joint('a', 'w', 'x'),
        joint('b', 'w', 'y', inside='<mimic joint="a" multiplier="2" offset="0.5"/>')))
    mimic = {j.name: j.mimic for j in model.joints}
    assert mimic == {'a': None, 'b': Mimic('a', 2.0, 0.5), 'c': Mimic('a', -6.0, -0.5)}


def test_mimic_defaults_are_one_and_zero():
    model = read_urdf(robot(link('w'), link('x'), link('y'), joint('a', 'w', 'x'),
                            joint('b', 'w', 'y', inside='<mimic joint="a"/>')))
    assert model.joints[1].mimic == Mimic('a', 1.0, 0.0)


@pytest.mark.parametrize('gear', [
    '<actuator name="m"><mechanicalReduction>50</mechanicalReduction>'
    '<rotorInertia>1e-4</rotorInertia></actuator><joint name="hinge"/>',
    '<joint name="hinge"><mechanicalReduction> 50 </mechanicalReduction></joint>'
    '<actuator name="m"><motorInertia>1e-4</motorInertia></actuator>',
    '<joint name="hinge"/><actuator name="m"><drake:gear_ratio value="50"/>'
    '<drake:rotor_inertia value="1e-4"/></actuator>',
    '<joint name="hinge"/><mechanicalReduction>50</mechanicalReduction>'
    '<rotorInertia>1e-4</rotorInertia>',
])
def test_reduction_and_rotor_inertia_of_every_dialect(gear):
    text = arm().replace('</robot>', f'<transmission name="t">{gear}</transmission></robot>')
    found = only_joint(text)
    assert (found.gear_ratio, found.rotor_inertia) == (50.0, 1e-4)


def test_two_motors_on_one_joint_add_their_reflected_inertias():
    motor = ('<transmission><joint name="hinge"/><mechanicalReduction>{}</mechanicalReduction>'
             '<rotorInertia>{}</rotorInertia></transmission>')
    text = arm().replace('</robot>', motor.format(10, 0.01) + motor.format(20, 0.03) + '</robot>')
    found = only_joint(text)
    assert found.gear_ratio ** 2 * found.rotor_inertia == pytest.approx(100 * 0.01 + 400 * 0.03)


def test_loops_couplings_and_independent_joints_are_kept():
    text = robot(
        link('a'), link('b'), link('c'), joint('p', 'a', 'b').replace(
            'type=', 'independent="true" type='), joint('q', 'b', 'c'),
        '<loop name="ring" type="revolute"><predecessor link="c"><origin xyz="1 2 3"/>'
        '</predecessor><successor link="a"/><axis xyz="0 2 0"/></loop>',
        '<coupling name="belt"><predecessor link="b"/><successor link="c"/><ratio value="-2"/>'
        '</coupling>')
    model = read_urdf(text)
    (ring,) = model.loops
    assert (ring.name, ring.kind, ring.axis) == ('ring', 'revolute', (0.0, 1.0, 0.0))
    assert ring.predecessor.position == (1.0, 2.0, 3.0)
    assert ring.successor == Attachment('a')
    assert model.couplings == (Coupling('belt', 'b', 'c', -2.0),)
    assert [j.independent for j in model.joints] == [True, None]


def test_floating_base_hangs_the_root_on_a_new_world():
    model = read_urdf(arm(), floating_base=True)
    first = model.joints[0]
    assert (first.name, first.kind, first.parent, first.child) == (
        'floating_base', 'floating', 'world', 'base')
    assert [part.name for part in model.links] == ['world', 'base', 'tip']


def test_floating_base_finds_a_free_name_beside_a_link_called_world():
    text = robot(link('world', ''), link('body'), joint('weld', 'world', 'body', 'fixed', ''))
    model = read_urdf(text, floating_base=True)
    assert [part.name for part in model.links] == ['world_1', 'world', 'body']


def test_floating_base_is_refused_where_the_robot_floats_already():
    text = robot(link('world', ''), link('body'), joint('free', 'world', 'body', 'floating', ''))
    with pytest.raises(ModelError, match="joint 'free'"):
        read_urdf(text, floating_base=True)


def test_gravity_is_three_finite_numbers():
    assert read_urdf(arm(), gravity=(0, 1, 2)).gravity == (0.0, 1.0, 2.0)
    for bad in ((0, 0), (0, 0, math.nan)):
        with pytest.raises(ValueError, match='gravity'):
            read_urdf(arm(), gravity=bad)


@pytest.mark.parametrize('text, message', [
    ('<sdf/>', 'must be <robot>'),
    (robot(), 'no links'),
    ('<robot><link name="a"/></robot>', "'name' is missing"),
    (robot('<link/>'), "<link> .*'name' is missing"),
    (robot(link('a'), link('a')), "link 'a' .*used twice"),
    (robot(*map(link, 'abc'), joint('j', 'a', 'b'), joint('j', 'b', 'c')), "joint 'j' .*twice"),
    (robot(link('a'), joint('j', 'a', 'elbow')), "joint 'j' .*no link 'elbow'.*links are: a"),
    (robot(link('a'), link('b')), "not connected.*'a', 'b'"),
    (robot(*map(link, 'abc'), joint('j', 'a', 'c'), joint('k', 'b', 'c')), "'k'.*hangs on"),
    (robot(*map(link, 'abc'), joint('j', 'b', 'c'), joint('k', 'c', 'b')), "cycle.*'b', 'c'"),
    (robot(link('a'), joint('j', 'a', 'a')), "cycle through the links 'a'"),
    (arm(kind='hinge'), "joint 'hinge'.*type 'hinge'.*revolute, continuous"),
    (arm('<axis xyz="0 0 0"/>'), 'axis is zero'),
    (arm('<axis xyz="0 1"/>'), '2 numbers instead of 3'),
    (arm('<axis/>'), "'xyz' is missing"),
    (arm('<origin xyz="0 nan 0"/>'), "joint 'hinge' <origin>.*'xyz': 'nan' is not finite"),
    (arm('<limit effort="inf" velocity="1"/>'), "'effort': 'inf' is not finite"),
    (arm('<origin xyz="0 one 0"/>'), "'one' is not a number"),
    (arm('<origin xyz="${d} 0 0"/>'), 'xacro'),
    (arm(ball='<inertial><inertia/></inertial>'), 'has no <mass>|ixx'),
    (arm(ball='<inertial><mass value="1"/><inertia ixx="1"/></inertial>'), "'ixy' is missing"),
    (robot(link('a'), '<joint name="j" type="fixed"><parent link="a"/></joint>'), 'no <child>'),
    (arm('<mimic joint="knee"/>'), "no joint 'knee' to follow; the joints are: hinge"),
    (arm('<mimic joint="hinge"/>'), 'circle'),
    (arm('<mimic/>'), "'joint' is missing"),
    (robot('<xacro:macro name="m"/>', link('a')), 'xacro.*not expanded'),
    (robot(link('a'), '<loop name="o" type="knot"><predecessor link="a"/><successor link="a"/>'
           '</loop>'), "loop type 'knot'"),
    (robot(link('a'), '<coupling name="o"><predecessor link="x"/><successor link="a"/>'
           '<ratio value="1"/></coupling>'), "no link 'x'"),
    (robot(link('a'), '<transmission><joint name="j"/><mechanicalReduction>fast'
           '</mechanicalReduction></transmission>'), "'fast' is not a number"),
])
def test_broken_files_are_refused_by_name(text, message):
    with pytest.raises(ModelError, match=message):
        read_urdf(text)


def test_errors_tell_the_line():
    text = (f'<robot name="r">\n<link name="a">\n{BALL}\n</link>\n'
            '<joint name="j"\n type="x"/></robot>')
    with pytest.raises(ModelError, match=r"joint 'j' \(line 5\)"):
        read_urdf(text)
