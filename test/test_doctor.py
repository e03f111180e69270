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

"""What the model doctor finds in a robot file, and that it finds nothing in a good one."""

import json
import re
from xml.etree import ElementTree

from multibody_ros import load_urdf
from multibody_ros.model.doctor import diagnose, examine
from multibody_ros.model.inertia_check import nearest_valid
import numpy as np
import pytest
from robots import arm, BALL, chain, each, example_robots, joint, LIMIT, link, robot, shipped

#: velocities above which a robot is examined without being compiled, to keep the tests short
LARGE = 40
POINT = '<inertial><origin xyz="{}"/><mass value="{}"/></inertial>'
FREE = '<limit lower="-3.1" upper="3.1" effort="{}" velocity="1"/>'


def check(text):
    return diagnose(text, lambda: load_urdf(text))


def body(mass='1', ixx='0.1', iyy='0.1', izz='0.1', ixy='0', xyz='0 0 0'):
    return (f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia ixx="{ixx}" '
            f'ixy="{ixy}" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>')


def geared(inside):
    return arm().replace('</robot>', f'<transmission name="t">{inside}</transmission></robot>')


def mimic(inside, *more):
    return robot(link('w'), link('x'), link('y'), joint('a', 'w', 'x'),
                 joint('b', 'x', 'y', inside=inside + LIMIT), *more)


def only(report, severity, message):
    """Return the one finding of this severity whose message fits."""
    fitting = [f for f in report.findings
               if f.severity == severity and re.search(message, f.message)]
    assert len(fitting) == 1, str(report)
    return fitting[0]


#: file, severity, element, message, advice
FINDINGS = {
    'indefinite inertia': (
        arm(ball=body(ixx='-0.1', iyy='0.2', izz='0.3')), 'error', "link 'tip' <inertia>",
        'not positive definite: principal moments -0.1 0.2 0.3', 'nearest valid one is <inertia'),
    'indefinite by its products': (
        arm(ball=body(ixy='0.2')), 'error', "link 'tip' <inertia>", 'not positive definite',
        'nearest valid one is <inertia'),
    'triangle inequality': (
        arm(ball=body(izz='0.3')), 'error', "link 'tip' <inertia>",
        'breaks the triangle inequality.*exceeds the sum of the others by 33.33%',
        'nearest valid one is <inertia'),
    'triangle inequality but for rounding': (
        arm(ball=body(izz='0.20001')), 'warning', "link 'tip' <inertia>", 'triangle', 'nearest'),
    'flat inertia': (
        arm(ball=body(ixx='0')), 'warning', "link 'tip' <inertia>", 'is singular', 'positive'),
    'negative mass': (
        arm(ball=body(mass='-1')), 'error', "link 'tip' <inertial> <mass>", 'negative: -1 kg',
        'kg'),
    'mass without inertia': (
        arm(ball=POINT.format('1 0 0', 1)), 'warning', "link 'tip' <inertial>", 'no inertia',
        'give the inertia'),
    'inertia without mass': (
        arm(ball=body(mass='0')), 'warning', "link 'tip' <inertial> <mass>", 'mass is zero',
        'give the mass'),
    'mass of another order': (
        robot(link('a'), link('b'), link('c', body(mass='2e4')), joint('p', 'a', 'b'),
              joint('q', 'b', 'c')), 'warning', "link 'c' <inertial> <mass>",
        '20000 kg is orders of magnitude', 'unit: kg'),
    'all masses in grams': (
        arm(ball=body(mass='2500')), 'warning', "robot 'test'", 'weigh 2501 kg', 'units: kg'),
    'inertia in kg mm^2': (
        arm(ball=body(mass='0.5', ixx='1e3', iyy='1e3', izz='1e3')), 'warning',
        "link 'tip' <inertia>", 'off for 0.5 kg: the radius of gyration is 45 m', 'kg m.2'),
    'inertia too small': (
        arm(ball=body(ixx='1e-8', iyy='1e-8', izz='1e-8')), 'warning', "link 'tip' <inertia>",
        'orders of magnitude off', 'kg m.2'),
    'centre of mass in mm': (
        arm(ball=body(xyz='0 0 120')), 'warning', "link 'tip' <inertial> <origin>",
        'centre of mass is 120 m', 'm, not mm'),
    'joint origin in mm': (
        arm('<origin xyz="0 0 120"/>' + LIMIT), 'warning', "joint 'hinge' <origin>", '120 m away',
        'm, not mm'),
    'roll in degrees': (
        arm('<origin rpy="90 0 0"/>' + LIMIT), 'warning', "joint 'hinge' <origin>", 'holds 90',
        'rad, not degrees'),
    'limits in degrees': (
        arm('<limit lower="-90" upper="90" effort="1" velocity="1"/>'), 'warning',
        "joint 'hinge' <limit>", 'from -90 to 90', 'rad, not degrees'),
    'axis of length two': (
        arm('<axis xyz="0 0 2"/>' + LIMIT), 'warning', "joint 'hinge' <axis>", 'length 2 ',
        'no scale'),
    'reversed limits': (
        arm('<limit lower="1" upper="-1" effort="1" velocity="1"/>'), 'error',
        "joint 'hinge' <limit>", 'reversed: lower 1 is above upper -1', 'exchange'),
    'no limit element': (
        arm(''), 'warning', "joint 'hinge'", 'without <limit>: read as unlimited', 'add <limit'),
    'neither lower nor upper': (
        arm('<limit effort="1" velocity="1"/>'), 'warning', "joint 'hinge' <limit>",
        'neither lower nor upper: read as unlimited', 'give both'),
    'no upper': (
        arm('<limit lower="-1" effort="1" velocity="1"/>'), 'warning', "joint 'hinge' <limit>",
        'no upper limit: read as 0', 'give both'),
    'no effort': (
        arm('<limit lower="-1" upper="1" velocity="1"/>'), 'warning', "joint 'hinge' <limit>",
        'no effort limit: read as unlimited', 'give effort'),
    'no velocity': (
        arm('<limit lower="-1" upper="1" effort="9"/>'), 'warning', "joint 'hinge' <limit>",
        'no velocity limit: read as unlimited', 'give velocity'),
    'effort zero': (
        arm('<limit lower="-1" upper="1" effort="0" velocity="1"/>'), 'warning',
        "joint 'hinge' <limit>", 'effort limit is 0 and was read as 0', 'leave it out'),
    'effort negative': (
        arm('<limit lower="-1" upper="1" effort="-9" velocity="1"/>'), 'error',
        "joint 'hinge' <limit>", 'effort limit is negative', 'positive'),
    'a limit that is none': (
        arm('<limit lower="-1e16" upper="1" effort="9" velocity="1.7e308"/>'), 'note',
        "joint 'hinge' <limit>", 'lower -1e.16: read as unlimited', ''),
    'no way to go': (
        arm('<limit lower="1" upper="1" effort="9" velocity="1"/>'), 'warning',
        "joint 'hinge' <limit>", 'both 1: the joint cannot move', 'fixed'),
    'limits of a continuous joint': (
        arm(LIMIT, 'continuous'), 'note', "joint 'hinge' <limit>", 'continuous joint are not used',
        ''),
    'negative damping': (
        arm(LIMIT + '<dynamics damping="-1"/>'), 'error', "joint 'hinge' <dynamics>",
        'damping is negative', 'positive'),
    'mimic chain': (
        mimic('<mimic joint="a"/>', link('z'), joint(
            'c', 'y', 'z', inside='<mimic joint="b"/>' + LIMIT)), 'note', "joint 'c' <mimic>",
        "follows 'b', which follows another joint: the chain was composed", ''),
    'mimic circle': (
        mimic('<mimic joint="b"/>'), 'error', "joint 'b'", 'goes round in a circle',
        'follow none'),
    'mimic of nobody': (
        mimic('<mimic joint="elbow"/>'), 'error', "joint 'b' <mimic>", "no joint 'elbow'",
        'joints are: a, b'),
    'mimic by zero': (
        mimic('<mimic joint="a" multiplier="0"/>'), 'warning', "joint 'b' <mimic>", 'stands still',
        'fixed'),
    'mimic on a fixed joint': (
        robot(link('w'), link('x'), link('y'), joint('a', 'w', 'x'), joint(
            'b', 'x', 'y', 'fixed', '<mimic joint="a"/>')), 'warning', "joint 'b' <mimic>",
        'mimic is not used', 'remove'),
    'mimic beyond the limits': (
        mimic('<mimic joint="a" multiplier="-2"/>'), 'note', "joint 'b'",
        "follows 'a' from -2 to 2, beyond its own limits -1 and 1", 'narrow'),
    'link name used twice': (
        robot(link('a'), link('b'), '\n', link('b'), joint('j', 'a', 'b')), 'error', "link 'b'",
        'name is used twice, first on line 1', 'rename'),
    'joint name used twice': (
        robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b'), '\n', joint('j', 'b', 'c')),
        'error', "joint 'j'", 'name is used twice', 'rename'),
    'links not connected': (
        robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b')), 'error', "robot 'test'",
        "not connected: 2 of them have no parent joint: 'a', 'c'", 'connect all but one'),
    'cycle': (
        robot(link('a'), link('b'), joint('j', 'a', 'b'), joint('k', 'b', 'a')), 'error',
        "joint '[jk]'", 'form a cycle', 'URDF. <loop>'),
    'two parents': (
        robot(link('a'), link('b'), link('c'), joint('j', 'a', 'c'), joint('i', 'a', 'b'),
              joint('k', 'b', 'c')), 'error', "joint 'k'",
        "link 'c' already hangs on joint 'j'", 'URDF. <loop>'),
    'joint without child': (
        robot(link('a'), '<joint name="j" type="fixed"><parent link="a"/></joint>'), 'error',
        "joint 'j'", 'has no <child>', 'add <child'),
    'joint to nowhere': (
        robot(link('a'), joint('j', 'a', 'hand')), 'error', "joint 'j' <child>",
        "no link 'hand'", 'links are: a'),
    'unknown tag': (
        arm(LIMIT + '<spring k="1"/>'), 'warning', "joint 'hinge' <spring>",
        "unknown tag 'spring' in <joint> is not read", 'known there: axis, '),
    'unknown tag of the robot': (
        robot(link('a'), '<spring/>'), 'warning', '<spring>', "unknown tag 'spring' in <robot>",
        'known there'),
    'unknown attribute': (
        arm(LIMIT + '<dynamics dampening="1"/>'), 'warning', "joint 'hinge' <dynamics>",
        "unknown attribute 'dampening'", 'known there: damping, friction'),
    'empty number': (
        arm('<origin xyz=""/>' + LIMIT), 'warning', "joint 'hinge' <origin>",
        "attribute 'xyz' of <origin> is empty: read as absent", 'remove'),
    'repeated tag': (
        arm('<axis xyz="0 0 1"/><axis xyz="0 1 0"/>' + LIMIT), 'warning', "joint 'hinge' <axis>",
        'second <axis> in <joint> is not read', 'keep one'),
    'safety controller': (
        arm(LIMIT + '<safety_controller k_velocity="1"/>'), 'note',
        "joint 'hinge' <safety_controller>", 'not used: soft limits', ''),
    'unknown joint of a transmission': (
        geared('<joint name="knee"/>'), 'warning', "transmission 't'", "no joint 'knee'",
        'joints are: hinge'),
    'transmission of no joint': (
        geared('<actuator name="m"/>'), 'warning', "transmission 't'", 'names no joint', 'add'),
    'differential': (
        geared('<joint name="hinge"/><joint name="hinge2"/>').replace(
            '</robot>', link('far') + joint('hinge2', 'tip', 'far') + '</robot>'), 'note',
        "transmission 't'", 'couples 2 joints: its reductions and rotor inertias are not', ''),
    'gear without rotor': (
        geared('<joint name="hinge"/><mechanicalReduction>50</mechanicalReduction>'), 'note',
        "transmission 't'", 'reduction without rotor inertia', 'add <rotorInertia>'),
    'negative rotor inertia': (
        geared('<joint name="hinge"/><rotorInertia>-1</rotorInertia>'), 'error',
        "transmission 't' <rotorInertia>", 'negative', r'kg m\^2'),
    'no reduction': (
        geared('<joint name="hinge"/><mechanicalReduction>0</mechanicalReduction>'), 'error',
        "transmission 't' <mechanicalReduction>", 'reduction is zero', 'motor turns'),
    'not finite': (
        arm('<origin xyz="0 nan 0"/>'), 'error', "joint 'hinge' <origin>", "'nan' is not finite",
        'finite'),
    'not a URDF': ('<sdf version="1.7"/>', 'error', '<sdf>', 'not a URDF', 'SDF, MJCF'),
    'not expanded': (
        robot('<xacro:include filename="x"/>'), 'error', '<xacro:include>', 'not expanded',
        'run `xacro'),
}


@pytest.mark.parametrize('case', FINDINGS)
def test_finding_names_the_element_and_says_what_to_do(case):
    text, severity, element, message, advice = FINDINGS[case]
    finding = only(check(text), severity, message)
    assert re.fullmatch(rf'{element} \(line \d+\)', finding.element)
    assert re.search(advice, finding.advice)
    assert severity == 'note' or finding.advice


@pytest.mark.parametrize('case', FINDINGS)
def test_finding_tells_the_line(case):
    """With every tag on a line of its own, the line told is that of the element named."""
    text, severity, _, message, _ = FINDINGS[case]
    lines = re.sub('>\n*<', '>\n<', text).split('\n')
    message = re.sub('first on line 1', 'first on line', message)
    place = only(check('\n'.join(lines)), severity, message).element
    *_, (tag, name) = re.findall(r"<?([\w:]+)>?(?: '(\w+)')?", place.rsplit(' (', 1)[0])
    told = lines[int(re.search(r'line (\d+)', place)[1]) - 1]
    assert told.startswith(f'<{tag}') and f'name="{name}"' in (told if name else 'name=""')


def test_a_good_arm_has_no_finding():
    """So that every finding above is of the thing that was changed."""
    assert check(arm()).findings == ()


@pytest.mark.parametrize('path', each(shipped()))
def test_shipped_robots_have_no_finding(path):
    assert check(path).findings == ()


def sound(path):
    """Tell from the XML and from Pinocchio's mass matrix whether all bodies are possible."""
    pinocchio = pytest.importorskip('pinocchio')
    for element in ElementTree.parse(path).iter('inertial'):
        values = {k: float(v) for k, v in element.find('inertia').attrib.items()}
        matrix = [[values['i' + min(r + c, c + r)] for c in 'xyz'] for r in 'xyz']
        moments = np.linalg.eigvalsh(matrix)
        mass = float(element.find('mass').get('value'))
        if np.abs(moments).max() > 1e-12 * mass and 2 * moments.max() > 1.001 * moments.sum():
            return False
    model = pinocchio.buildModelFromUrdf(str(path))
    if model.nv == 0:
        return True
    M = pinocchio.crba(model, model.createData(), pinocchio.randomConfiguration(
        model, np.zeros(model.nq) - 1.0, np.ones(model.nq)))
    M = np.triu(M) + np.triu(M, 1).T
    scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
    return np.diag(M).min() > 0.0 and np.linalg.eigvalsh(M / np.outer(scale, scale))[0] > 1e-12


@pytest.mark.parametrize('path', each(example_robots()))
def test_example_robots_have_errors_where_a_body_is_impossible(path):
    report = examine(path)
    if not report.readable:
        assert path.stem in ('alex_psyonic_hands', 'ur3')
        return
    if report.summary['nv'] <= LARGE:
        report = check(path)
    assert report.ok == sound(path)


def random_inertia(rng, valid):
    """Return the inertia of a cloud of points, or any symmetric matrix."""
    points = rng.normal(size=(5, 3)) * rng.uniform(0.01, 1.0, 3)
    if not valid:
        points = points + 1j * rng.normal(size=(5, 3))
    S = np.real(points.T @ points)
    return np.trace(S) * np.eye(3) - S


@pytest.mark.parametrize('seed', range(20))
def test_inertia_of_any_cloud_of_points_is_accepted(seed):
    inertia = random_inertia(np.random.default_rng(seed), valid=True)
    values = inertia[np.triu_indices(3)]
    text = arm(ball='<inertial><mass value="5"/><inertia ixx="{}" ixy="{}" ixz="{}" iyy="{}" '
                    'iyz="{}" izz="{}"/></inertial>'.format(*values))
    report = check(text)
    assert report.ok
    moments = np.linalg.eigvalsh(inertia)
    assert report.links[1]['principal_moments'] == pytest.approx(moments, rel=1e-9)
    assert report.links[1]['triangle_margin'] == pytest.approx(
        moments[:2].sum() / moments[2] - 1.0, abs=1e-9)


def second_moments(inertia):
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


@pytest.mark.parametrize('seed', range(20))
def test_no_body_is_nearer_than_the_one_offered(seed):
    """In the second moments of mass, within the millionth by which it is kept positive."""
    rng = np.random.default_rng(seed)
    wrong = second_moments(random_inertia(rng, valid=False))
    offered = second_moments(nearest_valid(random_inertia(np.random.default_rng(seed), False)))
    distance = np.linalg.norm(offered - wrong)
    assert np.linalg.eigvalsh(offered)[0] >= 0.0
    for _ in range(200):
        change = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-4, 0)
        root = np.linalg.cholesky(offered + 1e-12 * np.eye(3)) + np.tril(change)
        assert distance <= np.linalg.norm(root @ root.T - wrong) + 1e-5 * np.linalg.norm(wrong)


@pytest.mark.parametrize('case', ['indefinite inertia', 'indefinite by its products',
                                  'triangle inequality'])
def test_the_inertia_offered_mends_the_file(case):
    text = FINDINGS[case][0]
    offered = re.search('<inertia .*/>', only(check(text), 'error', 'principal moments').advice)[0]
    wrong = re.findall('<inertia [^>]*/>', text)[-1]
    assert check(text.replace(wrong, offered)).findings == ()


def test_joint_that_moves_no_mass_is_named():
    text = robot(link('a'), link('b'), link('c', ''), joint('p', 'a', 'b'), joint('q', 'b', 'c'))
    finding = only(check(text), 'error', 'moves no mass and no inertia: the mass matrix is singul')
    assert finding.element == "joint 'q' (line 1)"
    assert 'rotor inertia' in finding.advice


def test_point_mass_on_the_axis_makes_the_mass_matrix_singular():
    for xyz, good in (('0.3 0 0', False), ('0.3 0.1 0', True)):
        assert check(arm(ball=POINT.format(xyz, 2))).ok == good


def test_a_singular_mass_matrix_is_seen_through_rounding():
    """A point mass on a skew axis, and a joint before it that moves it."""
    for xyz, good in (('0.12 0.24 0.36', False), ('0.12 0.25 0.36', True)):
        text = robot(
            link('a'), link('b'), link('c', POINT.format(xyz, 2)),
            joint('p', 'a', 'b', inside=LIMIT + '<origin xyz="0.3 0.1 0.7" rpy="0.4 0.5 0.6"/>'),
            joint('q', 'b', 'c', inside=LIMIT + '<origin xyz="0.3 0.1 0.7" rpy="0.4 0.5 0.6"/>'
                  '<axis xyz="0.1 0.2 0.3"/>'))
        assert check(text).ok == good


def test_two_joints_on_one_axis_with_nothing_between_are_both_named():
    text = robot(link('a'), link('b', ''), link('c'), link('d'), joint('p', 'a', 'b'),
                 joint('q', 'b', 'c'), joint('r', 'c', 'd', inside=LIMIT + '<axis xyz="0 1 0"/>'))
    finding = only(check(text), 'error', 'not positive definite')
    assert "joint 'p'" in finding.message and "joint 'q'" in finding.message
    assert "joint 'r'" not in finding.message


def test_rotor_inertia_makes_up_for_a_massless_link():
    gear = '<joint name="hinge"/><rotorInertia>1e-4</rotorInertia>'
    assert not check(arm(ball='')).ok
    assert check(geared(gear).replace(BALL, '')).ok


def test_eigenvalues_of_the_cartesian_arm_are_its_masses():
    report = check(next(path for path in shipped() if path.stem == 'cartesian_arm'))
    moved = [row['mass'] for row in report.links[1:]]
    masses = sorted([sum(moved), sum(moved[1:])])
    assert report.mass_matrix['smallest_eigenvalue'] == pytest.approx(masses[0])
    assert report.mass_matrix['largest_eigenvalue'] == pytest.approx(masses[1])


@pytest.mark.parametrize('effort, enough', [(9.7, False), (9.9, True)])
def test_effort_limit_against_the_weight_of_a_pendulum(effort, enough):
    """2 kg at 0.5 m load the joint with 9.81 N m at most."""
    report = check(arm(FREE.format(effort), ball=body(mass='2', xyz='0 0 0.5')))
    assert report.joints[0]['gravity'] == pytest.approx(2 * 9.81 * 0.5, rel=1e-3)
    if enough:
        assert report.findings == ()
    else:
        finding = only(report, 'warning', f'effort limit {effort} is below the gravity load')
        assert finding.element == "joint 'hinge' (line 1)" and finding.advice


def test_gravity_of_the_robot_is_the_one_examined():
    text = arm(ball=body(mass='2', xyz='0 0 0.5'))
    still = load_urdf(text, gravity=(0, 0, 0)).check()
    assert still.joints[0]['gravity'] == 0.0 and still.summary['gravity'] == [0, 0, 0]
    assert only(still, 'note', 'is zero').element == 'gravity'
    only(load_urdf(text, gravity=(0, 0, 9.81)).check(), 'note', 'up, unless')
    only(load_urdf(text, gravity=(0, 0, -9810)).check(), 'warning', r'9810 m/s\^2')


def test_floating_base_is_examined_with_it():
    report = load_urdf(arm(), floating_base=True).check()
    assert (report.summary['nq'], report.summary['nv']) == (8, 7)
    assert report.joints[0]['joint'] == 'floating_base'
    assert report.joints[0]['gravity'] == pytest.approx(2 * 9.81, rel=5e-3)
    assert report.ok


def test_mobility_counts_the_equations_of_loops():
    """Gruebler: a spatial loop by a revolute joint takes 5, by a sphere 3, a coupling 1."""
    def mobility(*closures):
        parts = [*map(link, 'abcd'), joint('p', 'a', 'b'), joint('q', 'b', 'c'),
                 joint('r', 'c', 'd', 'floating', '')]
        return examine(robot(*parts, *closures)).summary['mobility']

    loop = '<loop name="{0}" type="{0}"><predecessor link="d"/><successor link="a"/></loop>'
    assert mobility() == 8
    assert mobility(loop.format('revolute')) == 3
    assert mobility(loop.format('spherical')) == 5
    assert mobility(loop.format('fixed')) == 2
    assert mobility('<coupling name="c"><predecessor link="c"/><successor link="b"/>'
                    '<ratio value="2"/></coupling>') == 7


def test_report_tells_what_data_was_used():
    text = mimic('<dynamics damping="1" friction="2"/><mimic joint="a"/>',
                 '<transmission name="t"><joint name="a"/><rotorInertia>1</rotorInertia>'
                 '<mechanicalReduction>3</mechanicalReduction></transmission>')
    report = check(text)
    assert report.summary['used'] == {
        'damping': 1, 'friction': 1, 'rotor_inertia': 1, 'mimic': 1}
    assert 'damping of 1, friction of 1, rotor inertia of 1, mimic of 1' in str(report)
    assert report.summary['joints'] == {'revolute': 2}
    assert re.search(r'^a .* 9$', str(report), re.MULTILINE)
    assert 'b follows a' in str(report)


def test_damping_and_friction_of_a_follower_act_on_the_joint_it_follows():
    """It moves at r v, so it takes the power b (r v)^2 + c |r v|."""
    text = mimic('<dynamics damping="2" friction="5"/><mimic joint="a" multiplier="-3"/>')
    found = load_urdf(text)
    assert found.damping == pytest.approx([18.0]) and found.friction == pytest.approx([15.0])


def test_masses_add_up():
    report = check(robot(
        link('a', body(mass='4')), link('b', body(mass='3')), link('c', body(mass='2')),
        joint('weld', 'a', 'b', 'fixed', ''), joint('j', 'b', 'c')))
    assert (report.summary['total_mass'], report.summary['moving_mass']) == (9.0, 2.0)


@pytest.mark.parametrize('inside, expected', [
    ('', [None] * 4), (LIMIT, [-1.0, 1.0, 50.0, 2.0]),
    ('<limit lower="-1e16" upper="1e16" effort="1.7e308" velocity="1e17"/>', [None] * 4)])
def test_limits_are_reported_as_they_were_read(inside, expected):
    (row,) = check(arm(inside)).to_dict()['joints']
    assert [row[key] for key in ('lower', 'upper', 'effort', 'velocity')] == expected


@pytest.mark.parametrize('path', each(shipped()))
def test_json_holds_the_whole_report(path):
    model = load_urdf(path).model
    data = json.loads(check(path).to_json())
    assert [(row['link'], row['mass']) for row in data['links']] == [
        (part.name, part.parameters[0]) for part in model.links]
    assert [(row['joint'], row['parent'], row['child']) for row in data['joints']] == [
        (part.name, part.parent, part.child) for part in model.joints]
    assert data['ok'] is True


@pytest.mark.parametrize('path', each(shipped()))
def test_text_fits_a_terminal(path):
    lines = str(check(path)).split('\n')
    assert max(map(len, lines)) <= 100
    assert [line for line in lines if line != line.rstrip()] == []


def test_findings_alike_are_shown_together():
    report = examine(chain(30).replace('velocity="2"', ''))
    assert report.count('warning') == 30
    text = str(report)
    assert text.count('no velocity limit') == 1
    assert text.count("joint 'j0' <limit>") == 1 and '... 10 more' in text


def test_errors_come_first_and_colours_only_on_request():
    report = check(arm('<limit lower="1" upper="-1"/>'))
    severities = [finding.severity for finding in report.findings]
    assert severities == ['error', 'warning', 'warning']
    assert '\033' not in str(report)
    assert report.to_text(colour=True).replace('\033[31m', '').replace('\033[33m', '').replace(
        '\033[0m', '') == str(report)


def test_large_robots_are_examined_without_their_dynamics():
    report = check(chain(400))
    assert report.ok and report.mass_matrix is None
    assert 'were not examined' in only(report, 'note', '300 velocities').message


def test_all_errors_are_told_at_once():
    report = check(robot(
        link('a'), link('a'), joint('j', 'a', 'b'), joint('k', 'c', 'a', 'hinge')))
    assert not report.readable
    for words in ('used twice', "no link 'b'", "no link 'c'", "type 'hinge'"):
        only(report, 'error', words)
