"""Weights with what trained models have and random ones lack, quantised under a packing.

The residual channels share a factor: norm gains, columns of the embedding and of what reads the
stream, rows of what writes it; the ffn neurons share another one (rows of gate and up, columns of
down). A few channels are outliers.
"""

import dataclasses
import random

import numpy as np

from .packing import Packing, encode_levels, stored_codes

PARTS = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
         "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
         "mlp.down_proj"]


@dataclasses.dataclass(frozen=True)
class Sizes:
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    layers: int = 2
    vocabulary: int = 96

    def config(self) -> dict:
        return {"model_type": "llama", "hidden_size": self.hidden,
                "intermediate_size": self.intermediate, "num_hidden_layers": self.layers,
                "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads,
                "head_dim": self.head_dim, "vocab_size": self.vocabulary,
                "tie_word_embeddings": True}

    def shape(self, part: str) -> tuple[int, int]:
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {"q_proj": (q, self.hidden), "k_proj": (kv, self.hidden), "v_proj": (kv, self.hidden),
                "o_proj": (self.hidden, q), "gate_proj": (self.intermediate, self.hidden),
                "up_proj": (self.intermediate, self.hidden),
                "down_proj": (self.hidden, self.intermediate)}[part.split(".")[-1]]

    def module_names(self) -> list[str]:
        inner = [f"model.layers.{i}.{part}" for i in range(self.layers) for part in PARTS]
        return ["model.embed_tokens", *inner, "model.norm"]


def factors(rng: np.random.Generator, count: int) -> np.ndarray:
    values = np.exp(rng.normal(0, 0.35, count))
    values[rng.choice(count, 3, replace=False)] *= rng.uniform(3, 6, 3)
    return values


def dense_model(sizes: Sizes, seed: int) -> dict[str, np.ndarray]:
    """Every module's weight by name, float64."""
    rng = np.random.default_rng(seed)

    def like(factor: np.ndarray) -> np.ndarray:
        return factor * np.exp(rng.normal(0, 0.12, len(factor)))

    channel = factors(rng, sizes.hidden)
    weights = {"model.embed_tokens": rng.normal(0, 0.05, (sizes.vocabulary, sizes.hidden)) *
               like(channel), "model.norm": like(channel)}
    for layer in range(sizes.layers):
        neuron = factors(rng, sizes.intermediate)
        for part in PARTS:
            name = f"model.layers.{layer}.{part}"
            if part.endswith("layernorm"):
                weights[name] = like(channel)
                continue
            rows, cols = sizes.shape(part)
            matrix = rng.standard_t(6, (rows, cols)) * rng.uniform(0.01, 0.04)
            kind = part.split(".")[-1]
            if kind in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"):
                matrix *= like(channel)
            else:
                matrix *= like(channel)[:, None]
            if kind in ("gate_proj", "up_proj"):
                matrix *= like(neuron)[:, None]
            elif kind == "down_proj":
                matrix *= like(neuron)
            elif kind != "o_proj":
                matrix *= np.exp(rng.normal(0, 0.3, rows))[:, None]
            weights[name] = matrix
    return weights


@dataclasses.dataclass
class Quantised:
    stored: dict[str, np.ndarray]  # by role: codes, codes_1, scale, zero
    dense: np.ndarray  # float32 [N, K], from the scales as stored


def quantise(packing: Packing, weight: np.ndarray) -> Quantised:
    rows, cols = weight.shape
    group = packing.block or packing.group
    if packing.scale in ("group", "block"):
        blocks = weight.reshape(rows, cols // group, group)
    elif packing.scale == "row":
        blocks = weight.reshape(rows, 1, cols)
    elif packing.scale == "column":
        blocks = weight.T.reshape(cols, 1, rows)
    else:
        blocks = weight.reshape(1, 1, rows * cols)
    low, shift = None, None
    if packing.ternary:
        step = np.abs(blocks).mean(axis=2)
    elif packing.bits == 1:
        step = np.abs(blocks).mean(axis=2)
    elif packing.table == "unsigned":
        low = np.minimum(blocks.min(axis=2), 0)
        step = (np.maximum(blocks.max(axis=2), 0) - low) / ((1 << packing.bits) - 1)
    else:
        step = np.abs(blocks).max(axis=2) / ((1 << (packing.bits - 1)) - 1)
    kept = (1 / step if packing.divide else step).astype(packing.scale_dtype)
    used = kept.astype(np.float64)
    used = (1 / used if packing.divide else used)[:, :, None]
    zeros = None
    top = (1 << packing.bits) - 1
    if packing.ternary:
        levels = np.clip(np.rint(blocks / used), -1, 1)
        values = levels * used
    elif packing.bits == 1:
        levels = np.where(blocks >= 0, 1.0, -1.0)
        values = levels * used
    elif packing.table == "unsigned" and packing.zero == "bytes":
        zeros = np.clip(np.rint(-low / used[:, :, 0]), 0, top)
        levels = np.clip(np.rint(blocks / used + zeros[:, :, None]), 0, top)
        values = (levels - zeros[:, :, None]) * used
        zeros = zeros.astype(np.uint8)
    elif packing.table == "unsigned":
        zeros = low.astype(packing.scale_dtype)
        shift = zeros.astype(np.float64)[:, :, None]
        levels = np.clip(np.rint((blocks - shift) / used), 0, top)
        values = levels * used + shift
    else:
        most = (1 << (packing.bits - 1)) - 1
        levels = np.clip(np.rint(blocks / used), -most, most)
        values = levels * used

    def matrix(array: np.ndarray) -> np.ndarray:
        return array.reshape(cols, rows).T if packing.scale == "column" else array.reshape(rows, cols)

    levels = matrix(levels).astype(np.int64)
    codes = encode_levels(packing, levels)
    tensors = stored_codes(packing, codes, levels, kept)
    stored = {"codes" if i == 0 else f"codes_{i}": t for i, t in enumerate(tensors)}
    if packing.scale != "block":
        stored["scale"] = laid_out(packing, kept)
    if zeros is not None:
        stored["zero"] = laid_out(packing, zeros)
    return Quantised(stored, matrix(values).astype(np.float32))


def laid_out(packing: Packing, values: np.ndarray) -> np.ndarray:
    """[lines, groups] as the packing stores it."""
    if packing.scale == "group":
        return np.ascontiguousarray(values.T) if packing.group_layout == "GN" else values
    flat = values.reshape(-1)
    if packing.scale == "tensor":
        return flat
    if packing.scale_shape == "flat":
        return flat
    return flat[None, :] if packing.scale == "column" else flat[:, None]


def tensors_of(packing: Packing, sizes: Sizes, seed: int, naming: str, order: str):
    """(stored tensors by name, dense matrices by the names an answer may use)."""
    weights = dense_model(sizes, seed)
    rng = random.Random(seed)
    modules = sizes.module_names()
    if order == "alphabetical":
        modules = sorted(modules)
    elif order == "shuffled":
        rng.shuffle(modules)
    letters = rng.sample(range(6), 6)
    words = rng.choice([["packed", "codes_1", "s", "z"], ["w", "w1", "alpha", "zp"],
                        ["weight", "weight_1", "weight_scale", "weight_zero"]])
    roles = ["codes", "codes_1", "scale", "zero"]
    stored, dense = {}, {}
    for index, module in enumerate(modules):
        weight = weights[module]
        if weight.ndim == 1 or module == "model.embed_tokens":
            parts = {"weight": weight.astype(np.float16)}
        else:
            quantised = quantise(packing, weight)
            parts = {role: quantised.stored[role] for role in roles if role in quantised.stored}
        names = {}
        for i, role in enumerate(parts):
            if naming == "named":
                word = role if role == "weight" else words[roles.index(role)]
                names[role] = f"{module}.{word}"
            elif naming == "flat":
                names[role] = f"t{len(stored) + i:03d}"
            else:
                names[role] = f"m{index:03d}.p{letters[i]}"
        for role, tensor in parts.items():
            stored[names[role]] = np.ascontiguousarray(tensor)
        if "codes" in parts:
            accepted = [names["codes"]]
            if naming != "flat":
                accepted.append(names["codes"].rpartition(".")[0])
            dense[module] = (accepted, quantised.dense)
    return stored, dense
