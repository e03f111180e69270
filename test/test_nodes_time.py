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

"""use_sim_time: the nodes take their time from states and from the wall, /clock or none."""

from __future__ import annotations

import pytest
from ros_loop import CONFIG, stamp

NODE = 'computed_torque_controller'
SIM_TIME = {'use_sim_time': True}


@pytest.mark.parametrize('clock', [False, True], ids=['no clock', 'clock'])
def test_watchdogs_work_in_simulated_time(loop, clock):
    """With no /clock at all time stands still for a node: its watchdogs must not."""
    simulator = loop.start('simulator', {
        **SIM_TIME, 'publish_clock': clock, 'command_timeout': 0.5}, [CONFIG])
    child = loop.start(NODE, {**SIM_TIME, 'state_timeout': 1.5}, [CONFIG])
    loop.wait(lambda: loop.last_health('/simulator').get('mode') == 'commanded', 'no command')
    loop.wait(lambda: loop.last_health(f'/{NODE}').get('message') == 'answering', 'no answer')
    # the stamps are of the wall's time, not counted from the 0 of a clock that was never set
    assert stamp(loop.pass_time(0.5)[0]) > 1e9
    loop.forget(child)
    child.kill()
    child.wait()
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'safe hold', 'no safe hold')
    loop.start(NODE, {**SIM_TIME, 'state_timeout': 1.5}, [CONFIG])
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'commanded', 'not taken over')
    loop.forget(simulator)
    simulator.kill()
    simulator.wait()
    loop.wait(lambda: 'no joint state for' in loop.health(f'/{NODE}')['message'], 'no complaint')


def test_trajectory_publisher_gives_up_without_a_clock(loop, tmp_path):
    file = tmp_path / 'way.yaml'
    file.write_text('joint_names: [a]\npoints:\n- {time_from_start: 1.0, positions: [0.5]}\n')
    child = loop.start('trajectory_publisher', {
        **SIM_TIME, 'file': file, 'topic': 'nobody/joint_trajectory', 'patience': 0.5})
    assert child.wait(30) == 1
    loop.forget(child)
