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

"""Text for a terminal: tables, wrapped lines, names that cannot steer it."""

from __future__ import annotations

import textwrap
from typing import Any, Mapping, Sequence

#: columns a line may have where words allow it
WIDTH = 96
#: rows of a table that are shown
ROWS = 200

Row = Mapping[str, Any]


def printable(text: str) -> str:
    """Return the text without characters that steer a terminal, cut to a readable length."""
    text = ''.join(c if c.isprintable() else '?' for c in text)
    return text if len(text) <= 400 else text[:400] + '...'


def wrapped(label: str, text: str, indent: int = 0) -> list[str]:
    """Return label and text in lines that hang below the text's first word."""
    lines = textwrap.wrap(printable(text), WIDTH - indent, break_long_words=False,
                          break_on_hyphens=False) or ['']
    return [(label if k == 0 else '').ljust(indent) + line for k, line in enumerate(lines)]


def table(rows: Sequence[Row], title: str, fold: bool = False) -> list[str]:
    """Return a table; with `fold`, what is the same in all rows is told above it instead."""
    names = list(rows[0])
    alike = [name for name in names[1:]
             if fold and len(rows) > 1 and all(row[name] == rows[0][name] for row in rows)]
    told = [f'{name} {cell(rows[0][name])}' for name in alike if rows[0][name] is not None]
    names = [name for name in names if name not in alike]
    cells = [names, *([cell(row[name]) for name in names] for row in rows[:ROWS])]
    widths = [max(map(len, column)) for column in zip(*cells)]
    # Numbers are compared down a column, so their ends go below each other.
    left = [any(isinstance(row[name], str) for row in rows) for name in names]
    lines = wrapped('', title)
    if told:
        lines += wrapped('', 'the same for all: ' + ', '.join(told))
    for line in cells:
        lines.append('  '.join(
            text.ljust(width) if to_left else text.rjust(width)
            for text, width, to_left in zip(line, widths, left)).rstrip())
    if len(rows) > ROWS:
        lines.append(f'... {len(rows) - ROWS} more, all of them in the JSON')
    return lines


def cell(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return '-'
    if isinstance(value, float):
        return f'{value:.4g}'
    text = printable(str(value))
    return text if len(text) <= 60 else text[:57] + '...'
