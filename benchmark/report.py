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
What all benchmarks here share to show results: options, table, plot, JSON file.

A benchmark takes its options from `parser(description, sections)`, prints `table(head, rows)`,
draws on the axes of `with figure('name.png') as axes`, and ends with `save(options, 'name', ...)`,
whose content begins with `machine(packages)`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
import json
import os
from pathlib import Path
import platform
from typing import Any, Iterable, Iterator, Sequence

#: results go here; git ignores it
OUT = Path(__file__).resolve().parents[1] / 'out'


def parser(description: str, sections: Sequence[str]) -> ArgumentParser:
    """Return the options that every benchmark takes."""
    result = ArgumentParser(description=description)
    result.add_argument('--quick', action='store_true',
                        help='a tenth of the repeats: noisier, for a first look')
    result.add_argument('--only', nargs='+', choices=sections, default=list(sections),
                        metavar='SECTION', help=f'measure only some of: {", ".join(sections)}')
    result.add_argument('--json', type=Path, metavar='FILE',
                        help='where the JSON file goes, by default into out/')
    return result


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as lines of text: words to the left, numbers to the right, None as a dash."""
    words = [[_word(x) for x in row] for row in rows]
    widths = [max(len(line[k]) for line in [list(head), *words]) for k in range(len(head))]
    left = [any(line[k][0].isalpha() or line[k][0] in '<>' for line in words)
            for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return '  '.join(cell.ljust(width) if is_left else cell.rjust(width)
                         for cell, width, is_left in zip(cells, widths, left)).rstrip()

    return '\n'.join([line(head), line(['-' * width for width in widths]), *map(line, words)])


def _word(x: Any) -> str:
    if x is None:
        return '-'
    if isinstance(x, float):
        return f'{x:.3g}' if abs(x) < 100.0 else f'{x:.0f}'
    return str(x)


def at_least(value: float, goal: float) -> str:
    """Return a goal and whether a value reaches it."""
    return f'>= {goal:g} ' + ('reached' if value >= goal else 'MISSED')


def at_most(value: float, goal: float) -> str:
    """Return a limit and whether a value keeps it."""
    return f'<= {goal:g} ' + ('kept' if value <= goal else 'MISSED')


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """Return what the numbers depend on: CPU, Python, versions; no names of hosts or users."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
        cpu = next(line.split(':')[1].strip() for line in lines if line.startswith('model name'))
    except (OSError, StopIteration):
        pass
    return {'cpu': cpu, 'cores': os.cpu_count(), 'python': platform.python_version(),
            'packages': {name: installed(name) for name in packages}}


def installed(package: str) -> str | None:
    """Return the version of a package from PyPI, None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def save(options: Namespace, name: str, content: Any) -> Path:
    """Write the JSON file and say where."""
    path: Path = options.json or OUT / f'{name}.json'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + '\n')
    print(f'wrote {path.name}')
    return path


@contextmanager
def figure(name: str, columns: int = 1, width: float = 6.0) -> Iterator[Any]:
    """Give a row of axes to draw in, then write the PNG into out/ and say where."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    picture, axes = pyplot.subplots(1, columns, figsize=(width * columns, 4.5), squeeze=False)
    yield axes[0]
    picture.tight_layout()
    OUT.mkdir(exist_ok=True)
    picture.savefig(OUT / name, dpi=120)
    pyplot.close(picture)
    print(f'wrote {name}')
