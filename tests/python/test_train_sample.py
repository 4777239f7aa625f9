"""The recipe of the sample model in small: train a few steps, export, and check the file by the independent reference."""

import gzip
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "tools" / "train_sample"
DATA = RECIPE / "data"
MODEL = ROOT / "models" / "sample"
STEPS = 6

for package in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(package)


def call(script: str, *arguments: str | pathlib.Path) -> str:
    """Run a script of the recipe and return what it printed."""
    command = [sys.executable, str(RECIPE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a few stories, a few held-out texts and the checkpoint trained from them."""
    folder = tmp_path_factory.mktemp("train_sample")
    with gzip.open(DATA / "teacher_stories_1.jsonl.gz", "rt", encoding="utf-8") as f:
        (folder / "stories.jsonl").write_text("".join(line for _, line in zip(range(120), f, strict=False)))
    held = json.loads((MODEL / "heldout.json").read_text())
    (folder / "heldout.json").write_text(json.dumps({"teacher": held["teacher"][:8]}))
    call(
        "train.py", folder / "stories.jsonl", "--heldout", folder / "heldout.json",
        "--tokenizer", MODEL / "tokenizer.json", "--out", folder / "model", "--layers", "2", "--threads", "2",
        "--steps", str(STEPS), "--decay-from", "4", "--warm-up", "2", "--ramp", "1", "3", "--grammar", "100",
        "--held-grammar", "8", "--teacher-rows", "2", "--grammar-rows", "1", "--eval-every", "3",
        "--checkpoint", folder / "state.pt",
    )  # fmt: skip
    return folder


@pytest.mark.slow
def test_file_gives_the_loss_of_the_training(small: pathlib.Path) -> None:
    """The packed file, read by code that shares nothing with the training, has the held-out loss training reported."""
    log = json.loads((small / "model" / "training.json").read_text())["log"]
    assert [entry["step"] for entry in log] == [3, STEPS]
    assert log[-1]["teacher"] < log[0]["teacher"] < 8.0
    printed = call("reference.py", small / "model", "--heldout", small / "heldout.json")
    fp32 = next(line for line in printed.splitlines() if line.startswith("teacher fp32"))
    loss = float(fp32.split("'nats_per_token': ")[1].split(",")[0])
    assert loss == pytest.approx(log[-1]["teacher"], abs=2e-3)


@pytest.mark.slow
def test_layout_of_the_file(small: pathlib.Path) -> None:
    """Names, types and shapes are those of the undocumented checkpoint."""
    from safetensors import safe_open

    config = json.loads((small / "model" / "config.json").read_text())
    assert "quantization_config" not in config
    with safe_open(small / "model" / "model.safetensors", "np") as f:
        names = set(f.keys())
        down = f.get_tensor("model.layers.1.mlp.down_proj.weight_ternary")
        scale = f.get_tensor("model.layers.1.mlp.down_proj.weight_scale")
    assert len(names) == 3 + 2 * (2 + 2 * 7)
    assert (down.shape, str(down.dtype)) == ((256, 192), "uint8")
    assert (scale.shape, str(scale.dtype)) == ((256,), "float16")
    assert ((down & 3) <= 2).all()
    assert (small / "model" / "model.safetensors").stat().st_mode & 0o777 == 0o644


@pytest.mark.slow
def test_resumed_run_is_the_same_run(small: pathlib.Path) -> None:
    """Going on from a saved state gives the log of the run that never stopped."""
    call(
        "train.py", small / "stories.jsonl", "--heldout", small / "heldout.json",
        "--tokenizer", MODEL / "tokenizer.json", "--out", small / "again", "--layers", "2", "--threads", "2",
        "--steps", str(STEPS), "--decay-from", "4", "--warm-up", "2", "--ramp", "1", "3", "--grammar", "100",
        "--held-grammar", "8", "--teacher-rows", "2", "--grammar-rows", "1", "--eval-every", "3",
        "--resume", small / "state-3.pt",
    )  # fmt: skip
    first, again = (json.loads((small / name / "training.json").read_text())["log"][-1] for name in ("model", "again"))
    assert first["teacher"] == pytest.approx(again["teacher"], abs=2e-3)
