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
The XML of a robot file as a tree of elements that know their line; hostile text is refused.

Expat is used without namespaces, so that prefixes nobody declared (`drake:`, `xacro:`) are plain
names, and with its handlers, so that a DOCTYPE is refused before any entity is read.
"""

from __future__ import annotations

import os
from pathlib import Path
import re
from typing import Iterator, Union
from xml.parsers import expat

from .model import ModelError

Source = Union[str, bytes, 'os.PathLike[str]']

SIZE_LIMIT = 64 * 2**20
DEPTH_LIMIT = 200
TEXT_LIMIT = 1000
#: about 100 MB of memory, and three times what a chain of 10,000 links needs
ELEMENT_LIMIT = 300_000


class Element:
    """An XML element with the line it starts on."""

    __slots__ = ('tag', 'attrib', 'line', 'text', 'children')

    def __init__(self, tag: str, attrib: dict[str, str], line: int):
        self.tag = tag
        self.attrib = attrib
        self.line = line
        self.text = ''
        self.children: list[Element] = []

    def __iter__(self) -> Iterator[Element]:
        """Iterate over the elements directly inside."""
        return iter(self.children)

    def get(self, attribute: str, default: str = '') -> str:
        """Return the text of an attribute."""
        return self.attrib.get(attribute, default)

    def find(self, tag: str) -> Element | None:
        """Return the first element of this tag directly inside."""
        return next(self.findall(tag), None)

    def at(self, tag: str) -> Element:
        """Return the first element of this tag directly inside, or an empty one."""
        return self.find(tag) or Element(tag, {}, self.line)

    def findall(self, tag: str) -> Iterator[Element]:
        """Iterate over the elements of this tag directly inside."""
        return (child for child in self.children if child.tag == tag)

    def walk(self) -> Iterator[Element]:
        """Iterate over this element and all inside it, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def is_text(source: Source) -> bool:
    """Tell XML text from a file path: text starts with `<`."""
    if isinstance(source, str):
        return source.lstrip('\ufeff \t\r\n').startswith('<')
    return isinstance(source, (bytes, bytearray))


def read_source(source: Source) -> bytes:
    """Return the bytes of a file or of a text, at most `SIZE_LIMIT` of them."""
    if is_text(source):
        data = _encoded(source) if isinstance(source, str) else bytes(source)  # type: ignore
    elif not isinstance(source, (str, os.PathLike)):
        raise ModelError(
            f'a URDF is given as a path or as XML text, not as {type(source).__name__}')
    elif not str(source).strip():
        raise ModelError('the URDF is empty: give a path or XML text that starts with <robot')
    else:
        data = _read_file(Path(source))
    if len(data) > SIZE_LIMIT:
        raise ModelError(f'the URDF is larger than {SIZE_LIMIT // 2**20} MB and was not read')
    return data


def _encoded(text: str) -> bytes:
    """Return text as UTF-8; what its declaration says of an encoding was true of a file."""
    head = re.sub(r'\sencoding\s*=\s*("[^"]*"|\'[^\']*\')', '', text[:200], count=1) \
        if text.lstrip('\ufeff \t\r\n').startswith('<?xml') else text[:200]
    try:
        return (head + text[200:]).encode()
    except UnicodeEncodeError as error:
        raise ModelError(f'the URDF text is not valid Unicode: {error}') from None


def _read_file(path: Path) -> bytes:
    shown = repr(str(path)[:200])
    try:
        with open(path, 'rb') as stream:
            return stream.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise ModelError(f'there is no URDF file {shown}; XML text would start with <') from None
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(f'cannot read the URDF file {shown}: {reason}') from None


def parse(source: Source) -> Element:
    """Return the root element of a URDF given as a path or as text."""
    data = read_source(source)
    body = data.lstrip(b'\xef\xbb\xbf \t\r\n')
    parser = expat.ParserCreate()
    builder = _Builder(parser, line_offset=data[:len(data) - len(body)].count(b'\n'))
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        line = error.lineno + builder.line_offset
        raise ModelError(f'the URDF is not well-formed XML: {expat.ErrorString(error.code)} '
                         f'(line {line}, column {error.offset})') from None
    except ModelError:
        raise
    except (LookupError, ValueError, TypeError) as error:
        raise ModelError(f'the URDF has an encoding that cannot be read: {error}') from None
    return builder.root


class _Builder:
    """Turn expat's events into elements."""

    def __init__(self, parser: expat.XMLParserType, line_offset: int):
        self.parser = parser
        self.line_offset = line_offset
        self.stack: list[Element] = []
        self.count = 0
        self.root = Element('', {}, 0)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.line())
        self.count += 1
        if self.count > ELEMENT_LIMIT:
            raise ModelError(f'the URDF has more than {ELEMENT_LIMIT} elements '
                             f'(line {element.line})')
        if not self.stack:
            self.root = element
        elif len(self.stack) >= DEPTH_LIMIT:
            raise ModelError(f'the URDF nests elements more than {DEPTH_LIMIT} deep '
                             f'(<{tag[:40]}>, line {element.line})')
        else:
            self.stack[-1].children.append(element)
        self.stack.append(element)

    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.line_offset

    def end(self, tag: str) -> None:
        self.stack.pop()

    def text(self, text: str) -> None:
        # Numbers are short; adding up megabytes piece by piece would be quadratic.
        element = self.stack[-1]
        if len(element.text) < TEXT_LIMIT and not element.children:
            element.text += text

    def refuse(self, *declaration: object) -> None:
        raise ModelError(f'the URDF has a DOCTYPE (line {self.line()}); document types and '
                         'entities are refused, remove the declaration')
