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

"""What the model doctor says about one element of a robot file."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Iterable

from .document import Element


@dataclass(frozen=True)
class Finding:
    """One statement about the model; severity is 'error', 'warning' or 'note'."""

    severity: str
    #: the element it is about, e.g. "link 'elbow' <inertia> (line 12)"
    element: str
    message: str
    #: what to do about it
    advice: str = ''

    def __str__(self) -> str:
        """Return the finding as one sentence."""
        advice = f'; {self.advice}' if self.advice else ''
        return f'{self.element}: {self.message}{advice}'


def quoted(name: str, limit: int = 60) -> str:
    """Return a name in quotes: escaped where it cannot be printed, cut where it is long."""
    return repr(name if len(name) <= limit else name[:limit] + '...')


def place(element: Element, *inside: Element) -> str:
    """Name an element for a human: its tag, its name, the tags inside, the line."""
    name = element.get('name')
    text = f'{element.tag[:40]} {quoted(name)}' if name else f'<{element.tag[:40]}>'
    tags = ''.join(f' <{child.tag[:40]}>' for child in inside)
    return f'{text}{tags} (line {(inside or (element,))[-1].line})'


def choices(names: Iterable[str], wanted: str = '', limit: int = 12) -> str:
    """List the names one may choose from: if there are many, the nearest to the wanted one."""
    known = list(names)
    near: list[str] = []
    # Comparing takes as long as the product of the lengths: not for names made to be slow.
    if limit < len(known) <= 500 and 0 < len(wanted) <= 80:
        near = get_close_matches(wanted, [name for name in known if len(name) <= 80], limit)
    text = ', '.join(_plain(name) for name in (near or known)[:limit])
    if len(known) > limit:
        text += f', ... ({len(known)} in all)'
    return text or '(none)'


def _plain(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else quoted(name)
