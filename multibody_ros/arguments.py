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

"""From what users pass to arrays the compiled code takes, with errors that name the culprit."""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model.coordinates import Coordinates
from .model.finding import choices
from .model.model import ModelError

Array = NDArray[np.float64]
_FLOAT = np.dtype(np.float64)
#: rad or m above which no angle or place can be told; sines are exact up to 1e6 (compiler.body)
FAR = 1e9


def vector(robot: str, name: str, value: ArrayLike, size: int, names: Sequence[str] = ()) -> Array:
    """Return `value` as float64 with `size` entries along its last axis."""
    if type(value) is np.ndarray and value.dtype is _FLOAT and value.flags.c_contiguous \
            and value.ndim and value.shape[-1] == size:
        return value
    try:
        given = np.asarray(value)
        # complex numbers must not lose a part, and None is not NaN
        real = given.dtype.kind in 'fiub' or (
            given.dtype.kind == 'O' and all(x is not None for x in given.ravel()))
        array = np.ascontiguousarray(given, dtype=np.float64) if real else None
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise ValueError(f'{name} must hold real numbers, not {_shown(value)}')
    if np.ndim(value) == 0 or array.shape[-1] != size:
        shape = np.shape(value)
        joints = f' ({choices(names)})' if names else ''
        raise ValueError(f"{name} must have {size} entries for robot '{robot}'{joints}, "
                         f'not {f"shape {shape}" if shape else "a single number"}')
    return array


def together(arrays: Sequence[Array]) -> tuple[list[Array], tuple[int, ...]]:
    """Return arrays of rows with the batch axes they have in common, and these axes."""
    shapes = [array.shape[:-1] for array in arrays]
    if len(set(shapes)) == 1 and len(shapes[0]) <= 1:
        return list(arrays), shapes[0]
    batch = _common(shapes)
    if not batch:
        return list(arrays), batch
    rows = int(np.prod(batch))
    return [np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1]))).reshape(
        rows, x.shape[-1]) for x in arrays], batch


def per_row(name: str, value: ArrayLike, *arrays: Array) -> Array:
    """Return one number, or as a column one for each row that `arrays` have together."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f'{name} must hold real numbers, not {_shown(value)}') from None
    if not np.isfinite(array).all():
        raise ValueError(f'{name} must be finite, not {_shown(value)}')
    batch = _common([x.shape[:-1] for x in arrays])
    if array.shape not in ((), batch, (*batch, 1)):
        rows = f' or one a row, shape {batch}' if batch else ''
        raise ValueError(f'{name} must be one number{rows}, not shape {array.shape}')
    return array[..., None] if array.shape == batch else array


def complain(robot: str, coordinates: Coordinates, inputs: Mapping[str, Array]) -> None:
    """Raise ValueError for the first input not finite, far out, or without a quaternion."""
    for name, array in inputs.items():
        index = coordinates.q_index if array.shape[-1] == coordinates.nq and name[0] == 'q' \
            else coordinates.v_index
        bad = np.argwhere(~(np.abs(array) <= FAR if name[0] == 'q' else np.isfinite(array)))
        if len(bad):
            *row, column = (int(k) for k in bad[0])
            value = array[tuple(bad[0])]
            reason = f', beyond {FAR:g} no pose can be told' if np.isfinite(value) else ''
            raise ValueError(f'{name} is {value} at {_joint(index, column)} of '
                             f"robot '{robot}'{_of_row(row)}{reason}")
        for place in coordinates.quaternions() if name[0] == 'q' else ():
            zero = np.argwhere(~array[..., place].any(axis=-1))
            if len(zero):
                raise ValueError(f'{name} has a quaternion of length zero at '
                                 f"{_joint(index, place.start)} of robot '{robot}'"
                                 + _of_row([int(k) for k in zero[0]]))


def known(robot: str, kind: str, name: object, names: Sequence[str]) -> str:
    """Return `name` if it is one of `names`."""
    if name not in names:
        raise ModelError(f"robot '{robot}' has no {kind} {name!r}, only: "
                         + choices(names, str(name)))
    return str(name)


def _common(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError('the batch axes do not fit together: '
                         + ', '.join(map(str, shapes))) from None


def _joint(index: Mapping[str, slice], column: int) -> str:
    for name, place in index.items():
        if place.start <= column < place.stop:
            part = f'[{column - place.start}]' if place.stop - place.start > 1 else ''
            return f"joint '{name}'{part}"
    return f'entry {column}'


def _of_row(row: Sequence[int]) -> str:
    return f', row {row[0] if len(row) == 1 else tuple(row)}' if row else ''


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f'{text[:57]}...'
