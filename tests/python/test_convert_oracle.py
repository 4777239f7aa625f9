"""Converted models through the readers of others: gguf-py decodes the blocks of a GGUF file, and
transformers loads dense folders and GGUF files."""

import json
import subprocess

import gguf
import numpy as np
import pytest
import safetensors.numpy


def convert(program, model, target, out):
    result = subprocess.run([str(program), "convert", str(model), "--to", target, "-o", str(out)],
                            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def packed(program, sample, tmp_path_factory):
    return convert(program, sample, "gptq-2bit", tmp_path_factory.mktemp("packed") / "model")


@pytest.fixture(scope="module")
def dense(program, packed, tmp_path_factory):
    return convert(program, packed, "f32", tmp_path_factory.mktemp("dense") / "model")


def of_transformers(name, values, heads):
    """llama.cpp's convert_hf_to_gguf.py, LlamaModel.permute, undone."""
    for part, count in heads.items():
        if part in name:
            size = values.shape[0] // count
            return values.reshape(count, size // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)
    return values


@pytest.mark.parametrize("target", ["gguf-tq2_0", "gguf-tq1_0", "gguf-q8_0", "gguf-q4_1", "gguf-f16"])
def test_gguf_py_reads_the_same_weights(program, packed, dense, target, tmp_path):
    reader = gguf.GGUFReader(convert(program, packed, target, tmp_path / "model.gguf"))
    assert reader.fields["general.architecture"].contents() == "llama"
    config = json.loads((dense / "config.json").read_text())
    heads = {"attn_q.": config["num_attention_heads"], "attn_k.": config["num_key_value_heads"]}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    expected = safetensors.numpy.load_file(dense / "model.safetensors")
    found = {tensor.name: tensor for tensor in reader.tensors}
    assert len(found) == len(expected)
    for name, values in expected.items():
        tensor = found[names.get_name(name, try_suffixes=(".weight",))]
        decoded = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        decoded = decoded.reshape(values.shape)
        assert np.array_equal(of_transformers(tensor.name, decoded, heads), values), name
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    vocabulary = json.loads((packed / "tokenizer.json").read_text())["model"]["vocab"]
    assert all(tokens[index] == token for token, index in vocabulary.items())


@pytest.mark.slow
@pytest.mark.parametrize("target, file", [("f32", None), ("gguf-f32", "model.gguf"),
                                          ("gguf-q8_0", "model.gguf")])
def test_transformers_says_the_same(program, packed, dense, target, file, tmp_path):
    import torch
    import transformers

    folder = dense
    if file is not None:
        convert(program, packed, target, tmp_path / file)
        folder = tmp_path
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file,
                                                              dtype=torch.float32)
    ids = [363, 440, 12, 99]
    with torch.no_grad():
        theirs = model.generate(torch.tensor([ids]), max_new_tokens=16, do_sample=False,
                                eos_token_id=-1)[0, len(ids):].tolist()
    result = subprocess.run([str(program), "run", str(packed), "--ids", ",".join(map(str, ids)),
                             "-n", "16", "--greedy", "--ignore-eos", "--mode", "f32", "--json", "-"],
                            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert json.loads(result.stdout)["ids"] == theirs, result.stderr
