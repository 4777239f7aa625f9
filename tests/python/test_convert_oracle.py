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


def with_packed_embedding(source, out, blocks):
    """The file once more by gguf-py, its embedding in blocks, as quantised files have it."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(out, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kinds = [*field.types, None]
        writer.add_key_value(field.name, field.contents(), kinds[0],
                             kinds[1] if kinds[0] == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        if tensor.name == "token_embd.weight":
            data, kind = gguf.quants.quantize(data.astype(np.float32), blocks), blocks
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def test_an_embedding_in_blocks_keeps_its_values(program, packed, tmp_path):
    plain = convert(program, packed, "gguf-q8_0", tmp_path / "plain.gguf")
    blocks = gguf.GGMLQuantizationType.Q8_0
    source = with_packed_embedding(plain, tmp_path / "source.gguf", blocks)
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(source).tensors}["token_embd.weight"]
    expected = gguf.quants.dequantize(stored.data, blocks)

    dense = convert(program, source, "f32", tmp_path / "dense")
    values = safetensors.numpy.load_file(dense / "model.safetensors")["model.embed_tokens.weight"]
    assert np.array_equal(values, expected)
    # In a packed format the embedding is dense, in a type that holds its values, and this is said.
    folder = tmp_path / "packed"
    result = subprocess.run([str(program), "convert", str(source), "--to", "gptq-2bit", "-o",
                             str(folder), "--verify"], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and "written dense, as F32" in result.stderr, result.stderr
    values = safetensors.numpy.load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    assert np.array_equal(values, expected)
    # A GGUF file of the same blocks has them as they were; of others, every value.
    for target, kind in [("gguf-q8_0", blocks), ("gguf-tq2_0", gguf.GGMLQuantizationType.F32)]:
        again = convert(program, source, target, tmp_path / f"{target}.gguf")
        (tensor,) = [t for t in gguf.GGUFReader(again).tensors if t.name == "token_embd.weight"]
        assert tensor.tensor_type == kind
        assert np.array_equal(gguf.quants.dequantize(tensor.data, kind).reshape(expected.shape),
                              expected)
    ids = [json.loads(subprocess.run(
        [str(program), "run", str(model), "--ids", "363,440,12", "-n", "16", "--greedy", "--mode",
         "f32", "--json", "-"], capture_output=True, text=True, timeout=60).stdout)["ids"]
        for model in (source, dense, folder, tmp_path / "gguf-tq2_0.gguf")]
    assert all(found == ids[0] for found in ids)


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
