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

"""LLVM through llvmlite: assembly to an object file, an object file to callable code."""

from __future__ import annotations

from functools import cache
import threading

import llvmlite
import llvmlite.binding as llvm

if llvm.llvm_version_info < (16,):      # which wrote pointers with the type of what they point to
    raise ImportError(f'llvmlite {llvmlite.__version__} is too old for multibody_ros: it takes '
                      '0.45 or newer (pip install --upgrade llvmlite)')

_LOCK = threading.Lock()


@cache
def _machine(level: int) -> llvm.TargetMachine:
    """Return LLVM's description of the machine this runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features().flatten(), opt=level, jit=True,
        reloc='pic', codemodel='small')


@cache
def _features() -> llvm.FeatureMap:
    features = llvm.get_host_cpu_features()
    if features.get('avx512f'):
        # LLVM prefers 256-bit vectors on many of these CPUs; our vectors are wide on purpose
        features['prefer-256-bit'] = False
    return features


@cache
def identity() -> str:
    """Name all that decides what the code for this machine looks like, apart from the text."""
    return ' '.join([llvmlite.__version__, str(llvm.llvm_version_info),
                     llvm.get_default_triple(), llvm.get_host_cpu_name(), _features().flatten()])


@cache
def vector_width() -> int:
    """Return how many doubles a vector register of this CPU holds: 8, 4 or 2."""
    features = _features()
    return 8 if features.get('avx512f') else 4 if features.get('avx2') else 2


@cache
def fused() -> bool:
    """Tell whether this CPU multiplies and adds in one instruction."""
    # ARM's 64-bit instruction set always has it and does not list it
    arm = llvm.get_default_triple().startswith(('aarch64', 'arm64'))
    return arm or bool(_features().get('fma'))


def compile_text(text: str, level: int = 2) -> bytes:
    """Return the object file of LLVM assembly."""
    with _LOCK:
        machine = _machine(level)
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        return machine.emit_object(module)


class Library:
    """Loaded machine code. It stays in memory as long as this object."""

    def __init__(self, image: bytes) -> None:
        """Load an object file."""
        with _LOCK:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            machine = llvm.Target.from_default_triple().create_target_machine(
                jit=True, codemodel='jitdefault')
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(image))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return where a function starts; 0 if there is none of that name."""
        return self._engine.get_function_address(name)
