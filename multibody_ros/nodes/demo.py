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

"""The demonstration: simulator and controller as two processes, an arm that tracks a motion."""

from __future__ import annotations

import argparse
from contextlib import suppress
import os
from pathlib import Path
import sys
import tempfile

from .processes import DOMAINS, free_domain, on_interruption
from ..commands.options import between

#: tracking worse than this many rad or m is a failure; an idle machine comes to 0.003
TOLERANCE = 0.05


def add_demo_options(parser: argparse.ArgumentParser) -> None:
    """Say what `multibody demo` understands."""
    parser.add_argument('--seconds', type=between(2.0, 3600.0), default=10.0,
                        help='length of the motion (default: %(default)g)')
    parser.add_argument('--rate', type=between(1.0, 10_000.0), default=1000.0,
                        help='control rate in Hz (default: %(default)g)')
    parser.add_argument('--description', type=Path, default=None, metavar='FILE',
                        help='URDF of another robot than the shipped 7-joint arm')
    parser.add_argument('--plot', type=Path, default=Path('multibody_demo.png'), metavar='FILE',
                        help='PNG to write (default: %(default)s)')
    parser.add_argument('--domain-id', type=int, default=None, choices=range(1, DOMAINS + 1),
                        metavar='ID', help='ROS domain to use (default: one nobody uses here)')


def run_demo(options: argparse.Namespace) -> int:
    """Run the demonstration and return the exit status."""
    on_interruption(_interrupt)
    try:
        return _run(options)
    except KeyboardInterrupt:
        _complain('\nmultibody demo: interrupted, all processes ended')
        return 130
    except (RuntimeError, OSError, ValueError) as error:
        _complain(f'multibody demo: {error}')
        return 1


def _run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix='multibody_demo_') as logs:
        os.environ.update(ROS_DOMAIN_ID=str(options.domain_id or free_domain()),
                          ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', ROS_LOG_DIR=logs)
        try:
            from .demo_run import record
        except ImportError as error:
            print(f'multibody demo: ROS 2 is not there ({error}); source a ROS 2 installation '
                  "or: pip install 'multibody_ros[ros]'", file=sys.stderr)
            return 2
        result = record(options.description, options.seconds, options.rate)
    from .demo_report import plot, table
    print(table(result))
    try:
        plot(result, options.plot)
        print(f'plot: {options.plot.resolve()}')
    except ImportError as error:
        print(f"no plot: {error}; pip install 'multibody_ros[plot]'")
    worst = float(abs(result.error).max())
    if worst > TOLERANCE:
        print(f'multibody demo: tracking failed: error up to {worst:.3g} rad or m, allowed is '
              f'{TOLERANCE:g}', file=sys.stderr)
        return 1
    return 0


def _complain(text: str) -> None:
    # the terminal may be gone: that is one way to interrupt
    with suppress(OSError):
        print(text, file=sys.stderr)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
