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

"""Child processes that never outlive the one that started them, however it ends."""

from __future__ import annotations

from contextlib import contextmanager
import json
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Callable, Iterator, Sequence

from . import reaper

#: the domain ids whose ports lie below the ephemeral ones of Linux
DOMAINS = 101


def free_domain() -> int:
    """
    Return a ROS domain id that no process of this machine uses.

    The first participant of domain d on a machine receives at port 7400 + 250 d + 10 (the RTPS
    standard, section 9.6.2.3).
    """
    for k in range(DOMAINS):
        domain = 1 + (os.getpid() + k) % DOMAINS
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', 7410 + 250 * domain))
                return domain
            except OSError:
                continue
    raise RuntimeError(f'the ROS domains 1 to {DOMAINS} are all in use on this machine')


def on_interruption(act: Callable[..., object]) -> dict[int, Any]:
    """
    Let `act` handle Ctrl-C, SIGTERM and a terminal that closes; return the handlers before.

    Ctrl-C counts even where it came ignored, as it does to what a script starts in the
    background; what nohup has started stays deaf to its terminal.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return {number: signal.signal(number, act) for number in numbers}


@contextmanager
def interruption_noted() -> Iterator[threading.Event]:
    """
    Note an interruption in an event; KeyboardInterrupt is raised at the end.

    Raised at once it could hit a callback of the executor, which logs it or loses it, or the
    moment between the start of a process and its entry in a list.
    """
    noted = threading.Event()
    before = on_interruption(lambda *_: noted.set())
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if noted.is_set():
        raise KeyboardInterrupt


class Processes:
    """Starts nodes of this package as processes of their own; `with` ends them all."""

    def __init__(self) -> None:
        """Begin with none."""
        self._children: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._reaper: subprocess.Popen[bytes] | None = None

    def start(self, node: str, parameters: dict[str, Any] | None = None,
              files: Sequence[Path] = (), namespace: str = '/') -> subprocess.Popen[bytes]:
        """Start multibody_ros.nodes.`node` in a session of its own, `files` being YAML."""
        arguments = ['--ros-args', '--log-level', 'warn', '-r', f'__ns:={namespace}']
        for file in files:
            arguments += ['--params-file', str(file)]
        for name, value in (parameters or {}).items():
            text = json.dumps(value) if isinstance(value, (bool, list)) else str(value)
            arguments += ['-p', f'{name}:={text}']
        return self.run([sys.executable, '-m', f'multibody_ros.nodes.{node}', *arguments], node)

    def run(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own."""
        if self._reaper is None:
            self._reaper = subprocess.Popen(
                [sys.executable, '-I', '-S', reaper.__file__], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._children.append((name, child))
        self._tell_reaper(f'+{child.pid}')
        return child

    def _tell_reaper(self, word: str) -> None:
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.write(f'{word}\n'.encode())
            self._reaper.stdin.flush()

    def ended(self) -> str | None:
        """Name a child that has ended although it should run, with its exit status."""
        for node, child in self._children:
            if child.poll() is not None:
                return f'{node} ended with status {child.returncode}'
        return None

    def forget(self, child: subprocess.Popen[bytes]) -> None:
        """Take a child off the list: it may end."""
        self._children = [(node, other) for node, other in self._children if other is not child]
        self._tell_reaper(f'-{child.pid}')

    def stop(self, patience: float = 3.0) -> None:
        """End all children: ask, insist, kill. A second Ctrl-C does not get in the way."""
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
        try:
            # SIGTERM first: it also ends, in silence, a Python that is still importing
            for how in (signal.SIGTERM, signal.SIGKILL):
                alive = [child for _, child in self._children if child.poll() is None]
                for child in alive:
                    os.killpg(child.pid, how)
                    # one that is stopped gets no other signal
                    os.killpg(child.pid, signal.SIGCONT)
                for child in alive:
                    try:
                        child.wait(patience)
                    except subprocess.TimeoutExpired:
                        continue
            self._dismiss_reaper()
        finally:
            if main:
                signal.signal(signal.SIGINT, before)

    def _dismiss_reaper(self) -> None:
        if self._reaper is not None:
            self._reaper.communicate(
                ''.join(f'-{child.pid}\n' for _, child in self._children).encode())
            self._reaper = None

    def __enter__(self) -> Processes:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all children, whatever happened."""
        self.stop()
