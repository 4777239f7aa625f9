"""Holds a linear layer on packed weights against its format: one call in somebody's test suite."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._decode import UnsupportedSpec, _Layout, _levels, decode

Linear = Callable[[np.ndarray, Mapping[str, np.ndarray]], Any]


class LinearFault(AssertionError):
    """The function computes something else; `fault_class` is a class of docs/RECONCILE.md's ledger."""

    def __init__(self, fault_class: str, words: str):
        super().__init__(f"{fault_class}: {words}")
        self.fault_class = fault_class


def _encode(spec: Mapping[str, Any], codes: np.ndarray) -> np.ndarray:
    """The codes tensor of codes [N, K], as bytes."""
    if spec["symbol"] != "int" or any(spec["law"].get(key) for key in ("fields", "line_fields", "tensor_fields")):
        raise UnsupportedSpec(f"check_linear packs plain integer codes, not {spec['symbol']!r} with fields")
    layout, law, width = _Layout(spec, *codes.shape), spec["law"], spec["bits"]
    unit, word, slot, slots = layout.line.places()
    order = law.get("slot_order", "low_first")
    field = slot if order == "low_first" else slots - 1 - slot if order == "high_first" else np.asarray(order)[slot]
    stored = codes if layout.is_nk else codes.T
    lines = stored.reshape(1, -1) if layout.kind == "flat" else stored if layout.kind == "inner" else stored.T
    data = np.zeros(layout.total_bytes, np.uint8)
    offsets = layout.word_offsets(unit, word)
    for bit in range(width):
        place = np.broadcast_to(field * width + bit, lines.shape)
        byte = place // 8
        if law.get("byte_order", "little") != "little":
            byte = layout.word_bytes - 1 - byte
        np.bitwise_or.at(data, offsets + byte, (((lines >> bit) & 1) << (place % 8)).astype(np.uint8))
    return data


def _scale(spec: Mapping[str, Any], rows: int, cols: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    scale = spec.get("scale", {"index": "none"})
    if scale["index"] == "none":
        return {}
    if scale.get("place", "tensor") != "tensor" or scale["index"] not in ("tensor", "row", "column", "row x group"):
        raise UnsupportedSpec(f"check_linear makes no scales of {scale!r}")
    groups = -(-cols // scale["group"]) if scale["index"] == "row x group" and scale["group"] > 0 else 1
    shape = {"tensor": (1,), "row": (rows,), "column": (cols,), "row x group": (rows, groups)}[scale["index"]]
    if scale.get("layout") == "[K/g, N]":
        shape = shape[::-1]
    return {"scale": rng.uniform(0.5, 1.5, shape).astype(np.float16).astype(np.float32)}


def _run(fn: Linear, x: np.ndarray, tensors: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    y = fn(x.copy(), {role: value.copy() for role, value in tensors.items()})
    if hasattr(y, "detach"):
        y = y.detach().cpu().float().numpy()
    y = np.asarray(y, np.float64)
    if y.shape != (len(x), rows):
        raise LinearFault("transpose", f"the output has shape {list(y.shape)}, not {[len(x), rows]}")
    return y


def _readings(spec: Mapping[str, Any], tensors: Mapping[str, np.ndarray], shape: tuple[int, int]
              ) -> Iterator[tuple[str, str, np.ndarray]]:
    """Wrong matrices that known faults make of the same bytes: class, words, W."""
    right = decode(spec, tensors, *shape)
    yield "sign", "the sign of every weight is turned", -right
    if "scale" in tensors:
        plain = decode(spec | {"scale": {"index": "none"}}, tensors, *shape)
        yield "scale-missing", "the scale is not applied", plain
        inverse = {"mul": "div", "div": "mul"}[spec["scale"]["op"]]
        yield "scale-inverted", f"the scale is applied as {inverse}", decode(
            spec | {"scale": spec["scale"] | {"op": inverse}}, tensors, *shape)
        for step in (1, -1):
            moved = dict(tensors) | {"scale": np.roll(tensors["scale"], step, axis=0)}
            yield "scale-shift", f"the scale of the row {step} before is used", decode(spec, moved, *shape)
    law = spec["law"]
    order = law.get("slot_order", "low_first")
    for other in {"low_first", "high_first"} - {order}:
        yield "bit-order", f"slots are read {other}, not {order}", decode(
            spec | {"law": law | {"slot_order": other}}, tensors, *shape)
    for stride in (1, 16, 32, 64, "extent/slots"):
        if stride != law.get("stride", 1):
            try:
                yield "slot-stride", f"slots are {stride} elements apart", decode(
                    spec | {"law": law | {"stride": stride}}, tensors, *shape)
            except (ValueError, IndexError):
                continue
    levels = [None if np.isnan(level) else float(level) for level in _levels(spec)]
    if len(levels) > 16:
        return
    used = [code for code, level in enumerate(levels) if level is not None]

    def with_levels(changed: Sequence[float | None]) -> np.ndarray:
        return decode(spec | {"code_table": list(changed)}, tensors, *shape)

    for code, level in itertools.product(used, sorted({levels[c] for c in used} | {0.0})):
        if level != levels[code]:
            changed = [level if c == code else value for c, value in enumerate(levels)]
            yield "code-partial", f"code {code} is read as {level:g}, not {levels[code]:g}", with_levels(changed)
    for offset in (-2.0, -1.0, 1.0, 2.0):
        changed = [None if value is None else value + offset for value in levels]
        yield "zero-point", f"{offset:+g} is added to every level", with_levels(changed)
    if len(used) <= 4:
        for turned in itertools.permutations([levels[code] for code in used]):
            changed = list(levels)
            for code, level in zip(used, turned):
                changed[code] = level
            if changed != levels:
                yield "code-table", f"the levels of codes {used} are read as {list(turned)}", with_levels(changed)


def _name(spec: Mapping[str, Any], tensors: Mapping[str, np.ndarray], found: np.ndarray, right: np.ndarray,
          limit: np.ndarray) -> LinearFault:
    """The fault that the effective matrix `found` [N, K] shows."""
    wrong = ~(np.abs(found - right) <= limit)
    for fault_class, words, matrix in _readings(spec, tensors, right.shape):
        if (np.abs(found - matrix) <= limit).all():
            return LinearFault(fault_class, f"{words}; this explains every element of the matrix")
    share = f"{int(wrong.sum())} of {wrong.size} elements of the effective matrix are wrong"
    rows, cols = wrong.any(axis=1), wrong.any(axis=0)
    for axis, at in (("rows", rows), ("columns", cols)):
        first = int(np.argmax(at))
        if 0 < first and at[first:].all() and (at[first:].size < at.size / 2):
            return LinearFault("tail", f"{axis} from {first} on are wrong; {share}")
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return LinearFault("unclassified", f"{share}, the first at {place}: {found[place]:.6g}, not {right[place]:.6g}")


def check_linear(fn: Linear, spec: Mapping[str, Any], *, shapes: Sequence[tuple[int, int]] = ((24, 128), (40, 384)),
                 batches: Sequence[int] = (1, 2, 5, 17), unit: float = 2.0**-24, seed: int = 0) -> None:
    """Raises LinearFault unless `fn(x, tensors)` is x @ decode(spec, tensors).T for float inputs.

        def test_my_kernel():
            trilith.check_linear(my_linear, spec)

    `fn` gets x, float32 [T, K], and `tensors`: "codes" as bytes and, where the spec has one, "scale" as
    float32; it returns [T, N] (NumPy, or anything with detach()). For every [N, K] of `shapes` the
    matrix holds every code that has a level, at every place of a word. The effective matrix is read out
    by unit vectors and, where it is wrong, the fault is named by reading the same bytes in wrong ways;
    then come batches, inputs that make sums large, zeros, and a repeated call. An element may differ by
    (K + 8) · `unit` · Σ|x·w|, the bound on a sum in any order; `unit` is the roundoff of `fn`.
    """
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(~np.isnan(_levels(spec)))
    for rows, cols in shapes:
        codes = rng.choice(used, size=(rows, cols)).astype(np.int64)
        tensors = {"codes": _encode(spec, codes)} | _scale(spec, rows, cols, rng)
        right = decode(spec, tensors, rows, cols)

        def bound(x: np.ndarray) -> np.ndarray:
            return (cols + 8) * unit * (np.abs(x).astype(np.float64) @ np.abs(right).T)

        def wrong(y: np.ndarray, x: np.ndarray) -> np.ndarray:
            return ~(np.abs(y - x.astype(np.float64) @ right.T) <= bound(x))

        impulses = np.eye(cols, dtype=np.float32)
        # One at a time, so that a fault of batches is not taken for one of the weights.
        found = np.concatenate([_run(fn, row[None], tensors, rows) for row in impulses]).T
        limit = (cols + 8) * unit * np.maximum(np.abs(right), np.abs(found))
        if not (np.abs(found - right) <= limit).all():
            raise _name(spec, tensors, found, right, limit)
        for tokens in batches:
            x = rng.normal(size=(tokens, cols)).astype(np.float32)
            y = _run(fn, x, tensors, rows)
            if wrong(y, x).any():
                row = int(np.argwhere(wrong(y, x))[0][0])
                alone = _run(fn, x[row:row + 1], tensors, rows)
                if tokens > 1 and not wrong(alone, x[row:row + 1]).any():
                    raise LinearFault("batch-row", f"token {row} of {tokens} is wrong in a batch and right alone")
                raise LinearFault("unclassified", f"unit vectors are right, a sum of {cols} products is not")
            if not np.array_equal(y, _run(fn, x, tensors, rows)):
                raise LinearFault("uninitialised", "the same call gives another result")
        signs = np.sign(right).astype(np.float32)
        large = np.concatenate([signs[:4] * 127, np.full((1, cols), -128, np.float32)])
        if wrong(_run(fn, large, tensors, rows), large).any():
            raise LinearFault("int16-overflow", "sums of products of one sign are wrong")
        zeros = np.zeros((2, cols), np.float32)
        if not np.array_equal(_run(fn, zeros, tensors, rows), np.zeros((2, rows))):
            raise LinearFault("nan", "an input of zeros does not give zeros")
