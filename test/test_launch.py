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

"""The launch files: every name they refer to exists; the real launch package reads them."""

from __future__ import annotations

from configparser import ConfigParser
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
import runpy
import sys
from types import ModuleType, SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'multibody_ros'
FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
CONFIGS = sorted((ROOT / 'config').glob('*.yaml'))
MODULES = {
    'launch': ['LaunchDescription'],
    'launch.actions': ['DeclareLaunchArgument', 'IncludeLaunchDescription'],
    'launch.substitutions': ['LaunchConfiguration', 'PathJoinSubstitution'],
    'launch_ros': [],
    'launch_ros.actions': ['Node'],
    'launch_ros.parameter_descriptions': ['ParameterValue'],
    'launch_ros.substitutions': ['FindPackageShare']}
files = pytest.mark.parametrize('file', FILES, ids=[f.name for f in FILES])
configs = pytest.mark.parametrize('config', CONFIGS, ids=[f.name for f in CONFIGS])


class Call(SimpleNamespace):
    """What a launch file called, with what."""

    def walk(self):
        """Yield this call and all calls in its arguments."""
        yield self
        waiting = [*self.args, *self.kwargs.values()]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Call):
                yield from item.walk()
            elif isinstance(item, (list, tuple)):
                waiting += item
            elif isinstance(item, dict):
                waiting += item.values()


@pytest.fixture
def described(monkeypatch):
    """Return what runs a launch file and gives its calls, without the launch package."""
    for name, classes in MODULES.items():
        module = ModuleType(name)
        for kind in classes:
            setattr(module, kind, lambda *args, _kind=kind, **kwargs: Call(
                kind=_kind, args=args, kwargs=kwargs))
        monkeypatch.setitem(sys.modules, name, module)
    return lambda file: runpy.run_path(str(file))['generate_launch_description']()


def calls(description, kind):
    return [call for call in description.walk() if call.kind == kind]


@files
def test_a_launch_file_is_one_list(described, file):
    description = described(file)
    assert description.kind == 'LaunchDescription'
    assert len(description.args) == 1 and isinstance(description.args[0], list)


@files
def test_launch_arguments_are_declared_and_described(described, file):
    description = described(file)
    declared = [call.args[0] for call in calls(description, 'DeclareLaunchArgument')]
    used = {call.args[0] for call in calls(description, 'LaunchConfiguration')}
    assert used == set(declared)
    assert len(set(declared)) == len(declared)
    for call in calls(description, 'DeclareLaunchArgument'):
        assert 'default_value' in call.kwargs
        assert len(call.kwargs['description'].split()) > 2


@files
def test_executables_are_installed(described, file):
    scripts = {e.name: e.value for e in distribution(PACKAGE).entry_points}
    started = calls(described(file), 'Node')
    assert started
    for node in started:
        assert node.kwargs['package'] == PACKAGE
        module, function = scripts[node.kwargs['executable']].split(':')
        assert (ROOT / f'{module.replace(".", "/")}.py').is_file() and function == 'main'


@files
def test_files_are_shipped(described, file):
    for path in calls(described(file), 'PathJoinSubstitution'):
        share, *parts = path.args[0]
        assert (share.kind, share.args) == ('FindPackageShare', (PACKAGE,))
        assert ROOT.joinpath(*parts).is_file(), parts
    for argument in calls(described(file), 'DeclareLaunchArgument'):
        if argument.args[0] == 'description_file' and argument.kwargs['default_value']:
            assert (ROOT / argument.kwargs['default_value']).is_file()


@files
def test_parameters_of_launch_files_are_declared_by_the_node(described, file, parameters_of):
    for node in calls(described(file), 'Node'):
        for given in node.kwargs['parameters']:
            if isinstance(given, dict):
                declared = parameters_of[node.kwargs['executable']]
                for name, value in given.items():
                    # text that looks like YAML must stay text
                    assert value.kind == 'ParameterValue'
                    assert value.kwargs == {'value_type': type(declared[name])}


def flat(tree, prefix=''):
    """Return {'a.b': value} of nested parameters."""
    items = {}
    for key, value in tree.items():
        items.update(flat(value, f'{prefix}{key}.') if isinstance(value, dict)
                     else {f'{prefix}{key}': value})
    return items


def started(config, logs):
    """Return {node: {parameter: value}} of the nodes named in a config file, which they read."""
    if find_spec('rclpy') is None:
        pytest.skip('rclpy is not installed')
    from rcl_interfaces.srv import GetParameters, ListParameters
    from rclpy.parameter import parameter_value_to_python
    from ros_loop import Loop
    nodes = [name.removeprefix('/**/') for name in yaml.safe_load(config.read_text())]
    with Loop(logs) as loop:
        for node in nodes:
            loop.start(node, files=[config], namespace='/here')
        loop.wait(lambda: len({s.name for m in loop.reports for s in m.status
                               if s.message != 'not active'}) == len(nodes), 'not all are up')
        found = {}
        for node in nodes:
            names = loop.call(ListParameters, f'/here/{node}/list_parameters',
                              ListParameters.Request()).result.names
            answer = loop.call(GetParameters, f'/here/{node}/get_parameters',
                               GetParameters.Request(names=names)).values
            found[node] = dict(zip(names, map(parameter_value_to_python, answer)))
    return found


@pytest.fixture(scope='module')
def parameters_of(tmp_path_factory):
    return started(ROOT / 'config' / 'arm7.yaml', tmp_path_factory.mktemp('log'))


@configs
def test_configured_parameters_reach_the_nodes(config, tmp_path):
    found = started(config, tmp_path)
    for name, content in yaml.safe_load(config.read_text()).items():
        assert name.startswith('/**/')
        node = name.removeprefix('/**/')
        for parameter, value in flat(content['ros__parameters']).items():
            assert found[node][parameter] == value, (node, parameter)


@files
def test_launch_reads_the_file(file):
    pytest.importorskip('launch_ros', reason='the launch package is not on PyPI')
    from launch import LaunchContext
    from launch.actions import DeclareLaunchArgument
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch_ros.actions import Node
    source = PythonLaunchDescriptionSource(str(file))
    entities = source.get_launch_description(LaunchContext()).entities
    assert any(isinstance(entity, Node) for entity in entities)
    for entity in entities:
        if isinstance(entity, DeclareLaunchArgument):
            assert entity.description and entity.default_value is not None


def test_ros2_run_finds_the_executables():
    """The scripts go where ros2 run and launch look for them."""
    settings = ConfigParser()
    settings.read(ROOT / 'setup.cfg')
    assert settings['install']['install_scripts'] == f'$base/lib/{PACKAGE}'
    assert settings['develop']['script_dir'] == f'$base/lib/{PACKAGE}'
