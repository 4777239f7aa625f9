"""Teacher forward pass for bulk generation: a Llama-like model in fp32 with a static key/value cache.

Every prompt begins with the same question to the teacher, so the cache of that prefix is computed once and shared by
all rows, and each opening is prefilled once for all its continuations.
Shapes: B rows, S new positions, T cache positions, H query heads, G query heads per kv head, KV kv heads, D head size.
"""

import json
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


class Cache:
    """Keys and values of every layer, two lists of [B, KV, T, D], filled up to `used`."""

    def __init__(self, keys: list[torch.Tensor], values: list[torch.Tensor], used: int) -> None:
        self.keys, self.values, self.used = keys, values, used

    def grown(self, rows: torch.Tensor, length: int) -> "Cache":
        """Copy the named rows (they may repeat) into a cache with room for `length` positions."""

        def take(t: torch.Tensor) -> torch.Tensor:
            out = t.new_empty(len(rows), t.shape[1], length, t.shape[3])
            out[:, :, : self.used] = t[rows, :, : self.used]
            return out

        return Cache([take(k) for k in self.keys], [take(v) for v in self.values], self.used)


class Teacher:
    """Llama weights in fp32, query/key/value and gate/up fused; the output head cut down to the kept tokens."""

    def __init__(self, folder: pathlib.Path, keep: list[int]) -> None:
        cfg = json.loads((folder / "config.json").read_text())
        weights = {k: v.float() for k, v in load_file(folder / "model.safetensors").items()}
        self.heads, self.kv_heads = cfg["num_attention_heads"], cfg["num_key_value_heads"]
        self.hidden, self.eps = cfg["hidden_size"], cfg["rms_norm_eps"]
        self.head_dim = cfg.get("head_dim") or self.hidden // self.heads
        self.embed = weights["model.embed_tokens.weight"]
        self.lm_head = weights.get("lm_head.weight", self.embed)[torch.tensor(keep)].contiguous()
        self.norm = weights["model.norm.weight"]
        self.layers = []
        for i in range(cfg["num_hidden_layers"]):
            part = {k.split(f"layers.{i}.", 1)[1]: v for k, v in weights.items() if f".layers.{i}." in k}
            qkv = [part[f"self_attn.{n}_proj.weight"] for n in "qkv"]
            self.layers.append(
                {
                    "norm1": part["input_layernorm.weight"],
                    "norm2": part["post_attention_layernorm.weight"],
                    "qkv": torch.cat(qkv).contiguous(),
                    "o": part["self_attn.o_proj.weight"],
                    "gate_up": torch.cat([part["mlp.gate_proj.weight"], part["mlp.up_proj.weight"]]).contiguous(),
                    "down": part["mlp.down_proj.weight"],
                }
            )
        theta = (cfg.get("rope_parameters") or cfg)["rope_theta"]  # transformers 5 nests it, older configs do not
        inv = theta ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        angle = torch.arange(1024).float()[:, None] * inv[None]
        self.cos, self.sin = torch.cat([angle.cos()] * 2, 1), torch.cat([angle.sin()] * 2, 1)

    def empty_cache(self, rows: int, length: int) -> Cache:
        """A cache without any position in use."""
        shape = (rows, self.kv_heads, length, self.head_dim)
        return Cache([torch.empty(shape) for _ in self.layers], [torch.empty(shape) for _ in self.layers], 0)

    def _rope(self, x: torch.Tensor, start: int) -> torch.Tensor:
        """Rotate [B, heads, S, D] for the positions start .. start+S-1 (two-halves convention)."""
        cos, sin = self.cos[start : start + x.shape[2]], self.sin[start : start + x.shape[2]]
        lo, hi = x.chunk(2, -1)
        return x * cos + torch.cat([-hi, lo], -1) * sin

    def step(self, ids: torch.Tensor, cache: Cache) -> torch.Tensor:
        """Feed ids [B, S] after what the cache holds; return logits [B, kept tokens] of the last position."""
        rows, new = ids.shape
        start, end, group = cache.used, cache.used + ids.shape[1], self.heads // self.kv_heads
        mask = torch.ones(new, end, dtype=torch.bool).tril(start)
        x = F.embedding(ids, self.embed)
        for layer, keys, values in zip(self.layers, cache.keys, cache.values, strict=True):
            y = F.linear(F.rms_norm(x, (self.hidden,), layer["norm1"], self.eps), layer["qkv"])
            y = y.view(rows, new, self.heads + 2 * self.kv_heads, self.head_dim).transpose(1, 2)
            q, k, v = y.split([self.heads, self.kv_heads, self.kv_heads], 1)
            keys[:, :, start:end], values[:, :, start:end] = self._rope(k, start), v
            q, k, v = self._rope(q, start), keys[:, :, :end], values[:, :, :end]
            if new == 1:  # the G query heads of a group stand as positions: each key is read once
                q = q.reshape(rows, self.kv_heads, group, self.head_dim)
                out = F.scaled_dot_product_attention(q, k, v).reshape(rows, 1, -1)
            else:
                k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
                out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(rows, new, -1)
            x = x + F.linear(out, layer["o"])
            gate, up = F.linear(F.rms_norm(x, (self.hidden,), layer["norm2"], self.eps), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        cache.used = end
        return F.linear(F.rms_norm(x[:, -1], (self.hidden,), self.norm, self.eps), self.lm_head)
