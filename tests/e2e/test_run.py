"""`trilith run` as a user meets it: text on stdout, figures on stderr, JSON by contract, exit codes."""

import json
import os
import signal
import subprocess

import pytest

PROMPT = "Once upon a time"


def run(program, *arguments, isa=None, stdin=subprocess.DEVNULL):
    environment = dict(os.environ)
    environment.pop("TRILITH_ISA", None)
    if isa:
        environment["TRILITH_ISA"] = isa
    return subprocess.run([str(program), "run", *map(str, arguments)], capture_output=True,
                          timeout=120, stdin=stdin, env=environment)


def generate(program, model, *arguments, isa=None):
    """The JSON of a run that must succeed."""
    result = run(program, model, "--json", "-", *arguments, isa=isa)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def model(program, sample, tmp_path_factory):
    """The sample with its sheet beside it, so that not every run inspects."""
    folder = tmp_path_factory.mktemp("run") / "model"
    folder.mkdir()
    for file in sample.iterdir():
        (folder / file.name).symlink_to(file)
    saved = subprocess.run([str(program), "inspect", str(folder), "--save"], capture_output=True,
                           timeout=120)
    assert saved.returncode == 0, saved.stderr
    return folder


def built_sets(program):
    report = subprocess.run([str(program), "doctor", "--json", "-"], capture_output=True, timeout=60)
    names = json.loads(report.stdout)["instruction_sets"]
    return [name for name in names if name in ("scalar", "avx2")]


def test_json_is_the_contract(program, model):
    report = generate(program, model, "-p", PROMPT, "-n", 12, "--greedy", "--ignore-eos")
    assert {"prompt_ids", "ids", "text", "logprobs", "seconds", "isa", "mode"} <= report.keys()
    assert set(report["seconds"]) == {"load", "prefill", "decode"}
    assert len(report["ids"]) == len(report["logprobs"]) == 12
    assert all(value <= 0 for value in report["logprobs"])
    assert report["stop"] == "length"
    tokens = json.dumps(report["prompt_ids"]) + "\n" + json.dumps(report["ids"]) + "\n"
    decoded = subprocess.run([str(program), "tokenize", str(model), "--decode"], input=tokens,
                             capture_output=True, text=True, timeout=60)
    assert [json.loads(line) for line in decoded.stdout.splitlines()] == [PROMPT, report["text"]]


def test_text_streams_to_stdout_and_figures_to_stderr(program, model, tmp_path):
    path = tmp_path / "run.json"
    result = run(program, model, "-p", PROMPT, "-n", 12, "--greedy", "--json", path)
    assert result.returncode == 0
    assert result.stdout.decode() == json.loads(path.read_text())["text"] + "\n"
    assert b"tokens/s" in result.stderr


@pytest.mark.parametrize("mode", ["a8", "a16", "f32"])
def test_one_answer_on_every_instruction_set_and_thread_count(program, model, mode):
    arguments = ("-p", PROMPT, "-n", 10, "--mode", mode, "--temperature", 0.9, "--seed", 4)
    reports = {}
    for isa in built_sets(program):
        for threads in (1, 2):
            report = generate(program, model, *arguments, "--threads", threads, isa=isa)
            assert (report["isa"], report["mode"], report["threads"]) == (isa, mode, threads)
            reports[isa, threads] = (report["ids"], report["logprobs"])
    assert len(reports) >= 2
    assert len({repr(value) for value in reports.values()}) == 1, reports


def test_ids_stand_for_the_text(program, model):
    by_text = generate(program, model, "-p", PROMPT, "-n", 8, "--greedy")
    ids = ",".join(map(str, by_text["prompt_ids"]))
    by_ids = generate(program, model, "--ids", ids, "-n", 8, "--greedy")
    assert by_ids["ids"] == by_text["ids"] and by_ids["logprobs"] == by_text["logprobs"]


def test_seeds(program, model):
    def ids(seed):
        return generate(program, model, "-p", PROMPT, "-n", 40, "--temperature", 1.5, "--top-p", 1,
                        "--seed", seed)["ids"]
    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


def test_a_prompt_in_many_chunks_and_up_to_the_end_of_the_context(program, model):
    context = json.loads((model / "config.json").read_text())["max_position_embeddings"]
    ids = ",".join(str(3 + i % 200) for i in range(context - 1))
    report = generate(program, model, "--ids", ids, "-n", 5, "--greedy", "--ignore-eos")
    assert report["stop"] == "context" and len(report["ids"]) == 2


def test_an_undocumented_checkpoint_runs_after_an_implicit_inspect(program, sample):
    assert not (sample / "trilith_sheet.json").exists()
    result = run(program, sample, "-p", PROMPT, "-n", 2, "--greedy")
    assert result.returncode == 0 and b"inspect" in result.stderr


@pytest.mark.parametrize("arguments, code, word", [
    ((), 2, "--prompt"),
    (("-p", ""), 2, "no tokens"),
    (("-p", "x", "--ids", "1"), 2, "--ids"),
    (("--ids", "1,99999"), 2, "vocabulary"),
    (("--ids", "-1"), 2, "vocabulary"),
    (("--ids", "one"), 2, "--ids"),
    (("-p", "x", "-n", "-3"), 2, "--count"),
    (("-p", "x", "--mode", "a4"), 2, "a8, a16 or f32"),
    (("-p", "x", "--top-p", "0"), 2, "top-p"),
    (("-p", "x", "--temperature", "nan"), 2, "temperature"),
    (("-p", "x", "--greedy", "--top-k", "3"), 2, "--greedy"),
    (("-p", "x", "--threads", "-1"), 2, "threads"),
    (("--prompt-file", "/no/such/file"), 1, "/no/such/file"),
    ((b"-p", b"\xff\xfe"), 4, "UTF-8"),
])
def test_wrong_calls(program, model, arguments, code, word):
    result = subprocess.run([str(program), "run", str(model), *arguments], capture_output=True,
                            timeout=120, stdin=subprocess.DEVNULL)
    assert result.returncode == code, result.stderr
    assert word in result.stderr.decode()
    assert result.stdout == b""


def test_a_huge_prompt_is_refused_in_one_line(program, model, tmp_path):
    path = tmp_path / "huge.txt"
    path.write_text("a story " * 200_000)
    result = run(program, model, "--prompt-file", path)
    assert result.returncode == 2 and b"does not fit the context" in result.stderr


@pytest.mark.parametrize("isa", ["avx1024", "amx"])
def test_an_instruction_set_that_cannot_run_is_a_usage_error(program, model, isa):
    result = run(program, model, "-p", PROMPT, isa=isa)
    assert result.returncode == 2 and isa.encode() in result.stderr


def test_a_full_disk_is_an_error(program, model):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([str(program), "run", str(model), "-p", PROMPT, "-n", "3"],
                                stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert result.returncode == 1 and b"stdout" in result.stderr


def test_interrupt_ends_the_text_cleanly(program, model, tmp_path):
    path = tmp_path / "run.json"
    environment = dict(os.environ, TRILITH_ISA="scalar")  # slow enough to be caught at work
    with subprocess.Popen([str(program), "run", str(model), "-p", PROMPT, "-n", "500",
                           "--ignore-eos", "--greedy", "--json", str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          bufsize=0) as child:
        first = child.stdout.read(5)
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    report = json.loads(path.read_text())
    assert report["stop"] == "interrupted" and len(report["ids"]) < 500
    assert (first + rest).decode() == report["text"] + "\n"
