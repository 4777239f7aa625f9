"""Draws a packing, the sizes of a model that it can hold, and the names of its tensors."""

import dataclasses
import random

import numpy as np

from .model import Sizes
from .packing import TERNARY_TABLES, Packing

KINDS = ["words"] * 11 + ["stream"] * 3 + ["base3"] * 3 + ["planes"] + ["blocks"] * 2
MOST_PADDING = 0.1


@dataclasses.dataclass(frozen=True)
class Case:
    seed: int
    packing: Packing
    sizes: Sizes
    naming: str  # grouped: m03.p1, flat: t017, named: model.layers.0.mlp.up_proj.packed
    order: str  # of the modules by name: execution, alphabetical, shuffled


def draw_sizes(rng: random.Random, even: bool) -> Sizes:
    head = rng.choice([16, 32])
    if even:
        hidden = rng.choice([128, 192, 256])
        intermediate = rng.choice([320, 384, 512])
    else:
        hidden = rng.choice([96, 120, 132, 150, 160, 192])
        intermediate = rng.choice([250, 260, 324, 352, 388])
    heads = -(-hidden // head) if rng.random() < 0.7 else hidden // head + 2
    kv_heads = rng.choice([h for h in range(1, heads + 1) if heads % h == 0 and h <= 4])
    if even:
        heads, kv_heads = hidden // head, rng.choice([1, 2, 4])
    return Sizes(hidden, intermediate, heads, kv_heads, head)


def draw_packing(rng: random.Random) -> Packing:
    kind = rng.choice(KINDS)
    bits, ternary, word, table = 2, True, "uint8", rng.choice(sorted(TERNARY_TABLES))
    if kind == "words":
        word = rng.choice(["uint8"] * 5 + ["int32"] * 3 + ["int8", "int16", "int64", "uint32"])
        bits = rng.choice([1, 2, 2, 2, 2, 4, 4, 4, 8])
        ternary = bits == 2 and rng.random() < 0.8
    elif kind == "stream":
        word = rng.choice(["uint8", "uint8", "int32"])
        bits, ternary = rng.choice([3, 5, 6, 7]), False
    elif kind == "base3":
        bits, word = 0, rng.choice(["uint8"] * 4 + ["int32"])
    elif kind == "planes":
        bits = 1
    elif kind == "blocks":
        bits = rng.choice([1, 2, 2, 4, 4, 8])
        ternary = bits == 2
    zero = "none"
    if not ternary:
        table = "sign" if bits == 1 else rng.choice(["offset", "offset", "twos", "sign_magnitude"])
        if bits == 2:
            table = rng.choice(["offset", "twos"])
        if kind in ("words", "stream") and bits > 1 and rng.random() < 0.3:
            table, zero = "unsigned", rng.choice(["bytes", "float"])
    base = Packing(kind, bits, ternary, word, table=table, zero=zero)
    slots = base.slots if kind != "stream" else 1
    order = rng.choice(["low", "low", "high"])
    if kind == "words" and slots == 8 and word.endswith("32") and rng.random() < 0.3:
        order = "interleaved"
    axis = "K" if kind == "blocks" else rng.choice("KKKN")
    orient = "NK" if kind == "blocks" or rng.random() < 0.6 else "KN"
    if kind == "words" and slots == 1:
        axis, order = ("K", "low") if orient == "NK" else ("N", "low")
    strides = [1]
    if kind == "words" and 1 < slots <= 16:
        strides = [1, 1, 0, 16, 32]
    elif kind in ("base3", "planes"):
        strides = [1, 1, 0]
    scale = rng.choice(["tensor", "row", "row", "row", "group", "group", "column"])
    if scale == "column" and rng.random() < 0.5:
        scale = "row"
    divide = kind != "blocks" and zero == "none" and rng.random() < 0.25
    block = rng.choice([32, 64, 128]) if kind == "blocks" else 0
    stride = rng.choice(strides)
    if block:
        scale = "block"
        stride = rng.choice([1, block // base.slots])
        divide = False
    return dataclasses.replace(
        base, axis=axis, orient=orient, stride=stride, order=order,
        scale=scale, group=rng.choice([32, 64, 128]) if scale == "group" else 0,
        group_layout=rng.choice(["NG", "NG", "GN"]), scale_shape=rng.choice(["flat", "column"]),
        divide=divide, block=block, scale_first=rng.random() < 0.6,
        scale_dtype="float32" if divide else rng.choice(["float16", "float32"]))


def fits(packing: Packing, sizes: Sizes) -> bool:
    """Whether every matrix divides into groups, and little of what is stored is padding."""
    for part in ("q_proj", "k_proj", "o_proj", "up_proj", "down_proj"):
        rows, cols = sizes.shape(part)
        if cols % (packing.block or packing.group or 1):
            return False
        extent = cols if packing.axis == "K" else rows
        slots = packing.slots if packing.kind in ("words", "base3", "planes") else 1
        stride = packing.stride or -(-extent // slots)
        if packing.kind in ("blocks", "stream"):
            continue
        full = -(-extent // (stride * slots)) * stride * slots
        if extent < (1 - MOST_PADDING) * full:
            return False
    return True


def draw_case(seed: int) -> Case:
    rng = random.Random(seed)
    while True:
        packing = draw_packing(rng)
        for _ in range(20):
            sizes = draw_sizes(rng, even=rng.random() < 0.5)
            if fits(packing, sizes):
                naming = rng.choice(["grouped"] * 5 + ["named"] * 3 + ["flat"])
                if naming == "flat" and (packing.zero != "none" or packing.kind == "planes"):
                    naming = "grouped"
                order = rng.choice(["execution"] * 3 + ["alphabetical", "shuffled"])
                return Case(seed, packing, sizes, naming, order)


def axes_of(case: Case) -> dict[str, str]:
    """What the confusion table counts by."""
    packing, sizes = case.packing, case.sizes
    padded = any(size % packing.slots for size in
                 ((sizes.hidden, sizes.intermediate, sizes.heads * sizes.head_dim)
                  if packing.kind in ("words", "base3", "planes") else ()))
    return {
        "kind": packing.kind,
        "bits": "trit" if packing.bits == 0 else str(packing.bits),
        "word": packing.word,
        "axis, orient": f"{packing.axis}, {packing.orient}",
        "stride": "extent/slots" if packing.stride == 0 else str(packing.stride),
        "order": packing.order,
        "table": ("planes" if packing.kind == "planes" else "digits" if packing.kind == "base3"
                  else packing.table),
        "scale": packing.scale,
        "group": str(packing.block or packing.group),
        "group layout": packing.group_layout if packing.scale == "group" else "-",
        "direction": "divide" if packing.divide else "multiply",
        "zero": packing.zero,
        "padding": "yes" if padded else "no",
        "names": case.naming,
        "module order": case.order,
        "scale dtype": str(np.dtype(packing.scale_dtype)),
    }
