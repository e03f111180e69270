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

"""What a simulation remembers: states, torques by cause, energies; to and from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Log:
    """
    Samples over time.

    arrays: 't' (n,), 'q' (n, nq), 'v' 'a' 'tau' and the torques by cause (n, nv), 'theta' and
    'omega' of elastic joints, 'energies' (n, 3) kinetic, gravity, springs, 'work' (n, 5) in the
    order of structure.WORK. joint_names name the columns of velocities, q_names those of q.
    """

    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    arrays: dict[str, Array]

    def __getattr__(self, name: str) -> Array:
        """Return an array by its name."""
        arrays: dict[str, Array] = self.__dict__.get('arrays', {})
        if name.startswith('__') or name not in arrays:
            raise AttributeError(f"the log has no '{name}', only: " + ', '.join(arrays))
        return arrays[name]

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.arrays['t'])

    def save(self, path: str | Path) -> None:
        """Write .npz, .csv or .mcap, by the name's ending."""
        _by_ending(path, _WRITERS)(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Log:
        """Read what `save` wrote."""
        log: Log = _by_ending(path, _READERS)(Path(path))
        return log


def _by_ending(path: str | Path, functions: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    ending = Path(path).suffix
    if ending not in functions:
        raise ValueError(f"cannot tell the format of '{path}', only: " + ', '.join(functions))
    return functions[ending]


def _write_npz(log: Log, path: Path) -> None:
    np.savez_compressed(path, allow_pickle=False, joint_names=np.array(log.joint_names),
                        q_names=np.array(log.q_names), **log.arrays)


def _read_npz(path: Path) -> Log:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    joints, positions = (tuple(arrays.pop(x).tolist()) for x in ('joint_names', 'q_names'))
    return Log(joints, positions, arrays)


def _columns(log: Log) -> list[tuple[str, str]]:
    """Return (array, what its column is) of every column."""
    columns = []
    for name, array in log.arrays.items():
        width = 0 if array.ndim == 1 else array.shape[1]
        if name == 'q':
            words = log.q_names
        elif width == len(log.joint_names):
            words = log.joint_names
        else:
            words = tuple(map(str, range(width)))
        columns += [(name, '')] if array.ndim == 1 else [(name, word) for word in words]
    return columns


def _write_csv(log: Log, path: Path) -> None:
    import csv
    rows = np.concatenate([x.reshape(len(log), -1) for x in log.arrays.values()], axis=1)
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow([f'{name}.{word}' if word else name for name, word in _columns(log)])
        writer.writerows([[repr(x) for x in row] for row in rows.tolist()])


def _read_csv(path: Path) -> Log:
    import csv
    with path.open(newline='') as file:
        head, *rows = csv.reader(file)
    try:
        numbers = np.array(rows, dtype=np.float64).reshape(len(rows), len(head))
    except ValueError as error:
        raise ValueError(f"'{path}' is not a log: {error}") from None
    arrays: dict[str, Array] = {}
    words: dict[str, list[str]] = {}
    for column, title in enumerate(head):
        name, _, word = title.partition('.')
        words.setdefault(name, []).append(word)
        part = numbers[:, column] if not word else numbers[:, column:column + 1]
        arrays[name] = np.concatenate([arrays[name], part], axis=1) if name in arrays else part
    if not {'t', 'q', 'v'} <= set(arrays):
        raise ValueError(f"'{path}' is not a log: it has no columns t, q and v")
    return Log(tuple(words['v']), tuple(words['q']), arrays)


def _write_mcap(log: Log, path: Path) -> None:
    from .mcap_log import write
    write(log, path)


def _read_mcap(path: Path) -> Log:
    from .mcap_log import read
    return read(path)


_WRITERS = {'.npz': _write_npz, '.csv': _write_csv, '.mcap': _write_mcap}
_READERS = {'.npz': _read_npz, '.csv': _read_csv, '.mcap': _read_mcap}
