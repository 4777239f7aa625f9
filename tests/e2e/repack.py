"""Ternary matrices written under a random packing with neutral names, in numpy alone.

The slot law is the one of docs/FORMATS.md, written out again so that nothing here shares code with
the program: lines along an axis, B = stride * slots, element e in word (e div B) * stride +
(e mod B) mod stride, slot (e mod B) div stride.
"""

import dataclasses
import json
import pathlib
import random
import shutil

import numpy as np
import safetensors.numpy

TABLES = {  # level -> code
    "0pm": {0: 0, 1: 1, -1: 2},
    "m0p": {-1: 0, 0: 1, 1: 2},
    "twos": {0: 0, 1: 1, -1: 3},
    "offset2": {-1: 1, 0: 2, 1: 3},
}


@dataclasses.dataclass(frozen=True)
class Packing:
    kind: str  # fields, bytes, int8, base3, planes
    axis: str = "K"
    stride: int = 1  # 0: the line in `slots` equal parts
    high_first: bool = False
    table: str = "0pm"
    digits_high_first: bool = False
    divide: bool = False
    scale_dtype: str = "float16"
    scale_column: bool = False  # [N, 1] in place of [N]


def random_packing(rng: random.Random, kind: str) -> Packing:
    divide = rng.random() < 0.4
    return Packing(
        kind=kind,
        axis=rng.choice("KN") if kind in ("fields", "base3") else "K",
        stride=rng.choice([1, 16, 32, 0]) if kind == "fields" else 1,
        high_first=rng.random() < 0.5,
        table=rng.choice(sorted(TABLES)),
        digits_high_first=rng.random() < 0.5,
        divide=divide,
        scale_dtype="float32" if divide else rng.choice(["float16", "float32"]),
        scale_column=rng.random() < 0.5,
    )


def law(codes: np.ndarray, slots: int, stride: int, field_of_slot) -> list[np.ndarray]:
    """codes [lines, elements] -> for each field its codes [lines, words]; padding is code 0."""
    lines, extent = codes.shape
    if stride == 0:
        stride = -(-extent // slots)
    block = stride * slots
    padded = np.zeros((lines, -(-extent // block) * block), np.uint8)
    padded[:, :extent] = codes
    units = padded.reshape(lines, -1, slots, stride)
    return [units[:, :, field_of_slot.index(field), :].reshape(lines, -1) for field in range(slots)]


def pack_words(packing: Packing, codes: np.ndarray, slots: int, bits: int) -> np.ndarray:
    order = list(range(slots))[::-1] if packing.high_first else list(range(slots))
    fields = law(codes, slots, packing.stride, order)
    words = np.zeros(fields[0].shape, np.uint8)
    for field, values in enumerate(fields):
        words |= (values << (bits * field)).astype(np.uint8)
    return words


def pack_base3(packing: Packing, codes: np.ndarray) -> np.ndarray:
    slots = law(codes, 5, 1, list(range(5)))
    if packing.digits_high_first:
        slots = slots[::-1]
    return sum(values.astype(np.int32) * 3**i for i, values in enumerate(slots)).astype(np.uint8)


def pack(packing: Packing, levels: np.ndarray) -> list[np.ndarray]:
    """levels [N, K] of -1, 0, 1 -> the stored code tensors."""
    if packing.kind == "int8":
        return [levels.astype(np.int8)]
    if packing.kind == "planes":
        one = dataclasses.replace(packing, stride=1)
        return [pack_words(one, (levels == sign).astype(np.uint8), 8, 1) for sign in (1, -1)]
    table = {-1: 0, 0: 1, 1: 2} if packing.kind == "base3" else TABLES[packing.table]
    codes = np.zeros(levels.shape, np.uint8)
    for level, code in table.items():
        codes[levels == level] = code
    if packing.kind == "bytes":
        return [codes]
    lines = codes if packing.axis == "K" else codes.T
    words = (pack_base3(packing, lines) if packing.kind == "base3"
             else pack_words(packing, lines, 4, 2))
    return [words if packing.axis == "K" else np.ascontiguousarray(words.T)]


LAYER = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
         "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
         "mlp.down_proj"]


def modules_in_order(layers: int) -> list[str]:
    inner = [f"model.layers.{i}.{part}" for i in range(layers) for part in LAYER]
    return ["model.embed_tokens", *inner, "model.norm", "lm_head"]


def repack(sample: pathlib.Path, target: pathlib.Path, packing: Packing, flat: bool,
           rng: random.Random) -> dict[str, np.ndarray]:
    """Writes the sample anew under `packing` with neutral names; returns the dense matrices by the
    name of their module (flat: of their codes tensor)."""
    source = safetensors.numpy.load_file(sample / "model.safetensors")
    config = json.loads((sample / "config.json").read_text())
    target.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(sample / name, target / name)
    config.pop("quantization_config", None)
    (target / "config.json").write_text(json.dumps(config))
    letters = rng.sample(range(4), 4)  # which p-number a part has, the same for all modules
    stored, dense = {}, {}
    for index, module in enumerate(modules_in_order(config["num_hidden_layers"])):
        if f"{module}.weight" in source:
            parts = [source[f"{module}.weight"]]
        else:
            scale = source[f"{module}.weight_scale"].astype(np.float32)
            levels = unpack_sample(source[f"{module}.weight_ternary"])
            kept = (1 / scale if packing.divide else scale).astype(packing.scale_dtype)
            step = kept.astype(np.float64)
            dense[module] = levels * (1 / step if packing.divide else step)[:, None]
            parts = [*pack(packing, levels), kept[:, None] if packing.scale_column else kept]
        names = ([f"t{len(stored) + i:03d}" for i in range(len(parts))] if flat
                 else [f"m{index:03d}.p{letters[i]}" for i in range(len(parts))])
        stored.update(zip(names, parts))
        if module in dense:
            dense[names[0] if flat else f"m{index:03d}"] = dense.pop(module)
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in stored.items()},
                                target / "model.safetensors")
    return dense


def unpack_sample(words: np.ndarray) -> np.ndarray:
    """uint8 [N, K/4], low two bits first, 0 -> 0, 1 -> +1, 2 -> -1."""
    codes = np.stack([(words >> shift) & 3 for shift in (0, 2, 4, 6)], axis=-1)
    return np.array([0, 1, -1, 99], np.int8)[codes.reshape(words.shape[0], -1)]
