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

"""How compiled code reads its inputs from memory and writes its outputs to it."""

from __future__ import annotations

from typing import Callable, NamedTuple, TYPE_CHECKING

from .body import Body, Types
from .emit import Plan
from .rows import declarations, load_columns, store_columns

if TYPE_CHECKING:
    from .program import Program


class Block(NamedTuple):
    """Numbers of an output stored together: those from `start` on, or one vector of `width`."""

    output: int
    start: int
    values: list[int]
    width: int = 0


class OneState:
    """How the code for one state reads and writes memory."""

    def __init__(self, program: Program, types: Types) -> None:
        """Take the program's arrays."""
        self.program, self.types = program, types

    #: stores wait for the end: an output may be one of the inputs
    late = False

    def declarations(self, plan: Plan) -> set[str]:
        """Declare the functions the code may call, a line each."""
        body = Body(self.types)
        vectors = {body.side_by_side(width).types.declarations() for width in plan.widths if width}
        text = ''.join([self.types.declarations(), *vectors]) + self.types.library()
        return set(text.splitlines(keepends=True))

    def signature(self, name: str) -> str:
        """Return the type, the name and the parameters of a function."""
        return f'double @{name}({self.pointers()})'

    def pointers(self) -> str:
        """List the parameters."""
        return ', '.join(
            [f'ptr noalias readonly %i{k}' for k in range(len(self.program.inputs))]
            + [f'ptr noalias %o{k}' for k in range(len(self.program.outputs))])

    def loader(self, body: Body) -> Callable[[int, int], str]:
        """Return what loads a number of an input."""
        return lambda k, i: body.load(body.element(f'%i{k}', i))

    def blocks(self, plan: Plan) -> list[Block]:
        """Return the blocks of the outputs: vectors where all of one lie in a row."""
        blocks = []
        values = iter(plan.outputs)
        for k, output in enumerate(self.program.outputs):
            own = [next(values) for _ in range(output.size)]
            start = 0
            while start < len(own):
                vector = plan.source(own[start])
                width = plan.widths[vector]
                lanes = [plan.operations[i] for i in own[start:start + width]]
                if width and lanes == [('lane', vector, n) for n in range(width)]:
                    blocks.append(Block(k, start, [vector], width))
                else:
                    blocks.append(Block(k, start, [own[start]]))
                start += blocks[-1].width or 1
        return blocks

    def store(self, body: Body, block: Block, names: list[str]) -> None:
        """Store a block."""
        address = body.element(f'%o{block.output}', block.start)
        if block.width:
            body.side_by_side(block.width).store_lanes(names[0], 0, block.width, address)
        else:
            body.store(names[0], address)


class Batch(OneState):
    """How the code for `width` states reads and writes memory: rows there, columns here."""

    def declarations(self, plan: Plan) -> set[str]:
        """Declare the functions the code may call, a line each."""
        t = self.types
        text = t.declarations() + declarations(t) + t.library()
        return set(text.splitlines(keepends=True))

    def signature(self, name: str) -> str:
        """Return the type, the name and the parameters of a function."""
        return f'internal {self.types.double} @{name}({self.pointers()})'

    def loader(self, body: Body) -> Callable[[int, int], str]:
        """Return what loads a column of an input."""
        loaded: dict[tuple[int, int], str] = {}

        def load(k: int, i: int) -> str:
            given = self.program.inputs[k]
            if given.shared:
                scalar = body(f'load double, ptr {body.element(f"%i{k}", i)}')
                return body.spread(scalar)
            if (k, i) not in loaded:
                start, columns = load_columns(body, f'%i{k}', given.size, i)
                loaded.update({(k, start + j): name for j, name in enumerate(columns)})
            return loaded[k, i]

        return load

    def blocks(self, plan: Plan) -> list[Block]:
        """Return the blocks of the outputs: as many columns as a row's vector holds."""
        blocks, width = [], self.types.width
        values = iter(plan.outputs)
        for k, output in enumerate(self.program.outputs):
            own = [next(values) for _ in range(output.size)]
            for i in range(0, output.size, width):
                # the last one may overlap the one before
                start = min(i, max(0, output.size - width))
                blocks.append(Block(k, start, own[start:start + width]))
        return blocks

    def store(self, body: Body, block: Block, names: list[str]) -> None:
        """Store a block."""
        size = self.program.outputs[block.output].size
        store_columns(body, f'%o{block.output}', size, block.start, names)


class Lanes(OneState):
    """How a step of a flow reads and writes memory: lanes side by side, outputs over inputs."""

    late = True

    def __init__(self, program: Program, types: Types, shared: tuple[bool, ...]) -> None:
        """Take the program's arrays; `shared` ones hold one number for all lanes."""
        super().__init__(program, types)
        self.shared = shared

    def signature(self, name: str) -> str:
        """Return the type, the name and the parameters of a function."""
        return f'internal void @{name}({self.pointers()})'

    def pointers(self) -> str:
        """List the parameters."""
        return ', '.join([f'ptr %i{k}' for k in range(len(self.program.inputs))]
                         + [f'ptr %o{k}' for k in range(len(self.program.outputs))])

    def loader(self, body: Body) -> Callable[[int, int], str]:
        """Return what loads a number of an input."""
        def load(k: int, i: int) -> str:
            if self.shared[k] and body.types.width > 1:
                return body.spread(body(f'load double, ptr {body.element(f"%i{k}", i)}'))
            return body.load(body.element(f'%i{k}', i, body.types.double))
        return load

    def blocks(self, plan: Plan) -> list[Block]:
        """Return the blocks of the outputs, one a number."""
        values = iter(plan.outputs)
        return [Block(k, i, [next(values)]) for k, output in enumerate(self.program.outputs)
                for i in range(output.size)]

    def store(self, body: Body, block: Block, names: list[str]) -> None:
        """Store a block."""
        body.store(names[0], body.element(f'%o{block.output}', block.start, body.types.double))
