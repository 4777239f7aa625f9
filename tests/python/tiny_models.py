"""Tiny models of every architecture whose weights make every operation matter.

A random model with the usual initialisation attends uniformly and adds almost nothing to the
residual, so a wrong port of it passes. Here the scale of each matrix is chosen so that attention is
neither uniform nor one-hot and every update is a fair share of the residual; `check_liveliness`
asserts that.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import (AutoModelForCausalLM, BitNetConfig, BitNetForCausalLM, LlamaConfig,
                          LlamaForCausalLM, MistralConfig, PreTrainedConfig, Qwen2Config,
                          Qwen3Config, SmolLM3Config)

LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

# Standard deviation of a linear's weights times sqrt(K), by role: q and k set how sharp attention
# is, o and down how large the updates are.
GAINS = {"q_proj": 1.6, "k_proj": 1.6, "v_proj": 1.0, "o_proj": 1.0, "gate_proj": 1.4,
         "up_proj": 1.0, "down_proj": 1.0}
BIAS = 0.4  # standard deviation of a bias, as a share of what the weights give


@dataclasses.dataclass
class TernaryLinear:
    levels: np.ndarray  # int8 [N, K], -1 0 +1
    scale: np.ndarray  # float32 [N] (a scale a row) or [1] (one a matrix)

    def dense(self) -> torch.Tensor:
        """float32 [N, K], exact."""
        return torch.from_numpy(self.levels.astype(np.float32) * self.scale[:, None])


@dataclasses.dataclass
class TinyModel:
    model: torch.nn.Module  # float64, eager attention; weights are float32 values
    linears: dict[str, TernaryLinear]  # by module name; empty when dense

    @property
    def config(self):
        return self.model.config


def _ternary(shape: tuple[int, int], std: float, per_row: bool, rng: np.random.Generator):
    levels = rng.integers(-1, 2, size=shape).astype(np.int8)
    count = shape[0] if per_row else 1
    # The standard deviation of a uniform trit is sqrt(2/3). Scales are float16 values, so that a
    # checkpoint can store them in any float type it likes.
    scale = std / math.sqrt(2 / 3) * rng.uniform(0.7, 1.3, size=count)
    return TernaryLinear(levels, scale.astype(np.float16).astype(np.float32))


def _fill(model: torch.nn.Module, seed: int, ternary: str | None) -> dict[str, TernaryLinear]:
    rng = np.random.default_rng(seed)
    linears: dict[str, TernaryLinear] = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            role = name.split(".")[-2]
            if name.endswith(".bias"):
                values = rng.normal(0, BIAS * GAINS[role], size=parameter.shape)
            elif parameter.dim() == 1:  # norms
                values = rng.uniform(0.5, 1.5, size=parameter.shape)
                values *= GAINS.get(role.replace("norm", "proj"), 1.0)  # q_norm, k_norm
            elif role in LINEARS:
                std = GAINS[role] / math.sqrt(parameter.shape[1])
                if ternary:
                    linear = _ternary(tuple(parameter.shape), std, ternary == "row", rng)
                    linears[name.removesuffix(".weight")] = linear
                    parameter.copy_(linear.dense())
                    continue
                values = rng.normal(0, std, size=parameter.shape)
            elif role == "lm_head":
                values = rng.normal(0, 1 / math.sqrt(parameter.shape[1]), size=parameter.shape)
            else:  # embedding: rows of unit scale
                values = rng.normal(0, 1, size=parameter.shape)
            parameter.copy_(torch.from_numpy(values.astype(np.float16).astype(np.float32)))
    return linears


def _sizes(**overrides: object) -> dict[str, object]:
    sizes: dict[str, object] = dict(
        vocab_size=160, hidden_size=64, intermediate_size=112, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        rms_norm_eps=1e-5, bos_token_id=0, eos_token_id=1, pad_token_id=None)
    return sizes | overrides


def make_llama(seed: int, *, tied: bool, ternary: str | None = None, **overrides) -> TinyModel:
    """`ternary`: None (dense), "row" or "tensor" (where the scale belongs)."""
    config = LlamaConfig(**_sizes(tie_word_embeddings=tied, **overrides))
    config._attn_implementation = "eager"
    model = LlamaForCausalLM(config).to(torch.float64).eval()
    return TinyModel(model, _fill(model, seed, ternary))


def make_bitnet(seed: int, *, ternary: str | None = None, **overrides) -> TinyModel:
    config = BitNetConfig(**_sizes(tie_word_embeddings=True, hidden_act="relu2", **overrides))
    config._attn_implementation = "eager"
    model = BitNetForCausalLM(config).to(torch.float64).eval()
    return TinyModel(model, _fill(model, seed, ternary))


CONFIGS = {"mistral": MistralConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config,
           "smollm3": SmolLM3Config, "llama": LlamaConfig}


def make_model(model_type: str, seed: int, *, ternary: str | None = None, **overrides) -> TinyModel:
    """Any of CONFIGS, with what the config class and `overrides` say."""
    config: PreTrainedConfig = CONFIGS[model_type](**_sizes(**overrides))
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).to(torch.float64).eval()
    return TinyModel(model, _fill(model, seed, ternary))


def pack_rows(levels: np.ndarray, codes: dict[int, int]) -> np.ndarray:
    """uint8 [N, K/4]: four codes a byte along K, lowest bits first. `codes`: code of each level."""
    fields = np.vectorize(codes.__getitem__, otypes=[np.uint8])(levels)
    fields = fields.reshape(levels.shape[0], -1, 4)
    return (fields << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2).astype(np.uint8)


def _write_configs(tiny: TinyModel, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tiny.config.save_pretrained(folder)


def _plain_tensors(tiny: TinyModel) -> dict[str, torch.Tensor]:
    tensors = {name: parameter.to(torch.float32).contiguous()
               for name, parameter in tiny.model.named_parameters()}
    if tiny.config.tie_word_embeddings:
        tensors.pop("lm_head.weight", None)
    return tensors


def save_dense(tiny: TinyModel, folder: pathlib.Path) -> pathlib.Path:
    """An ordinary checkpoint; for ternary models the decoded twin."""
    _write_configs(tiny, folder)
    save_file(_plain_tensors(tiny), folder / "model.safetensors")
    return folder


# Code 0 is level 0, 1 is +1, 2 is -1; 3 does not occur.
K4_SPEC = {
    "symbol": "int", "bits": 2, "container": "U8", "orient": "NK",
    "law": {"word_bits": 8, "slots": 4, "stride": 1, "slot_order": "low_first", "axis": "K",
            "unit": "row"},
    "code_table": [0, 1, -1, None],
}


def save_packed(tiny: TinyModel, folder: pathlib.Path) -> pathlib.Path:
    """The same weights with packed linears and a format sheet beside them."""
    _write_configs(tiny, folder)
    tensors = _plain_tensors(tiny)
    modules = []
    for name, linear in tiny.linears.items():
        del tensors[name + ".weight"]
        packed = torch.from_numpy(pack_rows(linear.levels, {0: 0, 1: 1, -1: 2}))
        scale = torch.from_numpy(linear.scale).to(torch.float16)
        stored = {"codes": (name + ".weight_codes", packed), "scale": (name + ".weight_scale", scale)}
        tensors |= dict(stored.values())
        index = "row" if len(linear.scale) > 1 else "tensor"
        modules.append({
            "name": name, "role": name.split(".")[-1], "shape": list(linear.levels.shape),
            "stored": {role: {"name": key, "dtype": {"codes": "U8", "scale": "F16"}[role],
                              "shape": list(tensor.shape),
                              "bytes": tensor.numel() * tensor.element_size()}
                       for role, (key, tensor) in stored.items()},
            "spec": K4_SPEC | {"scale": {"index": index, "op": "mul", "dtype": "F16"}}})
    save_file(tensors, folder / "model.safetensors")
    sheet = {"schema": "trilith.sheet/1", "verdict": "identified", "modules": modules}
    (folder / "trilith_sheet.json").write_text(json.dumps(sheet))
    return folder


def save_announced(tiny: TinyModel, folder: pathlib.Path) -> pathlib.Path:
    """The same weights as transformers' BitNet integration stores them: quarter planes of uint8
    [N/4, K], one scale a matrix that multiplies, and the announcement in config.json."""
    from transformers.integrations.bitnet import pack_weights

    _write_configs(tiny, folder)
    tensors = _plain_tensors(tiny)
    for name, linear in tiny.linears.items():
        levels = torch.from_numpy(linear.levels.astype(np.float32))
        tensors[name + ".weight"] = pack_weights(levels)
        tensors[name + ".weight_scale"] = torch.from_numpy(linear.scale)
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitnet", "linear_class": "autobitlinear",
                                     "quantization_mode": "offline"}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def token_ids(tiny: TinyModel, length: int, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, tiny.config.vocab_size, size=length).tolist()


def check_liveliness(points: dict[str, np.ndarray], attentions: list[np.ndarray]) -> None:
    """`attentions`: per layer [heads, T, T], softmax weights; `points`: a trace, [T, …] each."""
    for layer, weights in enumerate(attentions):
        last = weights[:, -1, :]  # the row that sees most
        tokens = np.count_nonzero(last.max(axis=0))  # those in its window
        entropy = -(last * np.log(np.maximum(last, 1e-300))).sum(axis=-1).mean()
        assert 0.1 * math.log(tokens) <= entropy <= 0.8 * math.log(tokens), (layer, entropy)
        before = points["embed" if layer == 0 else f"layers.{layer - 1}.out"]
        middle = points[f"layers.{layer}.attn_residual"]
        for residual, update in ((before, points[f"layers.{layer}.o_proj"]),
                                 (middle, points[f"layers.{layer}.down_proj"])):
            share = np.linalg.norm(update, axis=1) / np.linalg.norm(residual, axis=1)
            assert share.min() >= 0.1, (layer, share.min())
