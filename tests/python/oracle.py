"""Reading traces of the program, and the comparisons oracle tests make."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import torch
from safetensors import safe_open

# An engine that holds activations in float32 may land on the other side of a rounding tie; a code
# may differ by one within this distance of it (same share of absmax in both modes).
TIE_WIDTH = {"a8": 2.0**-12, "a16": 2.0**-4}
HIGHEST_CODE = {"a8": 127, "a16": 32767}


def write_ids(path: pathlib.Path, prompts: list[list[int]]) -> pathlib.Path:
    path.write_text("".join(json.dumps(ids) + "\n" for ids in prompts))
    return path


def read_trace(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict]:
    """{tensor name: array}, and the description."""
    with safe_open(str(path), "numpy") as trace:
        tensors = {name: trace.get_tensor(name) for name in trace.keys()}
        return tensors, json.loads(trace.metadata()["trilith.trace"])


def prompt_points(tensors: dict[str, np.ndarray], prompt: int = 0) -> dict[str, np.ndarray]:
    prefix = f"p{prompt}."
    return {name.removeprefix(prefix): values for name, values in tensors.items()
            if name.startswith(prefix)}


def row_errors(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Per row, the norm of the difference over the norm of `expected`."""
    assert found.shape == expected.shape, (found.shape, expected.shape)
    difference = np.linalg.norm(found.astype(np.float64) - expected, axis=1)
    return difference / np.linalg.norm(expected, axis=1)


def compare_points(found: dict[str, np.ndarray], expected: dict[str, np.ndarray],
                   limit: float) -> dict[str, float]:
    """Worst row error of every point of `expected`; all must be within `limit`."""
    worst = {point: float(row_errors(found[point], values).max())
             for point, values in expected.items()}
    wrong = {point: error for point, error in worst.items() if not error <= limit}
    assert not wrong, f"first: {next(iter(wrong.items()))}; {len(wrong)} of {len(worst)} points"
    return worst


class ForcedCodes:
    """Replaces the input quantisation of a linear by codes another implementation made, after
    checking that they differ from its own at rounding ties only."""

    def __init__(self, mode: str, codes: np.ndarray):
        self.mode = mode
        self.codes = torch.from_numpy(codes.astype(np.float64))  # [T, K]
        self.flips = 0

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        """[T, K] -> [T, 1]"""
        absmax = x.abs().amax(dim=-1, keepdim=True)
        if self.mode == "a8":
            absmax = absmax.clamp(min=1e-5)
        return HIGHEST_CODE[self.mode] / absmax

    def __call__(self, x: torch.Tensor, own_codes: torch.Tensor) -> torch.Tensor:
        """x [1, T, K] and what the implementation under it rounds x to -> codes / scale."""
        scale = self.scale(x[0])
        differs = self.codes != own_codes[0]
        step = (self.codes - own_codes[0]).abs()
        tie = torch.minimum(self.codes, own_codes[0]) + 0.5
        distance = (x[0] * scale - tie).abs()
        allowed = (step == 1) & (distance <= TIE_WIDTH[self.mode])
        assert bool((~differs | allowed).all()), "codes differ away from a rounding tie"
        self.flips += int(differs.sum())
        return (self.codes / scale)[None]
