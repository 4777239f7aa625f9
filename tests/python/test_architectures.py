"""Every architecture that is read, reference and engine, against transformers in float64, eager, on
tiny models under whose weights each operation matters. The limit is 1e-5 of a row's norm at every
trace point; transformers computes norms, softmax and rotary angles in float32 even for float64
models, and the engine holds float32 throughout."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from oracle import compare_points, prompt_points, read_trace, row_errors, write_ids
from tiny_models import (TinyModel, check_liveliness, make_model, save_dense, save_packed,
                         token_ids)
from transformers_trace import trace_transformers

LIMIT = 1e-5
TOKENS = 48


def rope(kind: str, **parameters: object) -> dict[str, object]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0} | parameters}


# Long enough texts for every scaling to bend some angles and leave others: 48 tokens over an
# original length of 16 or 24.
MODELS = {
    "mistral-window": lambda: make_model("mistral", 41, sliding_window=11, head_dim=24),
    "mistral-no-window": lambda: make_model("mistral", 42, sliding_window=None),
    "qwen2": lambda: make_model("qwen2", 43, tie_word_embeddings=True),
    "qwen2-late-window": lambda: make_model("qwen2", 44, use_sliding_window=True,
                                            sliding_window=7, max_window_layers=1),
    "qwen3": lambda: make_model("qwen3", 45, head_dim=24, attention_bias=True),
    "qwen3-layer-types": lambda: make_model(
        "qwen3", 46, head_dim=16, use_sliding_window=True, sliding_window=9,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "smollm3": lambda: make_model("smollm3", 47, no_rope_layer_interval=2, num_hidden_layers=4),
    "smollm3-window-bias": lambda: make_model(
        "smollm3", 48, no_rope_layers=[0, 1, 0], use_sliding_window=True, sliding_window=10,
        attention_bias=True, mlp_bias=True),
    "llama-bias": lambda: make_model("llama", 49, attention_bias=True, mlp_bias=True),
    "llama-linear": lambda: make_model("llama", 50, **rope("linear", factor=4.0)),
    "llama-dynamic": lambda: make_model("llama", 51, **rope("dynamic", factor=4.0)),
    "llama-llama3": lambda: make_model(
        "llama", 52, head_dim=32, **rope("llama3", factor=8.0, low_freq_factor=1.0,
                                         high_freq_factor=4.0,
                                         original_max_position_embeddings=24)),
    "llama-yarn": lambda: make_model(
        "llama", 53, head_dim=32, **rope("yarn", factor=4.0, beta_fast=4.0, beta_slow=0.5,
                                         original_max_position_embeddings=16)),
    "qwen2-yarn": lambda: make_model(
        "qwen2", 54, num_attention_heads=2, num_key_value_heads=1,
        **rope("yarn", factor=8.0, original_max_position_embeddings=16, truncate=False,
               mscale=0.9, mscale_all_dim=0.4)),
}


def traced(trilith, model: pathlib.Path, ids: list[int], folder: pathlib.Path,
           *options: str) -> dict[str, np.ndarray]:
    output = folder / ("trace" + "".join(options) + ".safetensors")
    trilith("trace", model, "--ids", write_ids(folder / "ids.jsonl", [ids]), "-o", output,
            *options)
    return prompt_points(read_trace(output)[0])


@pytest.mark.parametrize("name", MODELS)
def test_reference_and_engine_agree_at_every_point(name, trilith, tmp_path, report_figure):
    tiny: TinyModel = MODELS[name]()
    ids = token_ids(tiny, TOKENS, seed=11)
    expected, attentions = trace_transformers(tiny.model, ids)
    check_liveliness(expected, attentions)
    model = save_dense(tiny, tmp_path / "model")
    worst = {}
    for backend in ("reference", "engine"):
        found = traced(trilith, model, ids, tmp_path, "--mode=f32", f"--backend={backend}")
        errors = compare_points(found, expected, LIMIT)
        assert set(found) - set(expected) == {"ids", "top10"}
        worst[backend] = errors["logits"]
    report_figure(f"{name}: worst relative logit error {worst['reference']:.1e} (reference), "
                  f"{worst['engine']:.1e} (engine), {len(expected)} points")
