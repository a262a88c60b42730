"""csrc/ on other machines, emulated: unit tests and golden vectors on aarch64, and on an x86-64 without anything that came later."""

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from built import CASES, recipe
from corpora import Serial, write_corpus
from vector_cases import Json, Reference, cases, resolved, results

from fivepoint.reference.corpus import CorpusReader
from fivepoint.reference.mixing import word

pytestmark = [pytest.mark.checkout, pytest.mark.slow]


class Machine(NamedTuple):
    """A compiler, and the command that runs what it makes."""

    compiler: str
    emulator: list[str]
    elf: int


MACHINES = {
    "aarch64": Machine("aarch64-linux-gnu-g++", ["qemu-aarch64"], 183),
    # No instruction beyond SSE3: one binary for every x86-64.
    "x86_64": Machine("c++", ["qemu-x86_64", "-cpu", "qemu64"], 62),
}
ANSWERED = {"permutation": 85, "blend": 39, "resolve": 29, "skips": 26, "boundaries": 23}
"""Golden vectors that hold results; what is refused is refused before it comes to csrc."""


def installed(machine: Machine) -> Machine:
    """Return the machine, or skip the test where what it needs is missing."""
    for command in (machine.compiler, machine.emulator[0]):
        if shutil.which(command) is None:
            pytest.skip(f"needs {command}: apt-get install g++-aarch64-linux-gnu qemu-user")
    return machine


@pytest.fixture(scope="module", params=MACHINES)
def machine(request) -> Machine:
    return installed(MACHINES[request.param])


@pytest.fixture(scope="module")
def program(machine, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("answers")
    return str(recipe().build_program(folder, ["answers.cpp"], link_flags=["-static"], compiler=machine.compiler))


def test_the_unit_tests_pass(machine, tmp_path):
    flags = ["-UNDEBUG", "-O1"]
    tests = recipe().build_program(tmp_path, ["main.cpp", "*_test.cpp"], flags, ["-static"], machine.compiler)
    assert elf_machine(tests) == machine.elf
    done = subprocess.run([*machine.emulator, tests], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0 and f"{CASES} passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_extension_compiles_for_aarch64(tmp_path):
    machine = installed(MACHINES["aarch64"])
    # Debian's pyconfig.h asks for one of the machine's own. Of what it says only sizes matter here, and both have 64 bits.
    configured = Path(sysconfig.get_config_h_filename())
    own = configured.parent.parent / str(sysconfig.get_config_var("MULTIARCH")) / configured.parent.name / configured.name
    beside = tmp_path / "include" / "aarch64-linux-gnu" / configured.parent.name
    beside.mkdir(parents=True)
    (beside / "pyconfig.h").symlink_to(own if own.exists() else configured)
    assert elf_machine(recipe().build_module(tmp_path, [f"-I{tmp_path / 'include'}", "-O1"], compiler=machine.compiler)) == machine.elf


def elf_machine(path: Path) -> int:
    """Return e_machine of an ELF file."""
    return int.from_bytes(path.read_bytes()[18:20], "little")


class Emulated(Reference):
    """Has cases recomputed by csrc/tests/answers.cpp, in a process that answers line by line."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        super().__init__(folder)
        self._process = process

    def _ask(self, *words: object) -> list[int]:
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        assert answer and answer != ["refused"], words
        return [int(each) for each in answer]

    def permutation(self, seed: int, key: list[int], n: int, x: list[int]) -> Json:
        found = self._ask("permutation", seed, *listed(key), n, *listed(x))
        assert found[1::2] == x
        return {"y": found[::2]}

    def blend(self, weights: list[int], rule: str, q: list[int]) -> Json:
        found = self._ask("blend", rule, *listed(weights), *listed(q))
        return {"source": found[::2], "draw": found[1::2]}

    def resolve(self, plan: Json, positions: list[int]) -> Json:
        run = self._plan(plan)
        sources = [part for each in run.sources for part in (word(each.name), *listed([one.tokens for one in each.corpora]))]
        phases: list[object] = []
        for phase in run.phases:
            phases += [phase.length, phase.grid, phase.rule, *listed([phase.weights.get(source.name, 0) for source in run.sources])]
        skips = listed([number for skip in run.skips for number in skip])
        asked = (len(run.sources), *sources, len(run.phases), *phases, *skips, *listed(positions))
        numbers = self._ask("resolve", run.seed, *asked)
        found = []
        for at in range(0, len(numbers), 8):
            phase, source, corpus, _, epoch, offset, window, first = numbers[at : at + 8]
            found.append(resolved(run, phase, source, corpus, epoch, offset, window, first))
        return {"samples": found}

    skips = resolve

    def boundaries(self, documents: list[int], seq_len: int, rows: list[int]) -> Json:
        reader = CorpusReader(write_corpus(self._file("a corpus"), Serial().documents(documents), shard_bytes=16))
        manifest, shards = reader.manifest, []
        for shard in manifest.shards:
            index = reader.folder / shard.index_file
            header = index.stat().st_size - 8 * shard.documents
            shards += [f'"{reader.folder / shard.file}"', shard.tokens, f'"{index}"', shard.documents, header]
        asked = (manifest.token_dtype.itemsize, manifest.vocab_size, seq_len, len(manifest.shards), *shards, *listed(rows))
        found = self._ask("boundaries", *asked)
        size = len(rows) * seq_len
        inputs, targets, ids, positions, mask = (
            [found[at : at + seq_len] for at in range(part * size, (part + 1) * size, seq_len)] for part in range(5)
        )
        known = [reader.tokens(row, seq_len + 1).tolist() for row in rows]
        assert inputs == [row[:-1] for row in known] and targets == [row[1:] for row in known]
        bounds = found[5 * size :]
        return {
            "document_ids": ids,
            "position_ids": positions,
            "loss_mask": [[bool(each) for each in row] for row in mask],
            "cu_seqlens": bounds,
            "max_seqlen": max(end - begin for begin, end in pairwise(bounds)),
        }


def listed(numbers: list[int]) -> list[int]:
    """Return a list as a line holds it: its length, then its numbers."""
    return [len(numbers), *numbers]


@pytest.fixture
def emulated(machine, program, tmp_path) -> Iterator[Emulated]:
    with subprocess.Popen([*machine.emulator, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Emulated(tmp_path, process)


@pytest.mark.parametrize("of", ANSWERED)
def test_the_golden_vectors_are_given(emulated, of):
    held = [case for case in cases(of) if "refused" not in case]
    assert len(held) == ANSWERED[of]
    for case in held:
        expected = results(of, case)
        expected.pop("worst_deviation", None)  # for people; the reference computes it
        assert emulated.outcome(of, case) == expected, case["id"]
