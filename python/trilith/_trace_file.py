"""Writing trace files (schema trilith.trace/1, docs/TRACES.md): which rows are kept, and the file."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile

import numpy as np

LEVELS = ("fingerprint", "sampled", "full")
_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_TOP_IDS = 10


def _finalise(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def sample_rows(tokens: int, count: int, seed: int, prompt: int) -> list[int]:
    """The rows `trilith trace --level sampled` stores, so that both sides store the same ones."""
    if count >= tokens:
        return list(range(tokens))
    rows = list(range(tokens))
    chosen = [tokens - 1, 0][:count]
    state = (seed * _STEP + prompt) & _MASK
    i = 1
    while len(chosen) < count:
        state = (state + _STEP) & _MASK
        pick = i + _finalise(state) % (tokens - 1 - i)
        rows[i], rows[pick] = rows[pick], rows[i]
        chosen.append(rows[i])
        i += 1
    return sorted(chosen)


def multiset_fingerprint(values: np.ndarray) -> str:
    """As base/fingerprint.h: changes with any value, not with the order."""
    if values.dtype == np.float32:
        bits = np.where(values == 0, np.float32(0), values).view(np.uint32)
        elements = np.where(np.isnan(values), np.uint32(0x7FC00000), bits).astype(np.uint64)
    else:
        elements = values.astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        x = elements + np.uint64(_STEP)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total = (x ^ (x >> np.uint64(31))).sum(dtype=np.uint64)
    return f"{int(total):016x}"


def _summary(values: np.ndarray) -> dict[str, object]:
    # The ordered fingerprint is a chain over all elements, out of reach here.
    norm = float(np.linalg.norm(values.astype(np.float64)))
    return {"rows": values.shape[0], "cols": values.shape[1], "ordered": None,
            "multiset": multiset_fingerprint(values), "l2": norm if np.isfinite(norm) else None}


def _top_ids(logits: np.ndarray) -> np.ndarray:
    """Largest first, the lower id first among equals, NaN last."""
    return np.argsort(-logits, axis=1, kind="stable")[:, :_TOP_IDS].astype(np.int64)


class TraceStore:
    """Tensors of a trace in the making; a prompt at a time is held whole."""

    def __init__(self, level: str, rows: int, seed: int):
        if level not in LEVELS:
            raise ValueError(f"unknown trace level '{level}': expected {', '.join(LEVELS)}")
        self._level, self._count, self._seed = level, rows, seed
        self._prompt = 0
        self._tensors: dict[str, np.ndarray] = {}
        self._rows: dict[str, list[int]] = {}
        self._summaries: dict[str, dict[str, object]] = {}

    @property
    def prompts(self) -> int:
        return self._prompt

    def add(self, ids: np.ndarray, points: dict[str, np.ndarray]) -> None:
        """The next prompt: ids [T], every point [T, n]."""
        tokens = len(ids)
        count = {"full": tokens, "sampled": self._count, "fingerprint": 0}[self._level]
        rows = sample_rows(tokens, count, self._seed, self._prompt)
        if len(rows) < tokens:
            self._rows[f"p{self._prompt}"] = rows
        self._tensors[f"p{self._prompt}.ids"] = ids.astype(np.int64)
        for point, values in points.items():
            name = f"p{self._prompt}.{point}"
            self._summaries[name] = _summary(values)
            if self._level != "fingerprint":
                kept = values if len(rows) == tokens else values[rows]
                self._tensors[name] = np.ascontiguousarray(kept)
                if point == "logits":
                    self._tensors[f"p{self._prompt}.top10"] = _top_ids(kept)
        self._prompt += 1

    def write(self, path: pathlib.Path, description: dict[str, object]) -> None:
        """The file appears under its name whole or not at all."""
        from safetensors.numpy import save_file

        text = description | {"schema": "trilith.trace/1", "level": self._level, "rows": self._rows,
                              "summaries": self._summaries}
        handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
        os.close(handle)
        try:
            save_file(self._tensors, temporary, metadata={"trilith.trace": json.dumps(text)})
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            pathlib.Path(temporary).unlink(missing_ok=True)
            raise
