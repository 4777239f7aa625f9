"""inspect on the sample repacked at random: every format is found, and nothing else is made of it.

The seed is new in each run and printed with a failure; TRILITH_SEED repeats a run.
"""

import json
import os
import random
import subprocess

import numpy as np
import pytest
import safetensors.numpy

import repack

SEED = int(os.environ.get("TRILITH_SEED", random.SystemRandom().randrange(2**32)))
KINDS = ["fields", "fields", "bytes", "base3", "planes"]
RUNS = [pytest.param(number, marks=[pytest.mark.slow] if number >= len(KINDS) else [])
        for number in range(20)]


def run(program, *arguments):
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)


def tokens(program, model, prompt):
    result = run(program, "run", model, "-p", prompt, "-n", "12", "--greedy", "--json", "-")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["ids"]


@pytest.fixture(scope="module")
def prompt(sample):
    """The one whose greedy continuation is never near a tie: scales that repacking rounded anew do
    not turn it."""
    best = max(json.loads((sample / "prompts.json").read_text()),
               key=lambda record: record["smallest_margin"])
    assert best["smallest_margin"] > 0.05
    return best["prompt"]


@pytest.fixture(scope="module")
def sample_tokens(program, sample, prompt):
    return tokens(program, sample, prompt)


@pytest.mark.parametrize("number", RUNS)
def test_a_random_packing_is_found(program, sample, sample_tokens, prompt, tmp_path,
                                   number):
    rng = random.Random(SEED * 100 + number)
    packing = repack.random_packing(rng, KINDS[number % len(KINDS)])
    flat = number % len(KINDS) == 1 and packing.axis == "K"
    print(f"TRILITH_SEED={SEED} {packing} flat={flat}")
    model = tmp_path / "model"
    truth = repack.repack(sample, model, packing, flat, rng)

    sheet_file, dense_file = tmp_path / "sheet.json", tmp_path / "dense.safetensors"
    result = run(program, "inspect", model, "--save", "--json", sheet_file, "--unpack", dense_file)
    print(result.stdout, result.stderr)
    assert result.returncode == 0
    sheet = json.loads(sheet_file.read_text())
    assert sheet["verdict"] == "identified"
    assert sheet == json.loads((model / "trilith_sheet.json").read_text())

    dense = safetensors.numpy.load_file(dense_file)
    assert set(dense) == set(truth)
    for name, matrix in truth.items():
        worst = np.abs(dense[name] - matrix).max() / np.abs(matrix).max()
        assert worst <= 2**-23, f"{name}: {worst}"  # one rounding to float32 on each side
    assert tokens(program, model, prompt) == sample_tokens  # with the sheet that --save wrote


def test_without_its_tokenizer_a_repacked_model_stays_ambiguous(program, sample, tmp_path):
    rng = random.Random(SEED)
    packing = repack.Packing(kind="fields", stride=16, high_first=True, table="m0p")
    model = tmp_path / "model"
    truth = repack.repack(sample, model, packing, False, rng)
    (model / "tokenizer.json").unlink()
    dense_file = tmp_path / "dense.safetensors"
    result = run(program, "inspect", model, "--json", "-", "--unpack", dense_file)
    assert result.returncode == 4
    sheet = json.loads(result.stdout)
    assert sheet["verdict"] == "ambiguous" and sheet["reason"]
    # The order is in the statistics; the sign is not, and must not be claimed.
    assert sheet["modules"][0]["spec"]["law"]["stride"] == 16
    assert sheet["modules"][0]["spec"]["law"]["slot_order"] == "high_first"
    # Nor is the zero: each code is a third of this model's weights. The truth is among the readings.
    first = sheet["modules"][0]
    readings = [first["spec"], *(entry["spec"] for entry in first["alternatives"])]
    assert [-1, 0, 1, None] in [reading["code_table"] for reading in readings]
    dense = safetensors.numpy.load_file(dense_file)
    for name, matrix in truth.items():
        levels = set(zip(np.sign(matrix).flat, np.sign(dense[name]).flat, strict=True))
        assert len(levels) == 3, f"{name}: not the same codes under other levels: {levels}"
