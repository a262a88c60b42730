"""From the second epoch on, a stream of `interleave_datasets` draws its sources in the same sequence for every seed.

`set_epoch` has the examples shuffled by a generator made from the number of the epoch alone, which replaces the one that chooses sources.
Interleaving anew for each epoch, with a seed made of the run's and the epoch, and without `set_epoch`, avoids it.

Clause: C3.4
Promised: "The random seed used to choose a source for each example."
(https://huggingface.co/docs/datasets/v5.2.0/package_reference/main_classes#datasets.interleave_datasets)
Upstream: not found (searched 2026-12-01: "huggingface/datasets interleave_datasets set_epoch ignores seed same sequence of sources
RandomlyCyclingMultiSourcesExamplesIterable")
"""

import datasets


def sources(seed: int, epoch: int) -> list[int]:
    """Return the source of each example of an epoch."""
    streams = [datasets.Dataset.from_dict({"source": [source] * 50}).to_iterable_dataset(num_shards=2) for source in range(2)]
    mixture = datasets.interleave_datasets(streams, probabilities=[0.5, 0.5], seed=seed)
    mixture.set_epoch(epoch)
    return [example["source"] for example in mixture]


print(f"datasets {datasets.__version__}, the sources of the first examples for seeds 1, 2 and 3, expected to differ")
same = []
for epoch in range(3):
    got = [sources(seed, epoch) for seed in (1, 2, 3)]
    same.append(got[0] == got[1] == got[2])
    print(f"epoch {epoch}: {' '.join(''.join(map(str, each[:20])) for each in got)}{' (the same)' * same[-1]}")
raise SystemExit(not any(same))
