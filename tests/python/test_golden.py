"""The golden trace of the sample, recomputed: by the program, and by transformers in double."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def golden(sample):
    """(description, tensors)"""
    with safe_open(sample / "golden.safetensors", "numpy") as source:
        description = json.loads(source.metadata()["trilith.trace"])
        return description, {name: source.get_tensor(name) for name in source.keys()}


def test_it_says_what_it_is(golden, sample):
    description, tensors = golden
    assert description["schema"] == "trilith.trace/1"
    assert description["mode"] == "f32" and description["backend"] == "reference"
    assert description["scale_dtype"] == "F16"
    texts = (sample / "texts.txt").read_text(encoding="utf-8").splitlines()
    assert description["texts"] == texts and len(texts) == 4
    assert all(tensors[f"p{i}.ids"].shape == (64,) for i in range(4))
    assert tensors["p0.top10"].shape == (64, 10)
    assert (sample / "golden.safetensors").stat().st_size <= 8_000_000


def test_a_recomputed_prompt_is_the_golden(trilith, golden, sample, tmp_path):
    """The reference is double arithmetic with libm: equal to a float32 rounding, on any machine."""
    _, tensors = golden
    ids = tmp_path / "ids.jsonl"
    ids.write_text(json.dumps(tensors["p0.ids"].tolist()) + "\n")
    trace = tmp_path / "again.safetensors"
    trilith("trace", sample, "--ids", ids, "--mode", "f32", "-o", trace)
    again = load_file(trace)
    compared = [name for name in tensors if name.startswith("p0.") and name != "p0.ids"]
    assert len(compared) == 9 * 6 + 2
    for name in compared:
        assert np.allclose(again[name], tensors[name], rtol=2**-22, atol=1e-12), name


def test_its_logits_are_those_of_transformers(golden, twin, report_figure):
    _, tensors = golden
    with torch.no_grad():
        expected = twin(torch.tensor(tensors["p0.ids"])[None]).logits[0].double().numpy()
    error = np.linalg.norm(tensors["p0.logits"] - expected, axis=1)
    worst = float((error / np.linalg.norm(expected, axis=1)).max())
    report_figure(f"golden against transformers in double: worst relative logit error {worst:.2e}")
    assert worst <= 1e-5
