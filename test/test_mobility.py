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

"""Freedoms, redundant equations, singular configurations (theory.md section 6)."""

from math import pi, sqrt

from closed_chains import chain_at, mechanism, shipped, URDF
import multibody_ros as mb
from multibody_ros import mechanisms
from multibody_ros.dynamics.constraints import Driven
import numpy as np
import pytest

#: name: true freedoms, Gruebler in space, in the plane, equations that follow from others
COUNTS = {
    'four_bar': (1, -2, 1, 3), 'five_bar': (2, -1, 2, 3), 'parallelogram_arm': (2, -1, 2, 3),
    'slider_crank': (1, -2, 1, 3), 'remote_2r': (2, 2, 2, 0), 'chain': (1, -8, 1, 9),
    'bricard': (1, 0, None, 1), 'disk': (3, 3, None, 0), 'bead': (2, 2, None, 0),
}


@pytest.mark.parametrize('name', COUNTS)
def test_count_from_the_rank_and_by_gruebler(name):
    robot, q = mechanism(name)
    found = robot.mobility(q)
    assert (found.freedoms, found.gruebler, found.gruebler_planar, found.hyperstatic) \
        == COUNTS[name]
    assert len(found.redundant) == found.hyperstatic
    assert not found.singular
    assert found.freedoms == robot.null_space(q, ()).shape[1]


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'parallelogram_arm', 'slider_crank'])
def test_planar_loops_repeat_what_the_plane_says(name):
    robot, q = shipped(name)
    assert robot.mobility(q).redundant == (('closure', 'z'), ('closure', 'rx'), ('closure', 'ry'))
    # forces out of the plane could be shared in any way, those in the plane could not
    reactions = robot.reactions(q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert reactions.not_unique == robot.mobility(q).redundant


def test_redundant_equations_are_named_and_can_go():
    robot, q = mechanism('bricard')
    found = robot.mobility(q)
    rows = [k for k, label in enumerate(robot.constraint_labels) if label not in found.redundant]
    J = robot.constraint_jacobian(q)
    assert np.linalg.matrix_rank(J[rows], tol=1e-8) == len(rows) == np.linalg.matrix_rank(
        J, tol=1e-8)


def test_drives_take_the_freedoms_that_are_left():
    robot, q = shipped('five_bar')
    one = robot.with_constraints(Driven('left_motor', lambda t: 2.2 + t))
    two = one.with_constraints(Driven('right_motor', lambda t: 0.9 - t))
    assert [r.mobility(r.assemble(q, ())).remaining for r in (one, two)] == [1, 0]
    assert one.mobility(q).freedoms == 2
    assert 'drives: 2, freedoms left: 0' in str(two.mobility(two.assemble(q, ())))


@pytest.mark.parametrize('windows', [1, 3])
def test_chain_in_line_has_a_freedom_more_a_window(windows):
    robot = mechanisms.four_bar_chain(windows)
    found = robot.mobility(chain_at(robot, 0.0))
    assert (found.freedoms, found.generic_freedoms, found.singular) == (windows + 1, 1, True)
    assert 'singular configuration: 1 freedoms nearby' in str(found)
    assert not robot.mobility(chain_at(robot, 0.3)).singular


def test_rods_in_line_are_a_bifurcation():
    robot = mechanisms.four_bar_chain(1).with_constraints(Driven('rod_0', lambda t: 0.5 - t))
    q = chain_at(robot, 0.0)
    v = np.zeros(3)
    v[[robot.v_index['rod_0'].start, robot.v_index['rod_1'].start]] = -1.0
    v[robot.v_index['coupler_0']] = 1.0
    here = robot.singularity(q, v, 0.5)
    assert (here['kind'], here['rank'], here['full_rank']) == ('bifurcation', 2, 3)
    before = robot.singularity(chain_at(robot, 0.2), v, 0.3)
    assert before['kind'] == 'regular' and before['measure'] > 0.01
    # the other branch: rod 0 stands still, coupler and rod 1 turn together about its tip
    other = np.zeros(3)
    other[robot.v_index['coupler_0']] = other[robot.v_index['rod_1']] = 1.0
    assert here['lost'].shape == (3, 1)
    assert abs(here['lost'][:, 0] @ other) == pytest.approx(np.sqrt(2.0), rel=1e-9)


def test_dead_point_of_a_driven_piston_is_a_lock_up():
    # crank and rod in line, the piston driven on beyond its reach of 0.8 m
    robot, _ = shipped('slider_crank')
    driven = robot.with_constraints(Driven('piston_joint', lambda t: 0.8 + 0.1 * t))
    q = np.array([0.0, 0.0, 0.8])
    assert driven.singularity(q, np.zeros(3), 0.0)['kind'] == 'lock-up'
    with pytest.raises(ValueError, match='cannot move so'):
        driven.velocity_analysis(q)
    # driven by the crank the same configuration is nothing special
    by_crank = robot.with_constraints(Driven('crank_joint', lambda t: t))
    v = by_crank.velocity_analysis(q)
    assert by_crank.singularity(q, v, 0.0)['kind'] == 'regular'
    assert v[2] == pytest.approx(0.0, abs=1e-12)


def test_passage_through_a_singular_configuration_shows_in_the_measure():
    robot = mechanisms.four_bar_chain(2)
    angles = np.linspace(0.4, -0.4, 9)
    measures = [robot.singularity(chain_at(robot, x), np.zeros(5))['measure'] for x in angles]
    assert measures[4] < 1e-12 and int(np.argmin(measures)) == 4
    np.testing.assert_allclose(measures, measures[::-1], atol=1e-9)


def test_check_reports_the_true_mobility():
    report = mb.load_urdf(URDF / 'four_bar.urdf').check()
    assert report.summary['mobility'] == 1
    assert (report.summary['gruebler'], report.summary['gruebler_planar']) == (-2, 1)
    assert report.summary['redundant'] == [
        ['closure', 'z'], ['closure', 'rx'], ['closure', 'ry']]
    assert 'closed by    closure: 5 equations of rank 2' in report.to_text()
    assert report.to_dict()['summary']['rank'] == 2


def test_check_tells_a_loop_that_cannot_close():
    text = (URDF / 'slider_crank.urdf').read_text()
    # the piston runs 0.9 m above the crank, out of reach of 0.2 + 0.6 m
    far = text.replace('<child link="piston"/>', '<child link="piston"/><origin xyz="0 0 0.9"/>')
    report = mb.load_urdf(far).check()
    (finding,) = [f for f in report.findings if f.element == 'constraints']
    assert finding.severity == 'warning' and 'cannot be assembled' in finding.message


def test_an_open_tree_moves_with_all_its_velocities():
    found = mb.load_urdf(URDF / 'arm6.urdf').mobility()
    assert (found.freedoms, found.equations, found.remaining) == (6, 0, 6)


def test_turning_point_of_the_four_bar_rocker():
    # crank and coupler in line: the rocker turns back, its velocity passes zero
    robot, _ = shipped('four_bar')
    cosine = (1.0 + 1.3 ** 2 - 0.7 ** 2) / (2 * 1.3)
    crank = np.arccos(cosine)
    q = robot.assemble([crank, 0.01, pi - 0.5])
    assert abs(q[1]) < 1e-6 * sqrt(2)
    assert robot.velocity_analysis(q, {'crank_joint': 1.0})[2] == pytest.approx(0.0, abs=1e-6)
