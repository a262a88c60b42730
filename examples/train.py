"""Train a small GPT on a plan, under torchrun, on any number of ranks; killed at any moment, the same command goes on.

    torchrun --standalone --nproc-per-node=2 examples/train.py plan.json --out run --micro-batch 8

What is promised: the samples of each step are those of the plan, bit for bit, whatever the number of ranks. What is not: the weights. A
sum of gradients over four ranks is added up in another order than one over two, so weights and losses of two runs agree only nearly.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from launch import die_with_parent
from model import GPT, Config, build
from rank_log import RankLog, digest
from sabotage import FAULTS
from torch import Tensor

from fivepoint import fastpath
from fivepoint.audit.log_lines import read
from fivepoint.audit.run_log import RunLog
from fivepoint.errors import FivepointError
from fivepoint.reference.batch import open_corpora
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan
from fivepoint.trainers.torch import TorchLoader, TorchStep, load_checkpoint, save_checkpoint

Result = TypeVar("Result")


class Trainer:
    """A model, its optimizer, and the gradients of all parameters in one vector, so that one all-reduce adds them up over the ranks."""

    def __init__(self, model: GPT, peak_rate: float) -> None:
        self.model = model
        self.named = dict(model.named_parameters())
        self.peak_rate = peak_rate
        self.optimizer = torch.optim.AdamW(self.named.values(), lr=peak_rate, betas=(0.9, 0.95), weight_decay=0.01)
        sizes = [parameter.numel() for parameter in self.named.values()]
        self.gradients = torch.zeros(sum(sizes), device=next(model.parameters()).device)
        for parameter, part in zip(self.named.values(), torch.split(self.gradients, sizes), strict=True):
            parameter.grad = part.view_as(parameter)

    def step(self, step: TorchStep, dp_size: int, progress: float, log: RankLog) -> float:
        """Train on the micro-batches of a step, each of which gets a line in `log`, and return the mean loss over all ranks."""
        self.gradients.zero_()
        total = torch.zeros(1)
        for number, batch in enumerate(step):
            inputs, targets = batch.inputs, batch.targets
            sha256 = digest(inputs.cpu().numpy(), targets.cpu().numpy())
            log.write(step=step.number, micro_batch=number, rows=len(inputs), consumed=step.first, sha256=sha256)
            loss = self.model(inputs, targets) / (step.accumulation * dp_size)
            loss.backward()
            total += loss.detach().cpu()
        add_over_ranks(self.gradients)
        add_over_ranks(total)
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak_rate * min(1.0, 20 * progress, 1.1 - progress)  # a function of position, so a restart changes nothing
        torch.nn.utils.clip_grad_norm_(self.named.values(), 1.0)
        self.optimizer.step()
        return total.item()

    def tensors(self) -> dict[str, Tensor]:
        """Return weights and optimizer state, all that a restart needs beside the loader's state."""
        found: dict[str, Tensor] = {f"model.{name}": parameter for name, parameter in self.named.items()}
        for name, parameter in self.named.items():
            found |= {f"optimizer.{name}.{key}": value for key, value in self.optimizer.state[parameter].items()}
        return found

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take over what `tensors` returned."""
        with torch.no_grad():
            for name, parameter in self.named.items():
                parameter.copy_(tensors[f"model.{name}"])
                prefix = f"optimizer.{name}."
                self.optimizer.state[parameter] = {
                    key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)
                }


def add_over_ranks(vector: Tensor) -> None:
    """Replace `vector` by its sum over all ranks."""
    on_cpu = vector.cpu()
    dist.all_reduce(on_cpu)
    vector.copy_(on_cpu)


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint of the latest step; files that are not whole never bear such a name."""
    return max(folder.glob("step-*.safetensors"), default=None)


def count_openings(run_log: Path) -> int:
    """Return how often training was started, this time included: the run log has a line for each."""
    return sum("event" in record for record in read(run_log))


def opened(options: argparse.Namespace, rank: int, dp_size: int) -> tuple[Plan, int, dict[str, Tensor], dict[str, Any] | None]:
    """Return the plan, the vocabulary's size, and the newest checkpoint's tensors and state, none where there is none.

    Raises FivepointError where one of them, or this number of ranks, would be refused: before anything is written.
    """
    plan = Plan.load(options.plan)
    vocabulary = max(corpus.manifest.vocab_size for corpus in open_corpora(plan).values())
    tensors, state = {}, None
    if path := newest_checkpoint(options.out / "checkpoints"):
        tensors, state = load_checkpoint(path)
    if options.sabotage:
        state = FAULTS[options.sabotage](plan, state)
    Loader(plan, rank, dp_size, options.micro_batch, checkpoint=state).close()
    return plan, vocabulary, tensors, state


def on_all_ranks(work: Callable[[], Result], rank: int, dp_size: int) -> Result:
    """Return what `work` gives; where a rank is refused something all of them end, and rank 0 alone says what, once."""
    result, said, refusals = None, "", [""] * dp_size
    try:
        result = work()
    except FivepointError as reason:
        said = str(reason)
    dist.all_gather_object(refusals, said)
    if any(refusals):
        if rank == 0:
            ranks = ", ".join(str(number) for number, each in enumerate(refusals) if each)
            print(f"train.py, rank{'s' * (', ' in ranks)} {ranks}: {'; '.join(dict.fromkeys(filter(None, refusals)))}", file=sys.stderr)
        raise SystemExit(1)
    return cast(Result, result)


def train(options: argparse.Namespace, rank: int, dp_size: int) -> None:
    """Train from the newest checkpoint, or from the beginning, to the end of the plan or to `--stop-at`."""
    device = torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)  # or each rank would also hold a context, for its pinned memory, on the first device
    plan, vocabulary, tensors, state = on_all_ranks(lambda: opened(options, rank, dp_size), rank, dp_size)
    trainer = Trainer(build(Config(vocabulary, plan.phases[0].seq_len), plan.seed % 2**63).to(device), options.peak_rate)
    if tensors:
        trainer.load({name: tensor.to(device) for name, tensor in tensors.items()})

    checkpoints = options.out / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    run_log = options.out / "run_log.jsonl"
    log = RunLog(run_log).write if rank == 0 else None
    # To a device the native loader takes windows as they lie on disk; on the CPU, and with a planted fault, it is the one to read.
    kind = Loader if device.type == "cpu" or options.sabotage else partial(fastpath.Loader, device=device)
    loader = TorchLoader(kind(plan, rank, dp_size, options.micro_batch, checkpoint=state, log=log), device)
    attempt = torch.tensor([count_openings(run_log) if rank == 0 else 0])
    dist.broadcast(attempt, 0)
    tokens = RankLog(options.out / "ranks", rank, attempt=int(attempt), pid=os.getpid(), dp_size=dp_size)
    say = print if rank == 0 else lambda *_: None
    say(f"  attempt {int(attempt)}: {dp_size} ranks on {device.type}, from step {loader.steps}, position {loader.consumed}")

    for step in loader:
        loss = trainer.step(step, dp_size, step.first / plan.length, tokens)
        loader.commit()
        last = loader.complete or step.number == options.stop_at
        if rank == 0 and (last or step.number % options.checkpoint_every == 0):
            save_checkpoint(checkpoints / f"step-{step.number:08d}.safetensors", trainer.tensors(), loader.state_dict())
        if rank == 0:
            with open(options.out / "losses.jsonl", "a", encoding="utf-8") as file:
                print(json.dumps({"step": step.number, "loss": round(loss, 4)}), file=file)
        if last or step.number % 20 == 0:
            say(f"  step {step.number:>4}, consumed {loader.consumed:>6} of {plan.length}, loss {loss:.3f}")
        if last:
            break
    dist.barrier()


def main() -> None:
    """Read the command line, and join the other ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path, help="plan.json, with batch sizes in it")
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints and logs; training goes on from what is there")
    parser.add_argument(
        "--micro-batch", type=int, default=8, help="samples a rank takes at once; accumulation follows from the plan's batch size"
    )
    parser.add_argument("--checkpoint-every", type=int, default=40, metavar="STEPS")
    parser.add_argument("--stop-at", type=int, metavar="STEP", help="write a checkpoint after this step and leave")
    parser.add_argument("--peak-rate", type=float, default=3e-3, help="the largest learning rate")
    parser.add_argument(
        "--sabotage", choices=sorted(FAULTS), help="plant a fault in the loader (sabotage.py), to see that prove.py reports it"
    )
    options = parser.parse_args()
    if "RANK" not in os.environ:
        command = "torchrun --standalone --nproc-per-node=2 examples/train.py PLAN --out FOLDER"
        parser.exit(2, f"train.py: expected to be started by torchrun, found no RANK in the environment; run {command}\n")
    die_with_parent()
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    try:
        train(options, dist.get_rank(), dist.get_world_size())
    except FivepointError as reason:
        raise SystemExit(f"rank {dist.get_rank()}: {reason}") from reason
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
