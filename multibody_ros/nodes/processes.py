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

"""Child processes that never outlive the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any


class Processes:
    """Starts nodes of this package as processes of their own; `with` ends them all."""

    def __init__(self) -> None:
        """Begin with none."""
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, node: str, parameters: dict[str, Any]) -> None:
        """Start multibody_ros.nodes.`node` in a session of its own."""
        arguments = ['--ros-args', '--log-level', 'warn']
        for name, value in parameters.items():
            arguments += ['-p', f'{name}:={value}']
        self._children[node] = subprocess.Popen(
            [sys.executable, '-m', f'multibody_ros.nodes.{node}', *arguments],
            stdin=subprocess.DEVNULL, start_new_session=True)

    def ended(self) -> str | None:
        """Name a child that has ended although it should run, with its exit status."""
        for node, child in self._children.items():
            if child.poll() is not None:
                return f'{node} ended with status {child.returncode}'
        return None

    def stop(self, patience: float = 3.0) -> None:
        """End all children: ask, insist, kill."""
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            alive = [child for child in self._children.values() if child.poll() is None]
            for child in alive:
                os.killpg(child.pid, how)
            for child in alive:
                try:
                    child.wait(patience)
                except subprocess.TimeoutExpired:
                    continue

    def __enter__(self) -> Processes:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all children, whatever happened."""
        self.stop()
