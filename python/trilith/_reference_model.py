"""A transformers model with its packed linears replaced by decoded weights."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import numpy as np

from ._checkpoint import Checkpoint, Format, PackedModule
from ._decode import decode

if TYPE_CHECKING:
    import torch
    import transformers


def _decoded(checkpoint: Checkpoint, module: PackedModule) -> torch.Tensor:
    """W, float64 [N, K]."""
    import torch

    tensors = {role: checkpoint.tensor(name) for role, name in module.stored.items()}
    try:
        return torch.from_numpy(np.ascontiguousarray(decode(module.spec, tensors, *module.shape)))
    except ValueError as error:
        raise ValueError(f"{checkpoint.folder}: {module.name}: {error}") from error


def _state(checkpoint: Checkpoint, form: Format, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    import torch

    consumed = {name for module in form.modules for name in module.stored.values()}
    state = {form.plain.get(name, name): torch.from_numpy(checkpoint.tensor(name)).to(dtype)
             for name in sorted(checkpoint.names - consumed)}
    for module in form.modules:
        state[module.name + ".weight"] = _decoded(checkpoint, module).to(dtype)
    return state


def reference_model(path: str | pathlib.Path, dtype: torch.dtype | None = None,
                    sheet: str | pathlib.Path | None = None) -> transformers.PreTrainedModel:
    """Any transformers causal language model from a checkpoint directory, for comparison.

    Packed linears are decoded (weight times scale) in float64 by the format sheet `sheet`, by
    trilith_sheet.json beside the weights, or by what the config announces, and become ordinary
    linears of `dtype` (default torch.float64); activations are not quantised. Attention is eager.
    Raises ValueError when the checkpoint lacks a parameter or has one the model does not.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    dtype = dtype or torch.float64
    checkpoint = Checkpoint(path)
    config = AutoConfig.from_pretrained(checkpoint.folder)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").to(dtype)
    state = _state(checkpoint, checkpoint.format(sheet), dtype)
    loaded = model.load_state_dict(state, strict=False)
    model.tie_weights()
    tied = {"lm_head.weight"} if config.get_text_config().tie_word_embeddings else set()
    missing = set(loaded.missing_keys) - tied
    if missing or loaded.unexpected_keys:
        raise ValueError(f"{checkpoint.folder}: the model misses {sorted(missing)[:3]} and does not "
                         f"know {sorted(loaded.unexpected_keys)[:3]} ({len(missing)} and "
                         f"{len(loaded.unexpected_keys)} in all)")
    return model.eval().requires_grad_(False)
