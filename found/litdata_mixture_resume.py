"""A CombinedStreamingDataset with two workers does not go on where its state was saved.

After the resume samples come again and others are left out, with the same ranks, workers and batch size, which the README demands for
combined datasets. One worker avoids it. https://github.com/Lightning-AI/litData/pull/507 is about mixtures without weights.

Clause: C4.1
Promised: "Stream data during long training, if interrupted, pick up right where you left off without any issues."
(https://github.com/Lightning-AI/litData/blob/main/README.md)
Upstream: not found (searched 2026-12-01: "litdata CombinedStreamingDataset resume state_dict num_workers wrong samples after
load_state_dict", "Lightning-AI/litData StreamingDataLoader combined dataset resume duplicates skipped samples workers")
"""

import tempfile
from importlib.metadata import version

import litdata
import numpy as np


def tokens(first):
    yield np.arange(first, first + 5 * 100, dtype=np.uint32)


def loader(folder):
    datasets = [
        litdata.StreamingDataset(f"{folder}/{name}", item_loader=litdata.TokensLoader(block_size=5), shuffle=True, drop_last=True)
        for name in "ab"
    ]
    mixed = litdata.CombinedStreamingDataset(datasets, weights=[0.5, 0.5], iterate_over_all=False)
    return litdata.StreamingDataLoader(mixed, batch_size=4, num_workers=2)


def main():
    folder = tempfile.mkdtemp()
    for number, name in enumerate("ab"):
        litdata.optimize(
            tokens, [1000 * number], f"{folder}/{name}", chunk_size=500, item_loader=litdata.TokensLoader(), num_workers=1,
            start_method="fork", verbose=False,
        )  # fmt: skip
    first, served, state = loader(folder), [], None
    for batch in first:
        served.append(batch[:, 0].tolist())
        if len(served) == 6:
            state = first.state_dict()
        if len(served) == 20:
            break
    second = loader(folder)
    second.load_state_dict(state)
    resumed = [batch[:, 0].tolist() for _, batch in zip(range(14), second, strict=False)]
    before, expected, got = ([sample for batch in part for sample in batch] for part in (served[:6], served[6:], resumed))
    print("litdata", version("litdata"))
    print("expected after the resume:", served[6:9])
    print("got:                      ", resumed[:3])
    again = len(set(got) & set(before))
    print(f"{again} samples served again, {len(set(expected) - set(got))} of the next {len(expected)} not served")
    return 0 if got != expected else 1


if __name__ == "__main__":
    raise SystemExit(main())
