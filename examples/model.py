"""A small GPT: pre-norm blocks, learned positions, the output weights tied to the embedding, no dropout (nothing to save but weights)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Config:
    """The size of the model; what is not given is chosen so that two cores train it at several steps a second."""

    vocab_size: int
    seq_len: int
    width: int = 64
    heads: int = 2
    layers: int = 3


class GPT(nn.Module):
    """Tokens int64 [b, l] to logits float32 [b, l, vocab_size]; with targets int64 [b, l], to their mean cross-entropy."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.seq_len, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.apply(_initialize)

    def forward(self, inputs: Tensor, targets: Tensor | None = None) -> Tensor:
        x = self.tokens(inputs) + self.positions.weight[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = functional.linear(self.norm(x), self.tokens.weight)
        return logits if targets is None else functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to what came in."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm_attention = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.merge = nn.Linear(config.width, config.width)
        self.norm_feed = nn.LayerNorm(config.width)
        self.feed = nn.Sequential(nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x))
        fed: Tensor = self.feed(self.norm_feed(x))
        return x + fed

    def attention(self, x: Tensor) -> Tensor:
        """Return causal attention over the whole window; x is [b, l, width]."""
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.query_key_value(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        merged: Tensor = self.merge(mixed.transpose(1, 2).flatten(2))
        return merged


def build(config: Config, seed: int) -> GPT:
    """Return a model whose first weights depend on `seed` alone, so that every rank begins with the same."""
    torch.manual_seed(seed)
    return GPT(config)


def _initialize(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
