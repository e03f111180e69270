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
Object files kept on disk, so that a robot is compiled once.

A file is written under another name and then renamed, so that a reader sees it whole or not at
all; a digest of its key and content stands in front, so that damage, or a file under another's
name, is noticed. Whatever goes wrong with the directory, the caller gets None and compiles; the
first time it is logged.
"""

from __future__ import annotations

from contextlib import suppress
import hashlib
import logging
import os
from pathlib import Path
import stat
import tempfile

_log = logging.getLogger('multibody_ros')
_MAGIC = b'multibody_ros object 1\n'
#: names of our files, whole or partly written: the directory may be the user's own
_OURS = '[0-9a-f]' * 64 + '.*'
#: bytes kept; the files unused for longest go first
LIMIT = 512 * 2 ** 20

_told = False


def directory() -> Path:
    """Return where object files are kept: $MULTIBODY_CACHE_DIR, or below the user's cache."""
    chosen = os.environ.get('MULTIBODY_CACHE_DIR')
    if chosen:
        return Path(chosen)
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'multibody_ros'


def read(key: str) -> bytes | None:
    """Return the object file of `key`, or None if there is none that can be trusted."""
    try:
        path = directory() / f'{key}.o'
        _refuse_foreign(path.parent)
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        _tell(f'cannot read the code cache ({error}): compiling instead')
        return None
    image = content[len(_head(key, b'')):]
    if not content.startswith(_head(key, image)):
        _tell(f'{path} is damaged: compiling anew')
        return None
    with suppress(OSError):
        os.utime(path)
    return image


def write(key: str, image: bytes) -> None:
    """Keep an object file."""
    try:
        folder = directory()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_foreign(folder)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f'{key}.', suffix='.part')
        try:
            with os.fdopen(handle, 'wb') as file:
                file.write(_head(key, image) + image)
            os.replace(name, folder / f'{key}.o')
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        _prune(folder)
    except (OSError, RuntimeError) as error:
        _tell(f'cannot write the code cache ({error}): robots are compiled at every start')


def _head(key: str, image: bytes) -> bytes:
    """Return what stands in front of an object file."""
    return _MAGIC + hashlib.sha256(key.encode() + image).digest()


def _refuse_foreign(folder: Path) -> None:
    """Raise if others could have put code into the directory: it is run unseen."""
    status = folder.stat()
    if hasattr(os, 'getuid') and (status.st_uid != os.getuid()
                                  or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise PermissionError(f'{folder} can be written by other users')


def _prune(folder: Path) -> None:
    """Delete the files unused for longest until the rest fits the limit."""
    entries = []
    for path in folder.glob(_OURS):
        with suppress(OSError):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            break
        with suppress(OSError):
            path.unlink()
        total -= size


def _tell(message: str) -> None:
    """Log once a process: a control loop must not drown in it."""
    global _told
    if not _told:
        _told = True
        _log.warning(message)
