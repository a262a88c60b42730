"""Executes PTX, one thread after the other: as much of the language as nvcc makes of csrc/device/kernels.cu.

Memory is what was given, byte for byte: an access outside of it, unaligned, or a store to what may only be read, raises PtxError.
Semantics are those of NVIDIA's "Parallel Thread Execution ISA".
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

BASE = 0x7F00_0000_0000
GAP = 1 << 20
COMPARISONS: dict[str, Callable[[int, int], bool]] = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "mul": operator.mul,
}


class PtxError(Exception):
    """What a GPU would answer with an error, or this interpreter does not know."""


@dataclass
class Memory:
    """Arrays at addresses, with room between them."""

    extents: list[tuple[int, np.ndarray[Any, Any], bool]] = field(default_factory=list)

    def place(self, array: np.ndarray[Any, Any], read_only: bool = False, shift: int = 0) -> int:
        """Return the address of an array, `shift` bytes behind a multiple of 256."""
        address = BASE + GAP * len(self.extents) + shift
        self.extents.append((address, array.reshape(-1).view(np.uint8), read_only))
        return address

    def load(self, address: int, size: int, parts: int) -> list[int]:
        """Return `parts` numbers of `size` bytes."""
        found, _ = self._bytes(address, size, parts)
        return [int.from_bytes(found[size * part : size * (part + 1)].tobytes(), "little") for part in range(parts)]

    def store(self, address: int, size: int, values: list[int]) -> None:
        """Write numbers of `size` bytes."""
        found, read_only = self._bytes(address, size, len(values))
        if read_only:
            raise PtxError(f"a store to {address:#x}, which may only be read")
        found[:] = np.frombuffer(b"".join((value & mask(8 * size)).to_bytes(size, "little") for value in values), np.uint8)

    def _bytes(self, address: int, size: int, parts: int) -> tuple[np.ndarray[Any, Any], bool]:
        if address % (size * parts):
            raise PtxError(f"{parts} x {size} bytes at {address:#x}, which is not aligned")
        for base, content, read_only in self.extents:
            if base <= address and address + size * parts <= base + len(content):
                return content[address - base : address - base + size * parts], read_only
        raise PtxError(f"{parts} x {size} bytes at {address:#x}, where nothing is")


@dataclass(frozen=True)
class Instruction:
    """`@guard name.suffixes operands`; a guard that begins with "!" must be false."""

    guard: str
    words: list[str]
    operands: list[str]


@dataclass(frozen=True)
class Kernel:
    """An entry: the names of its parameters, its instructions, and where labels stand."""

    parameters: list[str]
    code: list[Instruction]
    labels: dict[str, int]


def parse(text: str) -> dict[str, Kernel]:
    """Return the kernels of a module by name."""
    found = {}
    for name, parameters, body in re.findall(r"\.entry (\w+)\(([^)]*)\)\s*\{(.*?)^\}", text, re.S | re.M):
        code: list[Instruction] = []
        labels: dict[str, int] = {}
        for line in (line.partition("//")[0].strip() for line in body.splitlines()):
            if label := re.fullmatch(r"([$\w]+):", line):
                labels[label[1]] = len(code)
            elif line and not line.startswith("."):
                written = re.fullmatch(r"(?:@(!?%\w+)\s+)?([\w.]+)\s*(.*);", line)
                if not written:
                    raise PtxError(f"no instruction: {line}")
                operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", written[3])
                code.append(Instruction(written[1] or "", written[2].split("."), operands))
        found[name] = Kernel(re.findall(r"\.param \.u64 (\w+)", parameters), code, labels)
    return found


def launch(kernel: Kernel, grid: tuple[int, int], block: int, arguments: list[int], memory: Memory) -> None:
    """Run all threads of a grid; raises PtxError."""
    if len(arguments) != len(kernel.parameters):
        raise PtxError(f"{len(arguments)} arguments for {len(kernel.parameters)} parameters")
    given = dict(zip(kernel.parameters, arguments, strict=True))
    for y, x, thread in product(range(grid[1]), range(grid[0]), range(block)):
        special = {"%ctaid.x": x, "%ctaid.y": y, "%tid.x": thread, "%ntid.x": block, "%nctaid.x": grid[0], "%nctaid.y": grid[1]}
        Thread(kernel, given, special, memory).run()


def mask(bits: int) -> int:
    """Return the largest number of so many bits."""
    return (1 << bits) - 1


def signed(value: int, bits: int) -> int:
    """Return what so many bits say as a signed number."""
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


class Thread:
    """One thread: its registers, and where it stands."""

    def __init__(self, kernel: Kernel, parameters: dict[str, int], special: dict[str, int], memory: Memory) -> None:
        """Begin at the first instruction."""
        self.kernel, self.parameters, self.memory = kernel, parameters, memory
        self.registers: dict[str, int] = dict(special)
        self.at = 0

    def run(self) -> None:
        """Run to the end; raises PtxError, also for a loop without one."""
        for _ in range(1_000_000):
            instruction = self.kernel.code[self.at]
            self.at += 1
            guard = instruction.guard
            if guard and bool(self.registers[guard.lstrip("!")]) == guard.startswith("!"):
                continue
            if instruction.words[0] == "ret":
                return
            self.step(instruction.words, instruction.operands)
        raise PtxError("a thread that does not end")

    def value(self, operand: str, kind: str) -> int:
        """Return an operand as a number of a type such as u64 or s32."""
        bits = int(kind[1:])
        found = self.registers[operand] if operand.startswith("%") else int(operand, 0)
        return signed(found, bits) if kind[0] == "s" else found & mask(bits)

    def address(self, operand: str) -> int:
        """Return what [%register+offset] points at."""
        register, _, offset = operand.strip("[]").partition("+")
        return (self.registers[register] + int(offset or 0)) & mask(64)

    def step(self, words: list[str], operands: list[str]) -> None:
        """Do one instruction."""
        name, kind = words[0], words[-1]
        if name == "bra":
            self.at = self.kernel.labels[operands[0]]
        elif name == "ld" and words[1] == "param":
            self.registers[operands[0]] = self.parameters[operands[1].strip("[]")]
        elif name == "ld":
            targets = operands[0].strip("{}").replace(" ", "").split(",")
            values = self.memory.load(self.address(operands[1]), int(kind[1:]) // 8, len(targets))
            self.registers.update(zip(targets, values, strict=True))
        elif name == "st":
            sources = operands[1].strip("{}").replace(" ", "").split(",")
            self.memory.store(self.address(operands[0]), int(kind[1:]) // 8, [self.value(source, kind) for source in sources])
        elif name == "setp":
            self.registers[operands[0]] = COMPARISONS[words[1]](self.value(operands[1], kind), self.value(operands[2], kind))
        elif name == "selp":
            self.registers[operands[0]] = self.value(operands[1 if self.registers[operands[3]] else 2], kind)
        else:
            self.registers[operands[0]] = self.result(words, operands)

    def result(self, words: list[str], operands: list[str]) -> int:
        """Return what an instruction makes of its operands, as the bits of a register."""
        name, kind = words[0], words[-1]
        bits = int(kind[1:])
        if name == "cvta":
            return self.value(operands[1], "u64")
        if name == "mov":
            return self.value(operands[1], kind)
        if name == "cvt":
            return self.value(operands[1], kind) & mask(int(words[1][1:]))
        if name == "not":
            return ~self.value(operands[1], kind) & mask(bits)
        if name not in ARITHMETIC:
            raise PtxError(f"no instruction known here: {'.'.join(words)}")
        right = self.value(operands[2], "u32" if name in ("shl", "shr") else kind)
        wide = 2 * bits if "wide" in words else bits
        return ARITHMETIC[name](self.value(operands[1], kind), right) & mask(wide)
