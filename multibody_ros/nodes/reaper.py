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
A process that waits for the end of its parent and then ends what the parent had started.

Nothing else sees to that when the parent is killed, or hung up on: it has no chance to act, and
Linux's own PR_SET_PDEATHSIG is bound to the thread that starts a child. So the parent alone holds
the other end of this process's stdin, writes `+<group>` there for every process group it starts
and `-<group>` for every one that has ended; however the parent ends, the stream ends with it.
Python's standard library is all this needs, so it starts at once; see processes.Processes.
"""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic, sleep

#: seconds between asking a process to end and killing it
PATIENCE = 3.0


def left(words: list[str]) -> set[int]:
    """Return the process groups that were started and have not ended."""
    groups: set[int] = set()
    for word in words:
        (groups.add if word[0] == '+' else groups.discard)(int(word[1:]))
    return groups


def send(groups: set[int], number: int) -> set[int]:
    """Send a signal to process groups, 0: none at all, and return those that are there."""
    there = set()
    for group in groups:
        try:
            os.killpg(group, number)
            there.add(group)
        except (ProcessLookupError, PermissionError):
            continue
    return there


def main() -> None:
    """Wait, then ask, then kill."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # what ends the parent may be sent to all of its processes
        signal.signal(number, signal.SIG_IGN)
    groups = send(left(sys.stdin.read().split()), signal.SIGTERM)
    # one that is stopped gets no other signal
    send(groups, signal.SIGCONT)
    end = monotonic() + PATIENCE
    while monotonic() < end and send(groups, 0):
        sleep(0.05)
    send(groups, signal.SIGKILL)


if __name__ == '__main__':
    main()
