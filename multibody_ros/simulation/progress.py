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

"""A progress bar for long runs."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Iterable, Iterator, TypeVar

T = TypeVar('T')


def bar(items: Iterable[T], total: int, shown: bool) -> Iterator[T]:
    """Yield the items; with `shown` tell on stderr how many are done and how long it will take."""
    begun = told = monotonic()
    for count, item in enumerate(items, 1):
        yield item
        now = monotonic()
        if shown and (count == total or now - told > 0.2):
            told = now
            done = count / total
            left = (now - begun) * (1.0 - done) / done
            print(f'\r[{"#" * round(30 * done):30}] {count}/{total}, {left:.0f} s left ',
                  end='\n' if count == total else '', file=sys.stderr, flush=True)
