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
from xml.etree import ElementTree

from catkin_pkg.package import parse_package
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'multibody_ros'
FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
CONFIGS = sorted((ROOT / 'config').glob('*.yaml'))
MODULES = {
    'launch': ['LaunchDescription'],
    'launch.actions': ['DeclareLaunchArgument', 'IncludeLaunchDescription'],
    'launch.conditions': ['IfCondition'],
    'launch.substitutions': ['FileContent', 'LaunchConfiguration', 'PathJoinSubstitution'],
    'launch_ros': [],
    'launch_ros.actions': ['Node'],
    'launch_ros.parameter_descriptions': ['ParameterValue'],
    'launch_ros.substitutions': ['FindPackageShare']}
files = pytest.mark.parametrize('file', FILES, ids=[f.name for f in FILES])
#: parameters of the nodes of others that launch files start
OTHERS = {'robot_state_publisher': {'robot_description': '', 'use_sim_time': False},
          'rviz2': {'use_sim_time': False}}
#: why a launch file does without an argument
WITHOUT = {'rviz': {'two_arms': 'the frames of both arms have the same names',
                    'real_robot': "the robot's own robot_state_publisher is there"},
           'robot': {'real_robot': 'it is not of this package'}}
configs = pytest.mark.parametrize('config', CONFIGS, ids=[f.name for f in CONFIGS])


class Call(SimpleNamespace):
    """What a launch file called, with what."""

    def walk(self):
        """Yield this call and all calls in its arguments, in their order."""
        yield self
        waiting = [*self.args, *self.kwargs.values()]
        while waiting:
            item = waiting.pop(0)
            if isinstance(item, Call):
                yield from item.walk()
            elif isinstance(item, (list, tuple)):
                waiting[:0] = item
            elif isinstance(item, dict):
                waiting[:0] = item.values()


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


@pytest.mark.parametrize('argument', ['robot', 'use_sim_time', 'rviz'])
@files
def test_every_launch_file_takes_it(described, file, argument):
    """By itself or by including the one that does."""
    takes = {call.args[0] for call in everything(described, file)
             if call.kind == 'DeclareLaunchArgument'}
    name = file.name.removesuffix('.launch.py')
    assert (argument in takes) == (name not in WITHOUT.get(argument, {}))


def everything(described, file):
    """Return the calls of a launch file and of those it includes."""
    description = described(file)
    found = list(description.walk())
    for include in calls(description, 'IncludeLaunchDescription'):
        found += everything(described, ROOT.joinpath(*include.args[0].args[0][1:]))
    return found


def text(value, arguments):
    """Return what a substitution gives under launch arguments."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ''.join(text(item, arguments) for item in value)
    if value.kind == 'LaunchConfiguration':
        return arguments[value.args[0]]
    if value.kind == 'FileContent':
        return Path(text(value.args[0], arguments)).read_text()
    if value.kind == 'FindPackageShare':
        assert value.args == (PACKAGE,)
        return str(ROOT)
    assert value.kind == 'PathJoinSubstitution'
    return str(Path(*(text(part, arguments) for part in value.args[0])))


def resolved(found, **given):
    """Return the launch arguments, defaults in the order of declaration."""
    arguments = dict(given)
    for call in found:
        if call.kind == 'DeclareLaunchArgument' and call.args[0] not in arguments:
            arguments[call.args[0]] = text(call.kwargs['default_value'], arguments)
    return arguments


@files
def test_executables_are_installed(described, file):
    scripts = {e.name: e.value for e in distribution(PACKAGE).entry_points}
    started = calls(described(file), 'Node')
    assert started
    depends = {d.name for d in parse_package(str(ROOT)).exec_depends}
    for node in started:
        if node.kwargs['package'] == PACKAGE:
            module, function = scripts[node.kwargs['executable']].split(':')
            assert (ROOT / f'{module.replace(".", "/")}.py').is_file() and function == 'main'
            assert 'condition' not in node.kwargs
        else:
            assert node.kwargs['package'] in depends
            condition = node.kwargs['condition']
            assert condition.kind == 'IfCondition'
            assert condition.args[0].args == ('rviz',)


def test_rviz_shows_the_robot(described):
    """What is started then, and only then; its settings are about our topics and frames."""
    found = list(described(ROOT / 'launch' / 'simulator.launch.py').walk())
    assert resolved(found)['rviz'] == 'false'
    shown = [call for call in found if 'condition' in call.kwargs]
    assert {call.kwargs['executable'] for call in shown} == {'rviz2', 'robot_state_publisher'}
    option, path = next(c for c in shown if 'arguments' in c.kwargs).kwargs['arguments']
    assert option == '-d'
    settings = yaml.safe_load(Path(text(path, {})).read_text())['Visualization Manager']
    model = next(d for d in settings['Displays'] if d['Class'].endswith('/RobotModel'))
    assert model['Enabled'] and model['Description Topic']['Value'] == 'robot_description'
    assert model['Description Topic']['Durability Policy'] == 'Transient Local'
    for config in CONFIGS:
        links = [e.get('name') for e in urdf(config.stem).findall('link')]
        assert settings['Global Options']['Fixed Frame'] in links


def urdf(robot):
    return ElementTree.parse(ROOT / 'urdf' / f'{robot}.urdf').getroot()


@files
def test_files_are_shipped(described, file):
    description = described(file)
    robots = [call.kwargs.get('choices', ['arm7']) for call in calls(
        description, 'DeclareLaunchArgument') if call.args[0] == 'robot'] or [['']]
    for robot in robots[0]:
        arguments = resolved(everything(described, file), robot=robot)
        for name in ('params_file', 'description_file'):
            if arguments.get(name):
                assert Path(arguments[name]).is_file()
        for path in calls(description, 'PathJoinSubstitution'):
            joined = Path(text(path, arguments))
            assert joined.is_file() or joined.name == robot


@files
def test_one_argument_picks_the_robot(described, file):
    """Those can be picked whose parameters are there for all the nodes that are started."""
    found = everything(described, file)
    picks = [call for call in found if call.args[:1] == ('robot',)
             and call.kind == 'DeclareLaunchArgument']
    if not picks:
        assert file.name.removesuffix('.launch.py') in WITHOUT['robot']
        return
    started = {f'/**/{call.kwargs["executable"]}' for call in found if call.kind == 'Node'
               and call.kwargs['package'] == PACKAGE}
    assert picks[0].kwargs['choices'] == [
        c.stem for c in CONFIGS if started <= set(yaml.safe_load(c.read_text()))]
    arguments = resolved(found, robot='arm6')
    assert arguments['params_file'] == str(ROOT / 'config' / 'arm6.yaml')
    if 'description_file' in arguments:
        assert arguments['description_file'] == str(ROOT / 'urdf' / 'arm6.urdf')
        assert '<robot name="arm6">' in arguments['robot_description']
        own = resolved(found, robot='arm6', params_file='my.yaml',
                       description_file=str(ROOT / 'urdf' / 'pendulum.urdf'))
        assert own['params_file'] == 'my.yaml'
        assert '<robot name="pendulum">' in own['robot_description']


@files
def test_parameters_of_launch_files_are_declared_by_the_node(described, file, parameters_of):
    for node in calls(described(file), 'Node'):
        executable = node.kwargs['executable']
        declared = {**OTHERS, **parameters_of}[executable]
        given = {}
        for parameters in node.kwargs['parameters']:
            given.update(parameters if isinstance(parameters, dict) else {})
        for name, value in given.items():
            # text that looks like YAML must stay text
            assert value.kind == 'ParameterValue'
            assert value.kwargs == {'value_type': type(declared[name])}
        assert given['use_sim_time'].args[0].args == ('use_sim_time',)


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
    context, entities = read_by_launch(file)
    from launch.actions import DeclareLaunchArgument
    from launch_ros.actions import Node
    assert any(isinstance(entity, Node) for entity in entities)
    for entity in entities:
        if isinstance(entity, DeclareLaunchArgument):
            assert entity.description and entity.default_value is not None


def read_by_launch(file, **arguments):
    """Return the context and entities of a file, read by the real launch package."""
    pytest.importorskip('launch_ros', reason='the launch package is not on PyPI')
    from launch import LaunchContext
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    return context, PythonLaunchDescriptionSource(str(file)).get_launch_description(
        context).entities


def test_launch_picks_the_robot_and_tells_the_choices(monkeypatch):
    """The real launch package, from the argument to what the nodes get."""
    file = ROOT / 'launch' / 'simulator.launch.py'
    for rviz in ('false', 'true'):
        context, entities = read_by_launch(file, robot='arm6', rviz=rviz)
        from launch.actions import DeclareLaunchArgument
        from launch_ros.substitutions import FindPackageShare
        monkeypatch.setattr(FindPackageShare, 'find', lambda *_: str(ROOT))
        for entity in entities:
            if isinstance(entity, DeclareLaunchArgument):
                entity.execute(context)
        found = context.launch_configurations
        assert found['params_file'] == str(ROOT / 'config' / 'arm6.yaml')
        assert found['robot_description'] == (ROOT / 'urdf' / 'arm6.urdf').read_text()
        assert (found['use_sim_time'], found['publish_clock']) == ('false', 'false')
        running = [entity for entity in entities if not isinstance(entity, DeclareLaunchArgument)
                   and (entity.condition is None or entity.condition.evaluate(context))]
        assert len(running) == (3 if rviz == 'true' else 1)
    context, entities = read_by_launch(file, robot='arm8')
    with pytest.raises(RuntimeError, match=r'"robot" provided value "arm8" .* are: .*arm7'):
        for entity in entities:
            if isinstance(entity, DeclareLaunchArgument):
                entity.execute(context)


def test_ros2_run_finds_the_executables():
    """The scripts go where ros2 run and launch look for them."""
    settings = ConfigParser()
    settings.read(ROOT / 'setup.cfg')
    assert settings['install']['install_scripts'] == f'$base/lib/{PACKAGE}'
    assert settings['develop']['script_dir'] == f'$base/lib/{PACKAGE}'
