"""A small Llama for training: plain PyTorch in fp32, several stories per row kept apart by the attention mask.

Shapes: B rows, S positions, C hidden, H query heads in KV groups of G, D head size, V vocabulary.
"""

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of the model, under the names of the Hugging Face config."""

    vocab_size: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    max_position_embeddings: int = 512


def linear(k: int, n: int) -> nn.Linear:
    """Bias-free linear layer with weight [N, K] of standard deviation 1/sqrt(K)."""
    layer = nn.Linear(k, n, bias=False)
    nn.init.normal_(layer.weight, std=k**-0.5)
    return layer


class Norm(nn.Module):
    """RMS normalisation over the last dimension."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise [..., C]."""
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        hidden, ffn = s.hidden_size, s.intermediate_size
        self.heads, self.kv, self.dim = s.num_attention_heads, s.num_key_value_heads, s.head_dim
        self.input_layernorm = Norm(hidden, s.rms_norm_eps)
        self.post_attention_layernorm = Norm(hidden, s.rms_norm_eps)
        self.self_attn, self.mlp = nn.Module(), nn.Module()
        self.self_attn.q_proj = linear(hidden, self.heads * self.dim)
        self.self_attn.k_proj = linear(hidden, self.kv * self.dim)
        self.self_attn.v_proj = linear(hidden, self.kv * self.dim)
        self.self_attn.o_proj = linear(self.heads * self.dim, hidden)
        self.mlp.gate_proj = linear(hidden, ffn)
        self.mlp.up_proj = linear(hidden, ffn)
        self.mlp.down_proj = linear(ffn, hidden)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """x [B, S, C]; cos, sin [S, D]; mask [B, 1, S, S] added to the scores; returns [B, S, C]."""
        rows, length, _ = x.shape
        group = self.heads // self.kv

        def rope(t: torch.Tensor) -> torch.Tensor:
            lo, hi = t.chunk(2, -1)
            return t * cos + torch.cat([-hi, lo], -1) * sin

        a, m = self.self_attn, self.mlp
        qkv = torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight])
        y = F.linear(self.input_layernorm(x), qkv).view(rows, length, self.heads + 2 * self.kv, self.dim)
        q, k, v = y.transpose(1, 2).split([self.heads, self.kv, self.kv], 1)
        # Spelled out, because it is faster here than SDPA; the G heads of a group are rows of one product.
        q, k, v = rope(q * self.dim**-0.5).reshape(rows, self.kv, group * length, self.dim), rope(k), v.contiguous()
        scores = (q @ k.transpose(-1, -2)).view(rows, self.heads, length, length)
        p = torch.softmax(scores + mask, -1).view(rows, self.kv, group * length, length)
        out = (p @ v).view(rows, self.heads, length, self.dim).transpose(1, 2).reshape(rows, length, -1)
        x = x + a.o_proj(out)
        y = F.linear(self.post_attention_layernorm(x), torch.cat([m.gate_proj.weight, m.up_proj.weight]))
        gate, up = y.chunk(2, -1)
        return x + m.down_proj(F.silu(gate) * up)


class Model(nn.Module):
    """Token ids to logits."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.shape = s
        self.embed_tokens = nn.Parameter(torch.randn(s.vocab_size, s.hidden_size) * 0.5)
        self.layers = nn.ModuleList(Block(s) for _ in range(s.num_hidden_layers))
        self.norm = Norm(s.hidden_size, s.rms_norm_eps)
        self.lm_head = nn.Parameter(torch.randn(s.vocab_size, s.hidden_size) * 0.02)
        for block in self.layers:  # residual branches start small
            for layer in (block.self_attn.o_proj, block.mlp.down_proj):
                layer.weight.data /= math.sqrt(2 * s.num_hidden_layers)
        inv = s.rope_theta ** (-torch.arange(0, s.head_dim, 2).float() / s.head_dim)
        angle = torch.arange(s.max_position_embeddings).float()[:, None] * inv[None]
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, 1), persistent=False)
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, 1), persistent=False)

    def forward(self, ids: torch.Tensor, story: torch.Tensor) -> torch.Tensor:
        """ids [B, S]; story [B, S] numbers the stories of a row, which cannot see each other; logits [B, S, V].

        Positions count from the start of the row; only their differences matter to RoPE.
        """
        length = ids.shape[1]
        apart = (story[:, :, None] != story[:, None, :]) | torch.ones(length, length, dtype=torch.bool).triu(1)
        mask = torch.zeros(apart.shape).masked_fill_(apart, -1e4)[:, None]
        x = F.embedding(ids, self.embed_tokens)
        for block in self.layers:
            x = block(x, self.cos[:length], self.sin[:length], mask)
        return F.linear(self.norm(x), self.lm_head)

    def matrices(self) -> list[nn.Parameter]:
        """The parameters that become ternary."""
        return [p for name, p in self.named_parameters() if p.ndim == 2 and name.startswith("layers.")]

    def others(self) -> list[nn.Parameter]:
        """Embedding, head and norms, which stay fp16 in the file."""
        return [p for name, p in self.named_parameters() if p.ndim == 1 or not name.startswith("layers.")]
