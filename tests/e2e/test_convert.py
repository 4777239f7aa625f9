"""`convert` from outside: the converted sample gives the same tokens, refusals say what would be
lost, and an interrupted conversion leaves nothing behind."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
import safetensors.numpy

PROMPT = ["--ids", "363,440,12,99", "-n", "12", "--greedy", "--mode", "a16"]


def run(program, *arguments, **more):
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, **more)


def tokens(program, model):
    result = run(program, "run", model, *PROMPT, "--json", "-")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["ids"]


def convert(program, model, target, out, *more):
    result = run(program, "convert", model, "--to", target, "-o", out, "--json", "-", *more)
    return result, json.loads(result.stdout) if result.stdout else None


@pytest.fixture(scope="module")
def packed(program, sample, tmp_path_factory):
    """The sample as GPTQ, which announces itself, so that it opens without an inspection."""
    out = tmp_path_factory.mktemp("packed") / "model"
    result, summary = convert(program, sample, "gptq-2bit", out, "--verify")
    assert result.returncode == 0, result.stderr
    assert summary["verdict"] == "converted"
    assert summary["packed_modules"] == 42
    assert summary["verified_values"] > summary["weights"]
    assert (out / "tokenizer.json").read_bytes() == (sample / "tokenizer.json").read_bytes()
    assert tokens(program, out) == tokens(program, sample)
    return out


@pytest.mark.parametrize("target", ["f16", "ct-2bit", "tq2_0"])
def test_the_converted_model_says_the_same(program, packed, target, tmp_path):
    result, summary = convert(program, packed, target, tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert summary["from"]["format"] != target
    assert tokens(program, tmp_path / "out") == tokens(program, packed)
    assert sorted(os.listdir(tmp_path)) == ["out"]


def test_a_chain_of_formats_ends_where_it_began(program, packed, tmp_path):
    """Every tensor that GPTQ holds, byte for byte."""
    chain = [packed, *(tmp_path / name for name in ("dense", "awq", "again"))]
    for before, after, target in zip(chain, chain[1:], ["f16", "awq-gemm", "gptq-2bit"]):
        result, _ = convert(program, before, target, after)
        assert result.returncode == 0, result.stderr
    first = safetensors.numpy.load_file(packed / "model.safetensors")
    last = safetensors.numpy.load_file(chain[-1] / "model.safetensors")
    assert first.keys() == last.keys()
    for name, values in first.items():
        assert np.array_equal(values, last[name]), name


def test_a_refusal_counts_what_would_be_lost(program, packed, tmp_path):
    result, summary = convert(program, packed, "hf-bitnet", tmp_path / "out")
    assert result.returncode == 4
    assert "share one scale" in result.stderr
    assert summary["verdict"] == "refused"
    (loss,) = summary["losses"]
    assert loss["count"] > 15000
    assert os.listdir(tmp_path) == []


def test_the_list_names_every_format(program):
    result = run(program, "convert", "--to", "list")
    assert result.returncode == 0
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert {"f32", "f16", "bf16", "hf-bitnet", "gptq-4bit", "tq2_0"} <= set(names)


def test_a_wrong_call(program, sample, tmp_path):
    assert run(program, "convert", sample, "--to", "nonsense", "-o", tmp_path / "out").returncode == 2
    assert run(program, "convert", sample, "--to", "f16").returncode == 2
    (tmp_path / "there").mkdir()
    assert run(program, "convert", sample, "--to", "f16", "-o", tmp_path / "there").returncode == 2


def test_an_interrupt_leaves_nothing(program, packed, tmp_path):
    """Ctrl-C while the output is being written: exit code 130, no folder, no temporary one."""
    process = subprocess.Popen([str(program), "convert", str(packed), "--to", "f32", "-o",
                                str(tmp_path / "out"), "--verify"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not os.listdir(tmp_path):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert os.listdir(tmp_path) == []
