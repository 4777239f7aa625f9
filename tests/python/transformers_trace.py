"""Captures the values of a transformers decoder at the trace points of CONTRACT."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import numpy as np
import torch


def _rows(tensor: torch.Tensor) -> np.ndarray:
    """[1, T, n], or [1, heads, T, d] as attention has it -> [T, n], float64."""
    if tensor.dim() == 4:
        tensor = tensor.transpose(1, 2).flatten(2)
    return tensor.detach()[0].to(torch.float64).numpy().copy()


@contextlib.contextmanager
def _recorded_rope(module_name: str, layers: list[int], points: dict[str, np.ndarray]
                   ) -> Iterator[None]:
    """Replaces apply_rotary_pos_emb of a modeling module by one that records its results. `layers`:
    those that call it, in order."""
    module = sys.modules[module_name]
    original = module.apply_rotary_pos_emb
    callers = iter(layers)

    def record(q, k, *args, **kwargs):
        layer = next(callers)
        q_rope, k_rope = original(q, k, *args, **kwargs)
        points[f"layers.{layer}.q_rope"] = _rows(q_rope)
        points[f"layers.{layer}.k_rope"] = _rows(k_rope)
        return q_rope, k_rope

    module.apply_rotary_pos_emb = record
    try:
        yield
    finally:
        module.apply_rotary_pos_emb = original


def trace_transformers(model: torch.nn.Module, ids: list[int]
                       ) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Runs one sequence; returns {point: [T, n]} and per layer the attention weights [heads, T, T]."""
    points: dict[str, np.ndarray] = {}
    handles = []

    def after(module: torch.nn.Module, point: str) -> None:
        def hook(_module, _inputs, output):
            output = output[0] if isinstance(output, tuple) else output
            # Norms of heads see [1, T, heads, d].
            points[point] = _rows(output.flatten(2) if output.dim() == 4 else output)

        handles.append(module.register_forward_hook(hook))

    def before(module: torch.nn.Module, point: str) -> None:
        def hook(_module, inputs):
            points[point] = _rows(inputs[0])

        handles.append(module.register_forward_pre_hook(hook))

    after(model.model.embed_tokens, "embed")
    for i, layer in enumerate(model.model.layers):
        prefix = f"layers.{i}."
        attention, mlp = layer.self_attn, layer.mlp
        after(layer.input_layernorm, prefix + "input_norm")
        for name in ("q_proj", "k_proj", "v_proj", "q_norm", "k_norm", "o_proj"):
            if hasattr(attention, name):
                after(getattr(attention, name), prefix + name)
        for name in ("gate_proj", "up_proj", "down_proj"):
            after(getattr(mlp, name), prefix + name)
        before(getattr(attention, "attn_sub_norm", attention.o_proj), prefix + "attn")
        before(getattr(mlp, "ffn_sub_norm", mlp.down_proj), prefix + "act")
        if hasattr(attention, "attn_sub_norm"):
            after(attention.attn_sub_norm, prefix + "attn_sub_norm")
            after(mlp.ffn_sub_norm, prefix + "ffn_sub_norm")
        before(layer.post_attention_layernorm, prefix + "attn_residual")
        after(layer.post_attention_layernorm, prefix + "post_norm")
        after(layer, prefix + "out")
    after(model.model.norm, "final_norm")
    uses_rope = getattr(model.config, "no_rope_layers", [1] * len(model.model.layers))
    rotating = [i for i, used in enumerate(uses_rope) if used]
    try:
        with torch.no_grad(), _recorded_rope(type(model).__module__, rotating, points):
            output = model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    points["logits"] = _rows(output.logits)
    return points, [weights[0].numpy() for weights in output.attentions]
