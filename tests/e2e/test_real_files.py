"""Model files that packages on PyPI carry: read as their writers wrote them, converted and back, and
run with the tokens of transformers. TRILITH_REAL_FILES names the folder that
tools/fetch_real_files.py fills; without it these tests are skipped."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

pytestmark = pytest.mark.slow

PROMPTS = ["The capital of France is", "Gravity is the force that",
           "def fibonacci(n):\n    if n < 2:\n        return n\n"]
COUNT = 64
# Of a row of logits, relative to its norm (tests/python/test_run_smollm2.py); the largest error of
# one logit is below that.
LIMIT = 1e-5
GGUF = ["smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3/gemma-3-270m-q4_k_m.gguf"]


def real(name):
    folder = os.environ.get("TRILITH_REAL_FILES")
    if not folder:
        pytest.skip("TRILITH_REAL_FILES names no folder (tools/fetch_real_files.py makes one)")
    path = pathlib.Path(folder) / name
    assert path.exists(), f"{path}: run tools/fetch_real_files.py {folder} again"
    return path


def trilith(program, *arguments, code=0):
    result = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                            timeout=600, stdin=subprocess.DEVNULL)
    assert result.returncode == code, result.stderr
    return result


def greedy(program, model, prompt):
    return json.loads(trilith(program, "run", model, "-p", prompt, "-n", COUNT, "--greedy",
                              "--ignore-eos", "--mode", "f32", "--json", "-").stdout)


@pytest.mark.parametrize("name", GGUF)
def test_every_block_is_read_as_gguf_py_reads_it(program, name, tmp_path):
    import gguf
    from safetensors import safe_open

    path, unpacked, sheet = real(name), tmp_path / "unpacked.safetensors", tmp_path / "sheet.json"
    trilith(program, "inspect", path, "--no-probe", "--unpack", unpacked, "--json", sheet)
    assert json.loads(sheet.read_text())["verdict"] == "identified"
    compared = 0
    with safe_open(unpacked, "numpy") as found:
        names = set(found.keys())
        for tensor in gguf.GGUFReader(path).tensors:
            if tensor.tensor_type in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
                continue
            (mine,) = names & {tensor.name, tensor.name.removesuffix(".weight")}
            expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            assert np.array_equal(found.get_tensor(mine), expected), tensor.name
            compared += 1
        assert compared == len(names) > 100


def test_smollm2_runs_as_transformers_runs_it(program):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = real(GGUF[0])
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name,
                                                 dtype=torch.float32).double()
    equal = ties = 0
    for prompt in PROMPTS:
        run = greedy(program, path, prompt)
        assert run["prompt_ids"] == tokenizer(prompt)["input_ids"]
        assert run["text"] == tokenizer.decode(run["ids"], skip_special_tokens=True)
        ids = run["prompt_ids"] + run["ids"]
        with torch.no_grad():
            logits = model(torch.tensor([ids[:-1]])).logits[0, len(run["prompt_ids"]) - 1:].numpy()
        assert len(logits) == len(run["ids"]) == COUNT
        for row, token in zip(logits, run["ids"], strict=True):
            if token == row.argmax():
                equal += 1
                continue
            assert row.max() - row[token] <= 2 * LIMIT * np.linalg.norm(row)
            ties += 1
    print(f"{equal} of {equal + ties} greedy tokens as transformers in float64, {ties} ties")


def test_smollm2_to_safetensors_and_back(program, tmp_path):
    path = real(GGUF[0])
    folder, back = tmp_path / "folder", tmp_path / "back.gguf"
    trilith(program, "convert", path, "--to", "q4_1", "-o", folder, "--verify")
    trilith(program, "convert", folder, "--to", "gguf-q4_1", "-o", back, "--verify")
    runs = [greedy(program, model, PROMPTS[0]) for model in (path, folder, back)]
    for run in runs[1:]:
        assert (run["prompt_ids"], run["ids"]) == (runs[0]["prompt_ids"], runs[0]["ids"])
    # Blocks without an offset cannot hold it: refused, and nothing is written.
    refused = trilith(program, "convert", path, "--to", "gguf-q8_0", "-o", tmp_path / "no.gguf", code=4)
    assert "offsets" in refused.stderr and not (tmp_path / "no.gguf").exists()


def test_gemma3_vocabulary_and_refusal(program):
    path = real(GGUF[1])
    result = subprocess.run([str(program), "tokenize", str(path)], input="The capital of France\n",
                            capture_output=True, text=True, timeout=60)
    assert json.loads(result.stdout) == [2, 818, 5279, 529, 7001]
    assert "architecture" in trilith(program, "run", path, "-p", "x", code=4).stderr


def test_minilm_has_no_packed_weights_and_is_no_decoder(program, tmp_path):
    folder, sheet = real("minilm/model.safetensors").parent, tmp_path / "sheet.json"
    trilith(program, "inspect", folder, "--json", sheet)
    content = json.loads(sheet.read_text())
    assert content["verdict"] == "identified" and content["modules"] == []
    assert len(content["plain"]) == 104
    refused = trilith(program, "convert", folder, "--to", "f16", "-o", tmp_path / "out", code=4)
    assert "BertModel" in refused.stderr
