"""run, trace and verify on a GGUF file alone: no side file, rows of q and k put back, blocks of ggml."""

import json
import shutil
import subprocess

import pytest

PROMPTS = ["Once upon a time, there was a shy girl named Amy.", "naïve 中文 🙂 12", ""]


def trilith(program, *arguments):
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def folder(program, sample, tmp_path_factory):
    """The sample with its sheet beside it, so that the format is worked out once."""
    folder = tmp_path_factory.mktemp("folder")
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
                 "generation_config.json"):
        shutil.copyfile(sample / name, folder / name)
    result = trilith(program, "inspect", folder, "--save")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module", params=["gguf-tq2_0", "gguf-q4_1"])
def gguf(program, folder, tmp_path_factory, request):
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    result = trilith(program, "convert", folder, "--to", request.param, "-o", path)
    assert result.returncode == 0, result.stderr
    return path


def test_the_file_alone_gives_the_tokens_of_the_folder(program, folder, gguf, tmp_path):
    for prompt in PROMPTS:
        found = []
        for model in (folder, gguf):
            output = tmp_path / "run.json"
            result = trilith(program, "run", model, "-p", prompt, "-n", 16, "--greedy",
                             "--mode", "f32", "--json", output)
            if prompt == "":
                found.append(result.returncode)
                continue
            assert result.returncode == 0, result.stderr
            run = json.loads(output.read_text())
            found.append((run["prompt_ids"], run["ids"], run["text"]))
        assert found[0] == found[1], prompt


def test_verify_finds_the_weights_of_the_golden(program, sample, gguf, tmp_path):
    ledger = tmp_path / "ledger.json"
    result = trilith(program, "verify", gguf, "--baseline", sample / "golden.safetensors",
                     "--json", ledger)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(ledger.read_text())["verdict"] == "clean"


def test_back_to_a_folder_with_its_tokenizer(program, folder, gguf, tmp_path):
    dense = tmp_path / "dense"
    result = trilith(program, "convert", gguf, "--to", "f32", "-o", dense, "--verify")
    assert result.returncode == 0, result.stderr
    runs = [trilith(program, "run", model, "-p", PROMPTS[0], "-n", 16, "--greedy", "--mode", "f32")
            for model in (folder, dense)]
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout


def test_a_vocabulary_that_is_not_known_leaves_ids(program, folder, tmp_path):
    path = tmp_path / "model.gguf"
    assert trilith(program, "convert", folder, "--to", "gguf-tq2_0", "-o", path).returncode == 0
    data = path.read_bytes()
    assert data.count(b"gpt-2") == 1
    path.write_bytes(data.replace(b"gpt-2", b"other"))
    text = trilith(program, "run", path, "-p", "Once", "-n", 2, "--greedy")
    assert text.returncode != 0 and "other" in text.stderr
    ids = trilith(program, "run", path, "--ids", "5,6,7", "-n", 2, "--greedy", "--json", "-")
    assert ids.returncode == 0 and len(json.loads(ids.stdout)["ids"]) == 2, ids.stderr
