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
The control loop over ROS 2 beside bare rclpy with the same messages, in one interleaved run.

lockstep: cycles per second of simulator and computed torque controller as a fraction of a bare
ping-pong. free: simulator and controller at 1 kHz; the simulator measures rate, jitter and the
time from state to command, once with the controller and once with a bare echo in its place. The
pairs of processes take turns: who has to wait is stopped (SIGSTOP).
"""

from __future__ import annotations

from contextlib import contextmanager
import os
from pathlib import Path
import signal
from statistics import median
import sys
import tempfile
from time import monotonic
from typing import Any, Callable, Iterator

from diagnostic_msgs.msg import DiagnosticArray
from multibody_ros import load_urdf
from multibody_ros.nodes.executor import make_executor
from multibody_ros.nodes.processes import free_domain, Processes
from multibody_ros.resources import resource
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from report import at_least, at_most, machine, parser, save, table
from std_msgs.msg import Float64

BARE = str(Path(__file__).with_name('bare_nodes.py'))
START = np.array([0.0, 0.5, 0.0, -1.4, 0.0, 0.9, 0.0])
CONFIG = resource('config/arm7.yaml')
URDF = resource('urdf/arm7.urdf')
PACKAGES = ('multibody_ros', 'ros-jazzy-rclpy', 'ros-jazzy-rmw-fastrtps-cpp', 'numpy')


class Watcher(Node):
    """Collects the reports, one a second and node."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__('watcher')
        self.reports: dict[str, list[dict[str, str]]] = {}
        self.rates: list[float] = []
        self.executor_ = make_executor()
        self.executor_.add_node(self)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_report, 100)
        self.create_subscription(Float64, '/bare/ping/rate',
                                 lambda message: self.rates.append(message.data), 10)

    def spin_until(self, done: Callable[[], Any], processes: Processes) -> None:
        """Wait, as long as all processes live and no longer than a minute."""
        end = monotonic() + 60.0
        while not done():
            if processes.ended() or monotonic() > end:
                raise RuntimeError(processes.ended() or 'no reports for a minute')
            self.executor_.spin_once(timeout_sec=0.1)

    def _on_report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.reports.setdefault(status.name, []).append(
                {item.key: item.value for item in status.values})


@contextmanager
def running(processes: list[Any]) -> Iterator[None]:
    """Let stopped processes run for a while."""
    for process in processes:
        os.kill(process.pid, signal.SIGCONT)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGSTOP)


def weight() -> list[str]:
    """Return the efforts that carry the arm at the start."""
    return [str(x) for x in load_urdf(URDF).gravity_torque(START).tolist()]


def bare(processes: Processes, role: str, namespace: str) -> Any:
    """Start a bare node in a namespace."""
    return processes.run([sys.executable, BARE, role, *weight(), '--ros-args', '-r',
                          f'__ns:={namespace}'], role)


def lockstep(watcher: Watcher, processes: Processes, rounds: int) -> dict[str, Any]:
    """Compare cycles per second."""
    ours = [processes.start('simulator', {'lockstep': True}, [CONFIG], '/ours'),
            processes.start('computed_torque_controller', {'state_timeout': 3600.0}, [CONFIG],
                            '/ours')]
    theirs = [bare(processes, 'ping', '/bare'), bare(processes, 'echo', '/bare')]
    reports = watcher.reports.setdefault('/ours/simulator', [])
    watcher.spin_until(lambda: len(reports) > 2 and float(reports[-1]['steps per second']) > 100.0
                       and watcher.rates and watcher.rates[-1] > 100.0, processes)
    for process in (*ours, *theirs):
        os.kill(process.pid, signal.SIGSTOP)
    cycles: dict[str, list[float]] = {'nodes': [], 'bare': []}
    for _ in range(rounds):
        with running(ours):
            # the first report counts the time of standing still
            count = len(reports)
            watcher.spin_until(lambda count=count: len(reports) >= count + 3, processes)
            cycles['nodes'].append(float(reports[-1]['steps per second']))
        with running(theirs):
            count = len(watcher.rates)
            watcher.spin_until(lambda count=count: len(watcher.rates) >= count + 3, processes)
            cycles['bare'].append(watcher.rates[-1])
    share = median(a / b for a, b in zip(cycles['nodes'], cycles['bare']))
    print(table(('lock-step, 7 joints', 'cycles per second', 'best'),
                [(name, median(values), max(values)) for name, values in cycles.items()]))
    print(f'nodes as a share of bare rclpy: {share:.3f}, goal {at_least(share, 0.8)}')
    factor = median(cycles['nodes']) / 1000.0
    print(f'10 s at 1 kHz take {10.0 / factor:.2f} s: real-time factor '
          f'{factor:.2f}, goal {at_least(factor, 1.0)}\n')
    return {'cycles per second': cycles, 'share': share}


def free(watcher: Watcher, processes: Processes, rounds: int) -> dict[str, Any]:
    """Compare latencies at 1 kHz."""
    pairs = {}
    for name in ('controller', 'echo'):
        simulator = processes.start('simulator', {'command_timeout': 3600.0}, [CONFIG],
                                    f'/{name}')
        other = bare(processes, 'echo', '/echo') if name == 'echo' else processes.start(
            'computed_torque_controller', {'state_timeout': 3600.0}, [CONFIG], f'/{name}')
        pairs[name] = [simulator, other]
    for name, pair in pairs.items():
        reports = watcher.reports.setdefault(f'/{name}/simulator', [])
        watcher.spin_until(lambda reports=reports: reports and reports[-1]['mode'] == 'commanded',
                           processes)
        for process in pair:
            os.kill(process.pid, signal.SIGSTOP)
    rows: dict[str, dict[str, list[float]]] = {name: {} for name in pairs}
    for _ in range(rounds):
        for name, pair in pairs.items():
            reports = watcher.reports[f'/{name}/simulator']
            with running(pair):
                count = len(reports)
                watcher.spin_until(lambda r=reports, n=count: len(r) >= n + 2, processes)
                before, wall = [used(process.pid) for process in pair], monotonic()
                watcher.spin_until(lambda r=reports, n=count: len(r) >= n + 5, processes)
                wall = monotonic() - wall
                cpu = [100.0 * (used(process.pid) - b) / wall for process, b in zip(pair, before)]
            values = {key: float(value) for key, value in reports[-1].items()
                      if key.startswith(('steps per', 'period', 'recent'))}
            for key, value in {**values, 'CPU simulator %': cpu[0], 'CPU other %': cpu[1]}.items():
                rows[name].setdefault(key, []).append(value)
    print(table(('1 kHz, free-running', *pairs),
                [(key, *(median(rows[name][key]) for name in pairs))
                 for key in rows['controller']]))
    latency = {name: median(rows[name]['recent round trip p50 us']) for name in pairs}
    share = latency['controller'] / latency['echo']
    print(f"the controller's latency over the echo's: {share:.3f}, goal {at_most(share, 1.15)}")
    return {'rows': rows, 'latency share': share}


def used(pid: int) -> float:
    """Return the seconds of CPU a process has used."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main() -> int:
    """Measure, print, write JSON."""
    sections = {'lockstep': lockstep, 'free': free}
    options = parser(__doc__.splitlines()[1], list(sections)).parse_args()
    content = machine(PACKAGES)
    with tempfile.TemporaryDirectory() as logs:
        os.environ.update(ROS_DOMAIN_ID=str(free_domain()), ROS_LOG_DIR=logs,
                          ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST')
        for name in options.only:
            rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
            processes = Processes()
            try:
                with processes:
                    watcher = Watcher()
                    content[name] = sections[name](watcher, processes, 3 if options.quick else 15)
            finally:
                rclpy.try_shutdown()
    save(options, 'nodes', content)
    return 0


if __name__ == '__main__':
    sys.exit(main())
