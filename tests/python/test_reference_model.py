"""trilith.reference_model, its NumPy decoder, and their agreement with the C++ reference."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
import trilith as package
from oracle import prompt_points, read_trace, row_errors, write_ids
from safetensors.torch import save_file
from tiny_models import (K4_SPEC, TinyModel, make_bitnet, make_llama, pack_rows, save_dense,
                         save_packed, token_ids)


def logits_of(model: torch.nn.Module, ids: list[int]) -> np.ndarray:
    """float64 [T, vocab]"""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].to(torch.float64).numpy()


def traced_logits(trilith, model: pathlib.Path, ids: list[int], folder: pathlib.Path) -> np.ndarray:
    output = folder / "trace.safetensors"
    trilith("trace", model, "--ids", write_ids(folder / "ids.jsonl", [ids]), "-o", output,
            "--mode", "f32", "--points", "logits")
    return prompt_points(read_trace(output)[0])["logits"]


@pytest.mark.parametrize("make", [lambda: make_llama(21, tied=False, ternary="row"),
                                  lambda: make_llama(22, tied=True, ternary="tensor"),
                                  lambda: make_bitnet(23, ternary="tensor")],
                         ids=["llama", "llama-tied", "bitnet"])
def test_agrees_with_the_reference(make, trilith, tmp_path):
    tiny = make()
    folder = save_packed(tiny, tmp_path / "model")
    model = package.reference_model(folder)
    assert next(model.parameters()).dtype == torch.float64
    for name, linear in tiny.linears.items():
        weight = model.get_submodule(name).weight
        assert torch.equal(weight, linear.dense().to(torch.float64)), name
    ids = token_ids(tiny, 32, seed=24)
    assert row_errors(traced_logits(trilith, folder, ids, tmp_path), logits_of(model, ids)).max() < 1e-5


def test_dense_checkpoints_need_no_sheet(tmp_path):
    tiny = make_llama(25, tied=True)
    model = package.reference_model(save_dense(tiny, tmp_path / "model"), torch.float32)
    ids = token_ids(tiny, 8, seed=26)
    assert next(model.parameters()).dtype == torch.float32
    assert row_errors(logits_of(model, ids), logits_of(tiny.model, ids)).max() < 1e-5


def quarter_planes(levels: np.ndarray) -> np.ndarray:
    """transformers' own packer: uint8 [N/4, K]."""
    from transformers.integrations.bitnet import pack_weights

    return pack_weights(torch.from_numpy(levels.astype(np.float32))).numpy()


@pytest.mark.parametrize("linear_class", ["autobitlinear", "bitlinear"])
def test_announced_bitnet_format(linear_class, trilith, tmp_path):
    tiny: TinyModel = make_bitnet(27, ternary="tensor")
    # A power of two, so that its inverse is exact too.
    for linear in tiny.linears.values():
        linear.scale = np.exp2(np.round(np.log2(linear.scale)))
    folder = save_dense(tiny, tmp_path / "model")
    tensors = {name: parameter.to(torch.float32) for name, parameter in
               tiny.model.named_parameters() if name.removesuffix(".weight") not in tiny.linears}
    for name, linear in tiny.linears.items():
        tensors[name + ".weight"] = torch.from_numpy(quarter_planes(linear.levels))
        scale = linear.scale if linear_class == "autobitlinear" else 1 / linear.scale
        tensors[name + ".weight_scale"] = torch.from_numpy(scale).to(torch.bfloat16)
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitnet", "linear_class": linear_class,
                                     "quantization_mode": "offline"}
    (folder / "config.json").write_text(json.dumps(config))
    model = package.reference_model(folder)
    for name, linear in tiny.linears.items():
        assert torch.equal(model.get_submodule(name).weight, linear.dense().to(torch.float64)), name
    ids = token_ids(tiny, 16, seed=28)
    assert row_errors(traced_logits(trilith, folder, ids, tmp_path), logits_of(model, ids)).max() < 1e-5


def test_the_shipped_sample(sample, trilith, tmp_path, report_figure):
    """Nothing announced: inspect works the format out, for the program and for Python."""
    sheet = tmp_path / "sheet.json"
    trilith("inspect", sample, "--json", sheet)
    model = package.reference_model(sample, sheet=sheet)
    (tmp_path / "prompts.txt").write_text("Once upon a time, there was a brave boy named Tom.\n")
    output = tmp_path / "trace.safetensors"
    trilith("trace", sample, "--prompts", tmp_path / "prompts.txt", "-o", output, "--mode", "f32")
    points = prompt_points(read_trace(output)[0])
    errors = row_errors(points["logits"], logits_of(model, points["ids"].tolist()))
    report_figure(f"sample: worst relative logit error {errors.max():.1e}")
    assert errors.max() < 1e-5


def test_any_architecture_under_a_strangers_names(tmp_path):
    """Qwen3 (norms on q and k) with neutral tensor names: the sheet says what is what."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                         tie_word_embeddings=False)
    torch.manual_seed(30)
    expected = Qwen3ForCausalLM(config).eval()
    rng = np.random.default_rng(30)
    tensors, modules, plain = {}, [], []
    with torch.no_grad():
        for index, (name, parameter) in enumerate(expected.named_parameters()):
            if not name.endswith("_proj.weight"):
                tensors[f"t{index}"] = parameter.detach().clone()
                plain.append({"name": f"t{index}", "module": name.removesuffix(".weight")})
                continue
            levels = rng.integers(-1, 2, size=parameter.shape).astype(np.int8)
            parameter.copy_(torch.from_numpy(levels * np.float32(0.25)))
            tensors[f"m{index}.a"] = torch.from_numpy(pack_rows(levels, {0: 0, 1: 1, -1: 2}))
            tensors[f"m{index}.b"] = torch.tensor([0.25])
            modules.append({
                "name": f"m{index}", "shape": list(levels.shape),
                "stored": {"codes": {"name": f"m{index}.a"}, "scale": {"name": f"m{index}.b"}},
                "spec": K4_SPEC | {"scale": {"index": "tensor", "op": "mul", "dtype": "F32"}},
                "map": {"transformers": {"name": name, "op": "copy"}}})
    save_file(tensors, tmp_path / "model.safetensors")
    config.save_pretrained(tmp_path)
    sheet = {"schema": "trilith.sheet/1", "verdict": "identified", "modules": modules, "plain": plain}
    (tmp_path / "trilith_sheet.json").write_text(json.dumps(sheet))
    model = package.reference_model(tmp_path)
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    assert row_errors(logits_of(model, ids), logits_of(expected, ids)).max() < 1e-5


def test_missing_and_unknown_tensors_are_named(tmp_path):
    tiny = make_llama(29, tied=False)
    folder = save_dense(tiny, tmp_path / "model")
    state = {name: value.to(torch.float32) for name, value in tiny.model.state_dict().items()}
    norm = state.pop("model.norm.weight")
    save_file(state | {"model.norm.gain": norm}, folder / "model.safetensors")
    with pytest.raises(ValueError, match="model.norm.weight.*model.norm.gain"):
        package.reference_model(folder)


def test_decode_refuses_codes_without_a_level_and_wrong_sizes():
    levels = np.array([[0, 1, -1, 0], [1, 1, -1, -1]], np.int8)
    packed = pack_rows(levels, {0: 0, 1: 1, -1: 2})
    spec = K4_SPEC | {"scale": {"index": "row", "op": "mul", "dtype": "F32"}}
    scale = np.array([2.0, 0.5], np.float32)
    tensors = {"codes": packed, "scale": scale}
    np.testing.assert_array_equal(package.decode(spec, tensors, 2, 4), levels * scale[:, None])
    unused = packed.copy()
    unused[1, 0] |= 0b11 << 4
    with pytest.raises(ValueError, match=r"1 codes have no level, the first at \(1, 2\)"):
        package.decode(spec, tensors | {"codes": unused}, 2, 4)
    with pytest.raises(ValueError, match="bytes"):
        package.decode(spec, tensors | {"codes": packed[:1]}, 2, 4)
    with pytest.raises(package.UnsupportedSpec, match="symbol"):
        package.decode(spec | {"symbol": "pair"}, tensors, 2, 4)


def test_import_is_light():
    """Importing the package loads neither torch nor transformers."""
    root = pathlib.Path(package.__file__).parents[1]
    code = "import sys, trilith; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(root)})
    assert done.stdout.strip() == "[]"
