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

"""Leaves the tests of the nodes out where ROS 2 is not installed, and says so."""

from importlib.util import find_spec

from hypothesis import settings
import pytest

# The same examples every time: a red run can be repeated. For new ones:
# pytest --hypothesis-profile=default --hypothesis-seed=random
settings.register_profile('repeatable', derandomize=True, deadline=None)
settings.load_profile('repeatable')

ROS = find_spec('rclpy') is not None
collect_ignore_glob = [] if ROS else ['test_nodes*.py', 'test_demo.py', 'test_wire.py']


def pytest_report_header():
    return [] if ROS else ['rclpy is not installed: the tests of the nodes are left out']


@pytest.fixture
def loop(tmp_path):
    """Return a bench for nodes, see ros_loop."""
    from ros_loop import Loop
    with Loop(tmp_path) as nodes:
        yield nodes


@pytest.fixture
def peer():
    """Return the shipped arm in Pinocchio: model and data."""
    import pinocchio as pin
    from ros_loop import URDF
    model = pin.buildModelFromUrdf(str(URDF))
    return model, model.createData()
