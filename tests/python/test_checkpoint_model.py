"""Configs mean here what they mean in transformers, and tiny checkpoints load there."""

import json
import os
import pathlib
import subprocess

import pytest
import torch
from safetensors.torch import load_file
from transformers import (AutoModelForCausalLM, BitNetConfig, LlamaConfig, MistralConfig,
                          Qwen2Config, Qwen3Config, SmolLM3Config)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))
EXCHANGE = BUILD / "tests" / "model_exchange"

SIZES = {"vocab_size": 64, "hidden_size": 40, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 10}


def run(*arguments):
    return subprocess.run([EXCHANGE, *arguments], capture_output=True, text=True, timeout=120)


def spec_of(folder):
    result = run("spec", folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("config_class", [LlamaConfig, BitNetConfig])
@pytest.mark.parametrize("given", [
    {},
    {"tie_word_embeddings": True},
    {"num_key_value_heads": 2, "rope_theta": 250000.0},
    {"num_key_value_heads": None},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 1234.5}},
    {"rope_parameters": {"rope_type": "default"}, "rope_theta": 99.0},
    {"rope_scaling": {"type": "default"}, "rope_theta": 77.0},
    {"rms_norm_eps": 1e-3, "attention_bias": True, "max_position_embeddings": 4096},
    {"hidden_act": "gelu_new"},
])
def test_defaults_are_those_of_transformers(tmp_path, config_class, given):
    # Both as a hand-written file and as transformers saves it.
    by_hand = {"model_type": config_class.model_type, **SIZES, **given}
    (tmp_path / "config.json").write_text(json.dumps(by_hand))
    theirs = config_class.from_dict(dict(by_hand))
    saved = tmp_path / "saved"
    theirs.save_pretrained(saved)
    activations = {"gelu_new": "gelu_pytorch_tanh"}
    for folder in (tmp_path, saved):
        ours = spec_of(folder)
        for key in (*SIZES, "num_key_value_heads", "rms_norm_eps", "max_position_embeddings",
                    "tie_word_embeddings", "attention_bias"):
            assert ours[key] == getattr(theirs, key), key
        assert ours["hidden_act"] == activations.get(theirs.hidden_act, theirs.hidden_act)
        assert ours["rope_theta"] == theirs.rope_parameters["rope_theta"]
        assert ours["head_dim"] == 4


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize("config_class", [MistralConfig, Qwen2Config, Qwen3Config, SmolLM3Config])
@pytest.mark.parametrize("given", [
    {},
    {"num_key_value_heads": 16, "tie_word_embeddings": True, "rms_norm_eps": 1e-3},
    {"sliding_window": 5},
    {"sliding_window": None},
    {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 3},
    {"no_rope_layers": [0, 1, 1, 0, 1, 0], "use_sliding_window": True, "sliding_window": 7},
    {"no_rope_layer_interval": 3},
    {"rope_parameters": YARN, "rope_theta": 5e5},
    {"rope_scaling": {"type": "linear", "factor": 3.0}},
])
def test_defaults_that_differ_from_layer_to_layer(tmp_path, config_class, given):
    sizes = {**SIZES, "hidden_size": 64, "num_attention_heads": 32, "num_hidden_layers": 6}
    by_hand = {"model_type": config_class.model_type, **sizes, **given}
    (tmp_path / "config.json").write_text(json.dumps(by_hand))
    theirs = config_class.from_dict(dict(by_hand))
    saved = tmp_path / "saved"
    theirs.save_pretrained(saved)
    for folder in (tmp_path, saved):
        ours = spec_of(folder)
        for key in (*sizes, "num_key_value_heads", "rms_norm_eps", "max_position_embeddings",
                    "tie_word_embeddings", "hidden_act"):
            assert ours[key] == getattr(theirs, key), key
        assert ours["head_dim"] == getattr(theirs, "head_dim", 2)
        types = getattr(theirs, "layer_types", None)
        if types is not None:
            assert ours["layer_types"] == types
        windows = types is None or "sliding_attention" in types
        assert ours["sliding_window"] == (theirs.sliding_window if windows else None)
        if config_class is SmolLM3Config:
            assert ours["no_rope_layers"] == theirs.no_rope_layers
        rope = theirs.rope_parameters
        assert ours.get("rope_theta", ours.get("rope_parameters", {}).get("rope_theta")) == \
            rope["rope_theta"]
        if rope["rope_type"] != "default":
            mine = ours["rope_parameters"]
            assert {key: mine[key] for key in rope if key != "type"} == \
                {key: value for key, value in rope.items() if key != "type"}


BITNET = {"quant_method": "bitnet", "quantization_mode": "offline"}


@pytest.mark.parametrize("options", [
    {},
    {"attention_bias": True, "shards": 3},
    {"tied": True, "seed": 2},
    {"model_type": "bitnet", "tied": True},
    {"model_type": "bitnet", "tied": True, "format": "hf-bitnet",
     "quantization_config": {**BITNET, "linear_class": "autobitlinear"}},
    {"model_type": "llama", "format": "hf-bitnet-inverse",
     "quantization_config": {**BITNET, "linear_class": "bitlinear",
                             "modules_to_not_convert": ["lm_head"]}},
], ids=["dense", "shards", "tied", "bitnet-dense", "bitnet-multiply", "bitnet-inverse"])
def test_tiny_models_load_in_transformers(tmp_path, options):
    written = run("tiny", json.dumps(options), tmp_path)
    assert written.returncode == 0, written.stderr
    dense = load_file(tmp_path / "dense.safetensors")
    (tmp_path / "dense.safetensors").unlink()
    model, info = AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    if options.get("tied"):
        assert model.lm_head.weight is model.model.embed_tokens.weight
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    compared = 0
    for name, truth in dense.items():
        weight = state[name].float()
        scale = state.get(name.removesuffix(".weight") + ".weight_scale")
        if scale is not None and weight.dim() == 2:
            # transformers keeps ternary numbers and the scale apart; float32 rounds once, as here.
            if weight.shape[0] * weight.shape[1] != truth.numel():  # packed: BitLinear
                from transformers.integrations.bitnet import unpack_weights
                weight = unpack_weights(state[name], torch.float32)
            inverse = options["quantization_config"]["linear_class"] == "bitlinear"
            weight = weight / scale.float() if inverse else weight * scale.float()
        assert torch.equal(weight.reshape(-1), truth), name
        compared += 1
    assert compared == len(dense) > 18
