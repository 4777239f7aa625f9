"""`trilith.trace` on PyTorch models: what it writes is what the model computes, `trilith verify` agrees
with it about the reference, and recording changes nothing."""

from __future__ import annotations

import copy
import inspect
import json
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import transformers  # noqa: E402
from oracle import prompt_points, read_trace, write_ids  # noqa: E402
from tiny_models import make_bitnet, make_llama, save_dense, token_ids  # noqa: E402

import trilith  # noqa: E402
from trilith._trace_file import multiset_fingerprint  # noqa: E402
from trilith._trace_points import columns_of, find_family  # noqa: E402

SIZES = dict(vocab_size=120, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             pad_token_id=None, bos_token_id=0, eos_token_id=1)


def build(name: str, **overrides) -> torch.nn.Module:
    config = getattr(transformers, name + "Config")
    family = getattr(transformers, name + ("LMHeadModel" if name == "GPT2" else "ForCausalLM"))
    torch.manual_seed(5)
    model = family(config(**(SIZES | overrides))).double().eval()
    for parameter in model.parameters():  # norms and biases too, or a mix-up of two would not show
        parameter.data.normal_(0, 0.25).add_(0.1)
    return model


def recorded(model, path, *prompts, **options) -> tuple[dict[str, np.ndarray], dict]:
    with trilith.trace(model, path, **options), torch.no_grad():
        for ids in prompts:
            model(torch.tensor([ids]))
    return read_trace(path)


def verify(program, folder, baseline, target) -> dict:
    done = subprocess.run([str(program), "verify", str(folder), "--baseline", str(baseline), "--target",
                           str(target), "--json", "-"], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["llama", "bitnet"])
def checked(request, trilith, tmp_path_factory):
    """A tiny model, its checkpoint, two prompts and the reference's trace of them."""
    tiny = make_llama(11, tied=False) if request.param == "llama" else make_bitnet(12)
    folder = tmp_path_factory.mktemp("traced")
    save_dense(tiny, folder / "model")
    prompts = [token_ids(tiny, 21, 1), token_ids(tiny, 13, 2)]
    ids = write_ids(folder / "ids.jsonl", prompts)
    trilith("trace", folder / "model", "--ids", ids, "--mode", "f32", "-o", folder / "ref.safetensors")
    return tiny, folder, prompts


def test_the_reference_and_the_trace_agree(program, checked, tmp_path):
    tiny, folder, prompts = checked
    tensors, text = recorded(tiny.model, tmp_path / "t.safetensors", *prompts)
    reference, _ = read_trace(folder / "ref.safetensors")
    assert tensors.keys() == reference.keys()
    assert all(np.array_equal(tensors[f"p{p}.ids"], ids) for p, ids in enumerate(prompts))
    assert text["capture"] == {"compared": 2, "bit_equal": True, "max_abs": 0.0, "not_compared": None}
    assert text["left_out"] == {} and text["map"] == "llama"
    ledger = verify(program, folder / "model", folder / "ref.safetensors", tmp_path / "t.safetensors")
    assert ledger["verdict"] == "clean", ledger["faults"]
    assert ledger["coverage"]["compared"] == len(prompt_points(reference)) - 2  # ids, top10
    assert ledger["coverage"]["missing"] == [] == ledger["coverage"]["extra"]


@pytest.mark.parametrize("module, point", [
    ("model.layers.1.self_attn.k_proj", "layers.1.k_proj"),
    ("model.layers.0.mlp.down_proj", "layers.0.down_proj"),
    ("model.layers.2.post_attention_layernorm", "layers.2.post_norm")])
def test_a_patched_module_is_found_first(program, checked, tmp_path, module, point):
    tiny, folder, prompts = checked
    patched = copy.deepcopy(tiny.model)
    patched.get_submodule(module).register_forward_hook(lambda _m, _i, output: output * 1.02)
    recorded(patched, tmp_path / "t.safetensors", *prompts)
    ledger = verify(program, folder / "model", folder / "ref.safetensors", tmp_path / "t.safetensors")
    assert ledger["verdict"] == "fault"
    assert ledger["first"]["point"] == point
    assert {fault["point"] for fault in ledger["faults"]} == {point}


def test_sampled_rows_are_those_of_the_program(program, checked, tmp_path):
    tiny, folder, prompts = checked
    ids = write_ids(tmp_path / "ids.jsonl", prompts)
    subprocess.run([str(program), "trace", str(folder / "model"), "--ids", str(ids), "--mode", "f32",
                    "--level", "sampled", "--rows", "5", "--seed", "9", "-o",
                    str(tmp_path / "ref.safetensors")], check=True, timeout=120)
    reference, expected = read_trace(tmp_path / "ref.safetensors")
    tensors, text = recorded(tiny.model, tmp_path / "t.safetensors", *prompts, level="sampled", rows=5,
                             seed=9)
    assert text["rows"] == expected["rows"] and len(text["rows"]["p0"]) == 5
    assert {name: value.shape for name, value in tensors.items()} == {
        name: value.shape for name, value in reference.items()}
    assert text["summaries"].keys() == expected["summaries"].keys()
    ledger = verify(program, folder / "model", tmp_path / "ref.safetensors", tmp_path / "t.safetensors")
    assert ledger["verdict"] == "clean"


def test_other_rows_than_the_baselines(program, checked, tmp_path):
    """What both sides store is compared; two traces without a row in common are not."""
    tiny, folder, prompts = checked
    recorded(tiny.model, tmp_path / "two.safetensors", *prompts, level="sampled", rows=2)
    recorded(tiny.model, tmp_path / "five.safetensors", *prompts, level="sampled", rows=5)
    for baseline, target in (("two", "five"), ("five", "two")):
        ledger = verify(program, folder / "model", tmp_path / f"{baseline}.safetensors",
                        tmp_path / f"{target}.safetensors")
        assert ledger["verdict"] == "clean" and ledger["points"][0]["n"] == 2 * tiny.config.hidden_size
    recorded(tiny.model, tmp_path / "none.safetensors", *prompts, level="fingerprint")
    ledger = verify(program, folder / "model", tmp_path / "two.safetensors", tmp_path / "none.safetensors")
    assert ledger["verdict"] == "incomparable" and "same tokens" in ledger["reason"]


def test_fingerprints_are_those_of_the_program(checked, tmp_path):
    tiny, folder, prompts = checked
    reference, text = read_trace(folder / "ref.safetensors")
    for name, summary in text["summaries"].items():
        assert multiset_fingerprint(reference[name]) == summary["multiset"], name
    odd = np.array([0.0, -0.0, np.nan, -np.nan, 1.0], np.float32)
    assert multiset_fingerprint(odd) == multiset_fingerprint(odd[[1, 0, 4, 2, 3]])
    tensors, summary = recorded(tiny.model, tmp_path / "t.safetensors", *prompts, level="fingerprint")
    assert sorted(tensors) == ["p0.ids", "p1.ids"]
    norm = np.linalg.norm(reference["p0.logits"].astype(np.float64))
    assert summary["summaries"]["p0.logits"]["l2"] == pytest.approx(norm, rel=1e-6)


def test_padding_is_left_out_and_generation_continues(checked, tmp_path):
    tiny, _, prompts = checked
    model = copy.deepcopy(tiny.model).float()  # in float64, rows that see nothing are NaN
    long, short = prompts
    alone, _ = recorded(model, tmp_path / "alone.safetensors", long, short)
    padding = len(long) - len(short)
    ids = torch.tensor([long, [7] * padding + short])
    mask = torch.ones_like(ids)
    mask[1, :padding] = 0
    with trilith.trace(model, tmp_path / "batch.safetensors"), torch.no_grad():
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        model(input_ids=ids, attention_mask=mask, position_ids=positions)
    batch, _ = read_trace(tmp_path / "batch.safetensors")
    with trilith.trace(model, tmp_path / "steps.safetensors") as recording, torch.no_grad():
        name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        cache = model(torch.tensor([long[:15]]), use_cache=True).past_key_values
        for token in long[15:]:
            model(torch.tensor([[token]]), **{name: cache}, use_cache=True)
    assert recording.prompts == 1 and recording.bit_equal and recording.compared == len(long) - 14
    steps, _ = read_trace(tmp_path / "steps.safetensors")
    for other, names in ((batch, alone), (steps, [name for name in alone if name.startswith("p0.")])):
        for name in names:
            np.testing.assert_allclose(other[name], alone[name], rtol=2e-4, atol=2e-5, err_msg=name)


def linear(x: np.ndarray, weight: torch.Tensor, bias: torch.Tensor | None = None) -> np.ndarray:
    y = x.astype(np.float64) @ weight.detach().numpy().T
    return y if bias is None else y + bias.detach().numpy()


def close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


IDS = list(range(3, 40, 4))


def test_fused_projections_are_split(tmp_path):
    phi, gpt2 = build("Phi3"), build("GPT2", num_key_value_heads=None)
    tensors, text = recorded(phi, tmp_path / "phi.safetensors", IDS)
    points, layer = prompt_points(tensors), phi.model.layers[1]
    assert text["map"] == "llama" and text["left_out"] == {}
    q, k, v = layer.self_attn.qkv_proj.weight.split([64, 32, 32])
    for name, weight in (("q_proj", q), ("k_proj", k), ("v_proj", v)):
        close(points["layers.1." + name], linear(points["layers.1.input_norm"], weight))
    for name, weight in zip(("gate_proj", "up_proj"), layer.mlp.gate_up_proj.weight.chunk(2)):
        close(points["layers.1." + name], linear(points["layers.1.post_norm"], weight))
    tensors, text = recorded(gpt2, tmp_path / "gpt2.safetensors", IDS)
    points, layer = prompt_points(tensors), gpt2.transformer.h[1]
    assert text["map"] == "gpt2"
    weights, biases = layer.attn.c_attn.weight.T.split(64), layer.attn.c_attn.bias.split(64)
    for name, weight, bias in zip(("q_proj", "k_proj", "v_proj"), weights, biases):
        close(points["layers.1." + name], linear(points["layers.1.attn_norm"], weight, bias))
    close(points["layers.0.out"], points["layers.0.attn_residual"] + points["layers.0.fc2"])
    close(points["layers.0.attn_residual"], points["embed"] + points["layers.0.o_proj"])
    close(points["logits"], linear(points["final_norm"], gpt2.lm_head.weight))


@pytest.mark.parametrize("before", [True, False])
def test_opt_with_either_place_of_its_norms(tmp_path, before):
    model = build("OPT", ffn_dim=96, do_layer_norm_before=before, word_embed_proj_dim=64)
    tensors, text = recorded(model, tmp_path / "opt.safetensors", IDS)
    points, layer = prompt_points(tensors), model.model.decoder.layers[0]
    assert text["map"] == ("opt" if before else "opt-post") and text["left_out"] == {}
    close(points["layers.0.attn_residual"], points["embed"] + points["layers.0.o_proj"])
    close(points["layers.0.act"], np.maximum(points["layers.0.fc1"], 0))
    if before:
        close(points["layers.0.out"], points["layers.0.attn_residual"] + points["layers.0.fc2"])
    else:
        close(points["layers.0.fc1"], linear(points["layers.0.attn_norm"], layer.fc1.weight, layer.fc1.bias))
        assert np.array_equal(points["layers.0.ffn_norm"], points["layers.0.out"])


@pytest.mark.parametrize("name, extra", [("Qwen2", set()), ("Qwen3", {"q_norm", "k_norm"}),
                                         ("Mistral", set()), ("SmolLM3", set())])
def test_relatives_of_llama(tmp_path, name, extra):
    model = build(name, **({"no_rope_layers": [1, 0]} if name == "SmolLM3" else {}))
    tensors, text = recorded(model, tmp_path / "t.safetensors", IDS)
    points = prompt_points(tensors)
    assert text["map"] == "llama" and text["capture"]["bit_equal"]
    first = {point.removeprefix("layers.0.") for point in points if point.startswith("layers.0.")}
    assert first == {"input_norm", "q_proj", "k_proj", "v_proj", "q_rope", "k_rope", "attn", "o_proj",
                     "attn_residual", "post_norm", "gate_proj", "up_proj", "act", "down_proj", "out"} | extra
    assert ("layers.1.q_rope" in points) == (name != "SmolLM3")  # its second layer has no positions
    # Token 0 is not rotated: head after head, in the order of the projection.
    before = points["layers.0.q_norm" if extra else "layers.0.q_proj"]
    close(points["layers.0.q_rope"][0], before[0])
    assert not np.allclose(points["layers.0.q_rope"][1], before[1])


def test_a_value_without_a_row_a_token_is_named(tmp_path):
    model = Plain().eval()
    model.mean = torch.nn.AdaptiveAvgPool1d(3)
    model.embedding.register_forward_hook(lambda _m, _i, output: (model.mean(output[0].T), None)[1])
    _, text = recorded(model, tmp_path / "t.safetensors", IDS)
    assert text["left_out"] == {"mean": "shape [8, 3]: not one row a token"}


def test_what_only_resembles_llama_is_named_by_path(tmp_path):
    """Gemma 2 has modules of Llama's names; its post_attention_layernorm stands elsewhere."""
    model = build("Gemma2", head_dim=16)
    assert find_family(model) is None
    tensors, text = recorded(model, tmp_path / "t.safetensors", IDS)
    points = prompt_points(tensors)
    assert text["map"] is None and points["logits"].shape == (len(IDS), 120)
    norm = points["model.layers.1.pre_feedforward_layernorm"]
    weight = model.model.layers[1].mlp.up_proj.weight
    close(points["model.layers.1.mlp.up_proj"], linear(norm, weight))


class Plain(torch.nn.Module):
    """A model of nobody's family that works in place. Recorded, it may behave differently."""

    def __init__(self, sees_hooks: bool = False):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 8)
        self.mix = torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 50)
        self.drop = torch.nn.Dropout(0.5)
        self.sees_hooks = sees_hooks

    def forward(self, ids):
        x = self.embedding(ids)
        y = self.mix(x)
        y.relu_()
        x += self.drop(y)
        if self.sees_hooks and self.mix._forward_hooks:
            x *= 1.5
        return self.head(x)


def test_values_are_taken_before_work_in_place(tmp_path):
    model = Plain().eval()
    tensors, _ = recorded(model, tmp_path / "t.safetensors", IDS)
    points = prompt_points(tensors)
    assert np.array_equal(points["embedding"], model.embedding.weight[IDS].detach().numpy())
    assert points["mix"].min() < 0
    close(points["mix"], linear(points["embedding"], model.mix.weight, model.mix.bias))


def test_a_map_by_hand(tmp_path):
    tensors, text = recorded(Plain().eval(), tmp_path / "t.safetensors", IDS, points={
        "embed": "embedding", "act": "head:in", "half": "mix@0:4"})
    assert sorted(prompt_points(tensors)) == ["act", "embed", "half", "ids", "logits", "top10"]
    assert text["places"] == {"embed": "embedding", "act": "head:in", "half": "mix@0:4"}
    whole, _ = recorded(Plain().eval(), tmp_path / "w.safetensors", IDS)
    assert tensors["p0.half"].shape == (len(IDS), 4)
    with pytest.raises(ValueError, match="no module for the point embed"):
        recorded(Plain(), tmp_path / "t.safetensors", IDS, points={"embed": "tokens"})
    with pytest.raises(ValueError, match="no part of a fused output"):
        columns_of("w", 12, Plain())


def test_a_model_that_notices_is_reported(tmp_path):
    with pytest.warns(RuntimeWarning, match="something else while it is recorded"):
        _, text = recorded(Plain(sees_hooks=True).eval(), tmp_path / "t.safetensors", IDS)
    assert text["capture"]["compared"] == 1 and not text["capture"]["bit_equal"]
    assert text["capture"]["max_abs"] > 0.01
    _, text = recorded(Plain(sees_hooks=True).eval(), tmp_path / "t.safetensors", IDS, check=False)
    assert text["capture"] == {"compared": 0, "bit_equal": None, "max_abs": 0.0,
                               "not_compared": "check=False"}


def test_random_numbers_go_on_as_without_recording(tmp_path):
    model = Plain().train()
    torch.manual_seed(3)
    expected = [model(torch.tensor([IDS])) for _ in range(2)]
    torch.manual_seed(3)
    with trilith.trace(model, tmp_path / "t.safetensors") as recording:
        found = [model(torch.tensor([IDS])) for _ in range(2)]
    assert recording.bit_equal and recording.compared == 2
    assert all(torch.equal(a, b) for a, b in zip(expected, found))


def test_nothing_is_left_behind(tmp_path):
    tiny = make_llama(1, tied=True)
    from transformers.models.llama import modeling_llama

    rope = modeling_llama.apply_rotary_pos_emb
    with pytest.raises(RuntimeError, match="mine"), trilith.trace(tiny.model, tmp_path / "t.safetensors"):
        tiny.model(torch.tensor([[1, 2, 3]]))
        assert modeling_llama.apply_rotary_pos_emb is not rope
        raise RuntimeError("mine")
    assert list(tmp_path.iterdir()) == []
    assert modeling_llama.apply_rotary_pos_emb is rope
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in tiny.model.modules())
    with pytest.raises(ValueError, match="was not called"), trilith.trace(tiny.model, tmp_path / "t"):
        pass
    with pytest.raises(ValueError, match="without token ids"):
        recorded(Plain(), tmp_path / "t", [[0.5]])
    with pytest.raises(ValueError, match="unknown trace level"):
        recorded(Plain(), tmp_path / "t", IDS, level="some")
    assert list(tmp_path.iterdir()) == []
