"""Killed at any moment, `fivepoint prepare` leaves nothing that passes for finished, and a rerun gives the same bytes."""

import json
import random
import signal
import subprocess
import time

import pytest
from preparing import command, fivepoint, tree, write_jsonl

MOMENTS = 20


@pytest.mark.clause("D0.11")
@pytest.mark.slow
def test_killed_at_random_moments(tmp_path):
    for name in ("a", "b"):
        write_jsonl(tmp_path / f"{name}.jsonl", [f"{name} {number} some text of its own\n" * 4 for number in range(6000)])

    def arguments(out):
        sources = [f"--source={name}={tmp_path}/{name}.jsonl" for name in ("a", "b")]
        return [
            "prepare",
            "--out",
            out,
            "--train-bpe",
            "300",
            "--train-characters",
            "100000",
            "--holdout",
            "0.1",
            "--shard-bytes",
            "20000",
            *sources,
        ]

    begun = time.monotonic()
    assert fivepoint(*arguments(tmp_path / "whole")).returncode == 0
    whole_seconds = time.monotonic() - begun
    whole = tree(tmp_path / "whole")
    finished = {name: json.loads(data) for name, data in whole.items() if name.endswith("manifest.json")}
    assert len(finished) == 4

    moments = random.Random(1)
    killed = 0
    out = tmp_path / "out"
    for moment in range(MOMENTS * 3):
        process = subprocess.Popen(command(*arguments(out)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole_seconds * moments.uniform(0.05, 1))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        found = tree(out) if out.exists() else {}
        for name, manifest in finished.items():
            if name in found:  # what has a manifest is finished: each of its files is there, whole
                folder = name.removesuffix("manifest.json")
                assert json.loads(found[name]) == manifest
                for shard in manifest["shards"]:
                    for file in (shard["file"], shard["file"].replace(".bin", ".idx.npy")):
                        assert found[folder + file] == whole[folder + file], (moment, file)
        if moment % 4 == 3:  # some reruns are killed again, the others reach the end
            assert fivepoint(*arguments(out)).returncode == 0
            assert tree(out) == whole
            subprocess.run(["rm", "-r", out], check=True)
        if killed >= MOMENTS and moment % 4 == 3:
            break
    assert killed >= MOMENTS
