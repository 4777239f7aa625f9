"""`trilith tokenize`: forms of input and output, exit codes, errors."""

import json
import subprocess

import pytest

from tokenizer_oracle import PROGRAM, SAMPLE


def tokenize(*arguments, text=""):
    data = text if isinstance(text, bytes) else text.encode()
    return subprocess.run([PROGRAM, "tokenize", *arguments], input=data, capture_output=True)


def test_folder_file_and_stdin_are_alike(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("Once upon a time\n\"quoted\"\n")
    by_file = tokenize(SAMPLE.parent, "--file", lines)
    assert by_file.returncode == 0
    assert by_file.stdout == tokenize(SAMPLE, text="Once upon a time\n\"quoted\"\n").stdout
    ids = [json.loads(line) for line in by_file.stdout.splitlines()]
    assert len(ids) == 2 and all(ids)
    back = tokenize(SAMPLE, "--decode", text="".join(f"{line}\n" for line in ids))
    assert [json.loads(line) for line in back.stdout.splitlines()] == [
        "Once upon a time", '"quoted"']


def test_json_report():
    report = json.loads(tokenize(SAMPLE, "--json", "-", text="a\n\nb").stdout)
    assert report["schema"] == "trilith.tokens/1"
    assert report["vocab_size"] == 2048
    assert [len(ids) for ids in report["ids"]] == [1, 0, 1]


def test_special_tokens():
    one = json.loads(tokenize(SAMPLE, text="<|endoftext|>").stdout)
    assert one == [0]
    assert len(json.loads(tokenize(SAMPLE, "--special-as-text", text="<|endoftext|>").stdout)) > 1
    assert json.loads(tokenize(SAMPLE, "--decode", text="[0]").stdout) == ""
    kept = tokenize(SAMPLE, "--decode", "--keep-special", text="[0]")
    assert json.loads(kept.stdout) == "<|endoftext|>"


@pytest.mark.parametrize("arguments, text, code, named", [
    ([], "a", 2, "model"),
    ([SAMPLE, "--keep-special"], "a", 2, "--decode"),
    (["absent.json"], "a", 1, "absent.json"),
    ([SAMPLE.parent / "config.json"], "a", 4, "model"),
    ([SAMPLE.parent / "model.safetensors"], "a", 4, "model.safetensors"),
    ([SAMPLE, "--file", "absent.txt"], "", 1, "absent.txt"),
    ([SAMPLE], b"good\nab\xff\n", 4, "line 2: the text is not UTF-8 (at byte 2)"),
    ([SAMPLE, "--json-lines"], "[1]\n", 2, "line 1"),
    ([SAMPLE, "--json-lines"], "\"open\n", 4, "line 1"),
    ([SAMPLE, "--decode"], "[1]\n[99999]\n", 2, "line 2: an id is outside the vocabulary"),
    ([SAMPLE, "--decode"], "[1.5]\n", 2, "32-bit"),
    ([SAMPLE, "--decode"], "[4294967296]\n", 2, "32-bit"),
    ([SAMPLE, "--decode"], "{}\n", 2, "not a list"),
])
def test_errors(arguments, text, code, named):
    result = tokenize(*arguments, text=text)
    assert result.returncode == code, result.stderr
    assert named in result.stderr.decode()
