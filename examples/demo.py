"""The main job on real text: tokenize, plan, train on 2 ranks, kill one, resume on 4 and on 3, prove what was seen, and catch two sabotaged
loaders.

    python examples/demo.py --out demo

Every command is printed as it is run, so that it can be run again by hand.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import console
from console import CommandError, say
from launch import SECONDS_TO_END, Torchrun, wait_for_step
from settings import FAULTS, LEAST_TOKENS, QUICK, REPORTS, SEED, VOCABULARY, Size, run_toml
from summary import summary

HERE = Path(__file__).resolve().parent
FIVEPOINT = Path(sys.executable).with_name("fivepoint")
MARK = "README.txt"
MARKED = "Written by examples/demo.py of fivepoint, which replaces all that is here when it runs again.\n"


class DemoError(Exception):
    """The demo did not show what it is there to show; the message says what."""


class Demo:
    """One run of the demo into the folder `out`."""

    def __init__(self, out: Path, size: Size) -> None:
        self.out, self.size = out, size
        self.plan = out / "plan.json"
        self.started = time.monotonic()

    def run(self) -> None:
        """Do it all; raises DemoError or CommandError where something is not as it should be."""
        size, run = self.size, self.out / "run"
        say(f"{' '.join((__doc__ or '').partition('    ')[0].split())}\nAll files go to {self.out}.")
        with self.stage("Real text, cut into tokens"):
            self.prepare()
        with self.stage("The plan"):
            config = self.out / "run.toml"
            config.write_text(run_toml(size), encoding="utf-8")
            say(f"run.toml:\n\n{run_toml(size)}")
            console.run(FIVEPOINT, "plan", config, "-o", self.plan)
        with self.stage("Training on 2 ranks, until one is killed"):
            killed = self.train(run, 2, 4, size.checkpoint_every, kill_at=size.kill_at)
        with self.stage("Resumed on 4 ranks"):
            self.train(run, 4, 3, size.checkpoint_every, stop_at=size.stop_at)
        with self.stage("Resumed on 3 ranks, with another accumulation"):
            self.train(run, 3, 8, size.checkpoint_every)
        with self.stage("The proof"):
            proof = self.prove(run)
            if not proof["proven"] or proof["steps"] != size.steps or not proof["redone"]:
                raise DemoError(f"expected {size.steps} steps proven, some of them lost and redone, found what is said above")
        with self.stage("The same with sabotaged loaders, which the proof must report"):
            reports = {"prefetched": self.prefetched(), "cursors": self.cursors()}
        with self.stage("A step, back to its documents"):
            replayed = self.replay(run, size.kill_at)
        say(f"\n=== What was proven ===\n{summary(self.out, proof, reports, replayed, killed)}")
        say(f"It took {time.monotonic() - self.started:.0f} seconds. All files are in {self.out}.")

    def prepare(self) -> None:
        """Choose whole documents, train a tokenizer on them, and write a corpus of each source."""
        console.run(sys.executable, HERE / "text.py", "--out", self.out / "text", "--tokens", self.size.tokens, "--seed", SEED)
        sources = [f"--source={name}={self.out / 'text' / name}.jsonl" for name in ("stdlib", "packages", "docs")]
        bpe = (f"--train-bpe={VOCABULARY}", "--train-characters=8000000", "--min-unique-lines=0.3")
        console.run(FIVEPOINT, "prepare", "--out", self.out / "corpus", *bpe, *sources)

    def train(self, run: Path, ranks: int, micro_batch: int, every: int, kill_at: int | None = None, **settings: Any) -> int:
        """Train to the end, to `stop_at`, or until rank 1 is killed in step `kill_at`; return the step in which it was, or 0.

        A checkpoint is written `every` so many steps.
        """
        run.mkdir(exist_ok=True)
        arguments = [str(self.plan), "--out", str(run), f"--micro-batch={micro_batch}", f"--checkpoint-every={every}"]
        arguments += [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        killed, errors = 0, run / f"torchrun-on-{ranks}.txt"
        with Torchrun(ranks, HERE / "train.py", arguments, errors) as training:
            console.say_command(training.command)
            if kill_at and (found := wait_for_step(training, run / "ranks" / "rank-1.jsonl", kill_at, every)):
                pid, killed = found
                os.kill(pid, signal.SIGKILL)
                say(f"  rank 1 (process {pid}) is in step {killed}: killed with SIGKILL")
            code = training.wait(SECONDS_TO_END if kill_at else None)
        if bool(code) != bool(kill_at):
            tail = errors.read_text(encoding="utf-8", errors="replace")[-3000:]
            raise DemoError(f"expected torchrun to {'fail' if kill_at else 'succeed'}, found exit code {code}; {errors} ends with:\n{tail}")
        if kill_at:
            say(f"  torchrun ended with exit code {code}; the newest checkpoint is {max((run / 'checkpoints').iterdir()).name}")
        return killed

    def prove(self, run: Path) -> dict[str, Any]:
        """Have the proof tried by a process of its own, and return what it found."""
        file = run / "proof.json"
        code = console.run(sys.executable, HERE / "prove.py", self.plan, run, "--json", file, expected=(0, 1))
        proof: dict[str, Any] = json.loads(file.read_bytes())
        if proof["proven"] != (code == 0):
            raise DemoError(f"expected exit code 0 where it is proven and 1 elsewhere, found {code}")
        return proof

    def prefetched(self) -> str:
        """Train with the first planted fault, killed and resumed like the honest run; return what the proof reports."""
        say(f"A loader {FAULTS['prefetched']}; NOT PROVEN is what must come out:")
        run = self.out / "sabotaged-prefetched"
        self.train(run, 2, 4, 8, kill_at=13, sabotage="prefetched")
        self.train(run, 4, 3, 8, stop_at=16, sabotage="prefetched")
        return self.reported(run, REPORTS["prefetched"])

    def cursors(self) -> str:
        """Train with the second planted fault, past a change of the mixture; return what the proof reports."""
        say(f"\nA loader {FAULTS['cursors']}; NOT PROVEN is what must come out:")
        run = self.out / "sabotaged-cursors"
        self.train(run, 3, 4, 8, stop_at=24, sabotage="cursors")
        return self.reported(run, REPORTS["cursors"])

    def reported(self, run: Path, expected: str) -> str:
        """Return the first difference that the proof names; raises DemoError where it is another than `expected`."""
        problems = self.prove(run)["problems"]
        if not problems or not problems[0].startswith(expected):
            raise DemoError(f"expected the proof to report {expected!r}, found {problems[:1] or 'nothing'}")
        say("(As expected: the fault was planted, and the proof names where it begins.)")
        return str(problems[0])

    def replay(self, run: Path, step: int) -> dict[str, Any]:
        """Replay a step for the reader, and return it as JSON."""
        command = (
            FIVEPOINT,
            "replay",
            self.plan,
            run / "run_log.jsonl",
            "--step",
            step,
            "--tokenizer",
            self.out / "corpus" / "tokenizer.json",
        )
        console.run(*command, rows=8)
        say("The same for a machine, to look each document up in the text it was cut from:")
        found: dict[str, Any] = json.loads(console.output(*command, "--json"))
        return found

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Print a heading, and at the end how long it took."""
        began = time.monotonic()
        say(f"\n=== {title} ===")
        yield
        say(f"({time.monotonic() - began:.0f} seconds; {time.monotonic() - self.started:.0f} in all)")


def empty_folder(out: Path) -> None:
    """Make `out` an empty folder but for its mark; raises DemoError, and removes nothing, where it holds what the demo did not write."""
    mark, found = out / MARK, list(out.iterdir()) if out.exists() else []
    if found and not (mark.is_file() and mark.read_text(encoding="utf-8") == MARKED):
        raise DemoError(f"expected {out} to be absent, empty or of an earlier demo, found other files in it; choose another --out")
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != mark:
            path.unlink()
    out.mkdir(parents=True, exist_ok=True)
    mark.write_text(MARKED, encoding="utf-8")


def main() -> int:
    """Read the command line; exit code 0 where all was shown, 1 where not, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for all files; one of an earlier demo is replaced")
    parser.add_argument("--tokens", type=int, default=Size().tokens, help=f"about how many tokens of text, at least {LEAST_TOKENS}")
    parser.add_argument("--quick", action="store_true", help="a small text and 40 steps, for tests")
    options = parser.parse_args()
    if options.tokens < LEAST_TOKENS:
        parser.error(f"expected --tokens of at least {LEAST_TOKENS}, or the run passes through docs too often; found {options.tokens}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended on the way out
    try:
        empty_folder(options.out)
        Demo(options.out.resolve(), QUICK if options.quick else Size(tokens=options.tokens)).run()
    except (DemoError, CommandError, ValueError) as reason:
        print(f"\nTHE DEMO FAILED: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; nothing is left running, and the next run begins afresh", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
