"""GGUF files as models: block types against the zoo's, names and config against gguf and transformers."""

import json
import os
import pathlib
import subprocess

import gguf
import numpy as np
import pytest
from safetensors import safe_open
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRILITH_BUILD", ROOT / "build" / "release"))
ZOO = ROOT / "tests" / "zoo"
CASES = sorted(path.parents[1] for path in ZOO.glob("*/documented/model.gguf"))


def listing(path):
    done = subprocess.run([BUILD / "tests" / "checkpoint_list", path], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_zoo_has_gguf_files():
    assert len(CASES) >= 13


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_blocks_are_those_of_the_stripped_twin(case):
    """The zoo holds every GGUF a second time, as safetensors with the raw block rows."""
    truth = json.loads((case / "truth" / "truth.json").read_text())
    documented = listing(case / "documented" / "model.gguf")["tensors"]
    if truth["expect"] == "refuse":
        unknown = [tensor["claim"] for tensor in documented.values()
                   if not tensor["claim"]["types"]]
        assert len(unknown) == 1 and unknown[0]["problem"]
        return
    stripped = listing(case / "stripped" / "model.safetensors")["tensors"]
    pairs = [(module["tensors"]["documented"][role], module["tensors"]["stripped"][role],
              module["shape"])
             for module in truth["modules"] for role in module["tensors"]["documented"]]
    assert pairs
    for name, neutral, shape in pairs:
        tensor, twin = documented[name], stripped[neutral]
        assert tensor["claim"]["shape"] == shape
        assert len(tensor["claim"]["types"]) == 1 and not tensor["claim"]["problem"]
        assert {key: tensor[key] for key in ("dtype", "shape", "sha256")} == {
            key: twin[key] for key in ("dtype", "shape", "sha256")}


ARCHITECTURES = {
    "llama": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3,
    "bitnet": gguf.MODEL_ARCH.BITNET, "smollm3": gguf.MODEL_ARCH.SMOLLM3,
}
MODULES = ["model.embed_tokens", "model.norm", "lm_head"] + [
    f"model.layers.11.{name}" for name in (
        "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
        "self_attn.o_proj", "self_attn.q_norm", "self_attn.k_norm", "self_attn.attn_sub_norm",
        "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.ffn_sub_norm",
        "mlp.down_proj")]


def write(path, arch, keys=lambda writer: None, tensors=()):
    writer = gguf.GGUFWriter(path, arch)
    writer.add_embedding_length(16)
    writer.add_feed_forward_length(48)
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(2048)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(500000.0)
    writer.add_vocab_size(10)
    keys(writer)
    for name in tensors or ["token_embd.weight"]:
        writer.add_tensor(name, np.zeros((10, 16), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_names_are_those_of_the_converter(tmp_path, arch):
    names = gguf.get_tensor_name_map(ARCHITECTURES[arch], 12)
    pairs = {names.get_name(module): module for module in MODULES if names.get_name(module)}
    assert len(pairs) >= 11
    path = tmp_path / "names.gguf"
    write(path, arch, tensors=[f"{name}.weight" for name in pairs])
    found = listing(path)["tensors"]
    assert {name: tensor["claim"]["transformers"] for name, tensor in found.items()} == {
        f"{name}.weight": f"{module}.weight" for name, module in pairs.items()}


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
def test_config_is_the_one_transformers_reads(tmp_path, arch):
    path = tmp_path / "config.gguf"
    write(path, arch, lambda writer: (writer.add_rope_dimension_count(4),
                                      writer.add_bos_token_id(1), writer.add_eos_token_id(2)))
    expected = load_gguf_checkpoint(str(path))["config"]
    found = listing(path)["config"]
    compared = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "max_position_embeddings", "vocab_size", "model_type",
                "tie_word_embeddings"]
    assert {key: found[key] for key in compared} == {key: expected[key] for key in compared}
    assert np.float32(found["rms_norm_eps"]) == np.float32(expected["rms_norm_eps"])
    assert found["rms_norm_eps"] == 1e-6 and found["rope_theta"] == 500000.0
    assert found["head_dim"] == 4
    assert (found["bos_token_id"], found["eos_token_id"]) == (1, 2)
