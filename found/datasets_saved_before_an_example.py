"""A stream that is saved after a resume, before it has yielded an example, has the state of its beginning.

`load_state_dict` takes effect when the stream is iterated; until then `state_dict` gives the state from before. A run that is stopped
again right after its resume, as a preempted one is, begins its data anew. Saving the state that was loaded, until the first example has
come, avoids it. https://github.com/huggingface/datasets/issues/8308 is about states that are saved after an example, and closed.

Clause: C4.4
Promised: "Resuming returns exactly where the checkpoint was saved except in two cases"
(https://huggingface.co/docs/datasets/v5.2.0/package_reference/main_classes)
Upstream: not found (searched 2026-12-01: "huggingface/datasets IterableDataset state_dict after load_state_dict before iteration returns
initial state")
"""

from itertools import islice

import datasets


def stream() -> datasets.IterableDataset:
    """Return a stream of the numbers below ten."""
    return datasets.Dataset.from_dict({"number": list(range(10))}).to_iterable_dataset()


first, second, third = stream(), stream(), stream()
served = [example["number"] for example in islice(first, 4)]
second.load_state_dict(first.state_dict())
third.load_state_dict(second.state_dict())
expected, got = list(range(4, 10)), [example["number"] for example in third]
print(f"datasets {datasets.__version__}, saved after {served}, resumed, saved and resumed again")
print(f"expected {expected}, got {got}")
raise SystemExit(got == expected)
