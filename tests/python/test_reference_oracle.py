"""The C++ reference against transformers in float64, eager, on tiny models.

transformers computes norms, softmax and rotary angles in float32 even for float64 models, so the
two agree to a few 1e-7, not to 1e-15. The limit is 1e-5 of a row's norm at every trace point.
"""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from oracle import (HIGHEST_CODE, ForcedCodes, compare_points, prompt_points, read_trace, row_errors,
                    write_ids)
from tiny_models import (TinyModel, check_liveliness, make_bitnet, make_llama, save_dense,
                         save_packed, token_ids)
from transformers.integrations.bitnet import ActQuant
from transformers_trace import trace_transformers

LIMIT = 1e-5
TOKENS = 48

DENSE = {
    "llama-gqa-tied": lambda: make_llama(1, tied=True),
    "llama-gqa-untied": lambda: make_llama(2, tied=False),
    "llama-mha-wide-heads": lambda: make_llama(3, tied=False, num_key_value_heads=4, head_dim=24),
    "llama-mqa-theta": lambda: make_llama(4, tied=True, num_key_value_heads=1,
                                          rope_parameters={"rope_type": "default",
                                                           "rope_theta": 500.0}),
    "bitnet": lambda: make_bitnet(5),
}
TERNARY = {
    "llama-row-scales": lambda: make_llama(6, tied=False, ternary="row"),
    "bitnet-tensor-scale": lambda: make_bitnet(7, ternary="tensor"),
}


def run_trace(trilith, model: pathlib.Path, prompts: list[list[int]], folder: pathlib.Path,
              *options: str) -> tuple[dict[str, np.ndarray], dict]:
    output = folder / ("trace" + "".join(options) + ".safetensors")
    ids = write_ids(folder / "ids.jsonl", prompts)
    trilith("trace", model, "--ids", ids, "-o", output, *options)
    return read_trace(output)


@pytest.mark.parametrize("name", DENSE)
def test_dense_models_agree_at_every_point(name, trilith, tmp_path, report_figure):
    tiny = DENSE[name]()
    ids = token_ids(tiny, TOKENS, seed=11)
    expected, attentions = trace_transformers(tiny.model, ids)
    check_liveliness(expected, attentions)
    model = save_dense(tiny, tmp_path / "model")
    tensors, description = run_trace(trilith, model, [ids], tmp_path, "--mode=f32")
    found = prompt_points(tensors)
    worst = compare_points(found, expected, LIMIT)
    assert set(found) - set(expected) == {"ids", "top10"}
    np.testing.assert_array_equal(found["ids"], ids)
    np.testing.assert_array_equal(found["top10"][:, 0], found["logits"].argmax(axis=1))
    assert description["mode"] == "f32" and description["backend"] == "reference"
    report_figure(f"{name}: worst relative logit error {worst['logits']:.1e}, "
                  f"of any point {max(worst.values()):.1e} ({len(worst)} points)")


@pytest.mark.parametrize("name", TERNARY)
def test_packed_weights_equal_their_decoded_twin(name, trilith, tmp_path):
    tiny = TERNARY[name]()
    prompts = [token_ids(tiny, TOKENS, seed=12), token_ids(tiny, 1, seed=13)]
    packed, of_packed = run_trace(trilith, save_packed(tiny, tmp_path / "packed"), prompts, tmp_path,
                                  "--mode=f32")
    twin, of_twin = run_trace(trilith, save_dense(tiny, tmp_path / "twin"), prompts, tmp_path,
                              "--mode=f32", "--threads=3")
    assert packed.keys() == twin.keys()
    for tensor, values in packed.items():
        np.testing.assert_array_equal(values, twin[tensor], err_msg=tensor)
    assert of_packed["weights"] == of_twin["weights"]
    assert of_packed["scale_dtype"] == "F16" and of_twin["scale_dtype"] is None
    expected, attentions = trace_transformers(tiny.model, prompts[0])
    check_liveliness(expected, attentions)
    compare_points(prompt_points(packed), expected, LIMIT)


class QuantisedLinear(torch.nn.Module):
    """A linear over quantised inputs: BitNet's own quantiser for a8, the same rule with 16 bits for
    a16. Codes of the trace are taken over after the tie rule was checked."""

    def __init__(self, linear: torch.nn.Linear, mode: str, codes: np.ndarray):
        super().__init__()
        self.linear = linear
        self.forced = ForcedCodes(mode, codes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = self.forced.scale(x)
        if self.forced.mode == "a8":
            own = (ActQuant.apply(x) * scale).round()
        else:
            own = (x * scale).round().clamp(-HIGHEST_CODE["a16"], HIGHEST_CODE["a16"])
        return F.linear(self.forced(x, own), self.linear.weight)


def quantise_inputs(tiny: TinyModel, mode: str, points: dict[str, np.ndarray]
                    ) -> list[QuantisedLinear]:
    replaced = []
    for name in tiny.linears:
        layer, role = name.split(".")[2], name.split(".")[-1]
        codes = points[f"layers.{layer}.{role}.x_codes"]
        module = QuantisedLinear(tiny.model.get_submodule(name), mode, codes)
        tiny.model.set_submodule(name, module)
        replaced.append(module)
    return replaced


@pytest.mark.parametrize("mode", ["a8", "a16"])
@pytest.mark.parametrize("name", TERNARY)
def test_quantised_activations_agree_up_to_ties(name, mode, trilith, tmp_path, report_figure):
    tiny = TERNARY[name]()
    ids = token_ids(tiny, TOKENS, seed=14)
    model = save_packed(tiny, tmp_path / "model")
    tensors, _ = run_trace(trilith, model, [ids], tmp_path, f"--mode={mode}")
    found = prompt_points(tensors)
    plain, _ = trace_transformers(tiny.model, ids)
    replaced = quantise_inputs(tiny, mode, found)
    expected, attentions = trace_transformers(tiny.model, ids)
    check_liveliness(expected, attentions)
    worst = compare_points(found, expected, LIMIT)

    # The quantisation is there: without it the logits are elsewhere by far more than the limit.
    assert row_errors(found["logits"], plain["logits"]).max() > 10 * LIMIT
    for linear, (module, ternary) in zip(replaced, tiny.linears.items()):
        point = f"layers.{module.split('.')[2]}.{module.split('.')[-1]}"
        codes = found[point + ".x_codes"].astype(np.int64)
        assert np.abs(codes).max() == HIGHEST_CODE[mode]
        np.testing.assert_array_equal(found[point + ".acc"], codes @ ternary.levels.T.astype(np.int64))
        assert linear.forced.codes.shape == codes.shape
    flips = sum(module.forced.flips for module in replaced)
    total = sum(module.forced.codes.numel() for module in replaced)
    report_figure(f"{name}, {mode}: worst relative logit error {worst['logits']:.1e}, of any point "
                  f"{max(worst.values()):.1e}; {flips} of {total} codes flipped at ties")


def test_default_mode_follows_the_training(trilith, tmp_path):
    for name, mode in (("llama-row-scales", "a16"), ("bitnet-tensor-scale", "a8")):
        tiny = TERNARY[name]()
        model = save_packed(tiny, tmp_path / name)
        _, description = run_trace(trilith, model, [[1, 2, 3]], tmp_path)
        assert description["mode"] == mode


def test_levels_and_point_choice(trilith, tmp_path):
    tiny = TERNARY["llama-row-scales"]()
    model = save_packed(tiny, tmp_path / "model")
    prompts = [token_ids(tiny, 20, seed=15), token_ids(tiny, 20, seed=16)]
    whole, _ = run_trace(trilith, model, prompts, tmp_path, "--mode=a8")
    mixed, description = run_trace(trilith, model, prompts, tmp_path, "--mode=a8",
                                   "--full-prompts=1", "--rows=5", "--points=q_proj,logits")
    rows = description["rows"]["p1"]
    assert len(rows) == 5 and "p0" not in description["rows"]
    np.testing.assert_array_equal(mixed["p0.layers.1.q_proj"], whole["p0.layers.1.q_proj"])
    np.testing.assert_array_equal(mixed["p1.logits"], whole["p1.logits"][rows])
    assert "p0.layers.1.k_proj" not in mixed and "p0.layers.1.q_proj.acc" not in mixed
    summary = description["summaries"]["p1.layers.1.k_proj"]
    assert (summary["rows"], summary["cols"]) == (20, 32)
    assert summary["l2"] == pytest.approx(np.linalg.norm(whole["p1.layers.1.k_proj"]), rel=1e-6)
    prints, _ = run_trace(trilith, model, prompts, tmp_path, "--level=fingerprint")
    assert set(prints) == {"p0.ids", "p1.ids"}


@pytest.mark.parametrize("arguments, code, said", [
    (["--ids", "{tmp}/none.jsonl"], 1, "none.jsonl"),
    (["--prompts", "{tmp}/good.jsonl"], 2, "--ids"),
    (["--ids", "{tmp}/outside.jsonl"], 2, "vocabulary"),
    (["--ids", "{tmp}/good.jsonl", "--points", "q_prj"], 2, "q_prj"),
    (["--ids", "{tmp}/bad.jsonl"], 4, "line 1"),
    (["--ids", "{tmp}/good.jsonl", "--mode", "a4"], 2, "a4"),
    ([], 2, "--prompts"),
])
def test_bad_calls_leave_no_file(arguments, code, said, trilith, tmp_path):
    model = save_dense(make_llama(1, tied=True), tmp_path / "model")
    write_ids(tmp_path / "good.jsonl", [[1, 2]])
    write_ids(tmp_path / "outside.jsonl", [[1, 160]])
    (tmp_path / "bad.jsonl").write_text("{}\n")
    output = tmp_path / "out" / "trace.safetensors"
    output.parent.mkdir()
    filled = [argument.format(tmp=tmp_path) for argument in arguments]
    done = trilith("trace", model, "-o", output, *filled, code=code)
    assert said in done.stderr
    assert not list(output.parent.iterdir())
