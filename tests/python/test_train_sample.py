"""The recipe of the sample model in small: train a few steps, export, check the file by the reference."""

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


def call(script: str, *arguments: str | pathlib.Path) -> str:
    """Run a script of the recipe and return what it printed."""
    command = [sys.executable, str(RECIPE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(folder: pathlib.Path, out: str, *extra: str | pathlib.Path) -> list[dict]:
    """Train two layers for a few steps on the folder's stories; return the log."""
    call(
        "train.py", folder / "stories.jsonl", "--heldout", folder / "heldout.json",
        "--tokenizer", MODEL / "tokenizer.json", "--out", folder / out, "--layers", "2", "--threads", "2",
        "--steps", str(STEPS), "--decay-from", "4", "--warm-up", "2", "--grammar", "100", "--held-grammar", "8",
        "--teacher-rows", "2", "--grammar-rows", "1", "--eval-every", "3", *extra,
    )  # fmt: skip
    return json.loads((folder / out / "training.json").read_text())["log"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, list[dict]]:
    """A folder with few stories and held-out texts and the checkpoint trained from them; its log."""
    folder = tmp_path_factory.mktemp("train_sample")
    with gzip.open(DATA / "teacher_stories_1.jsonl.gz", "rt", encoding="utf-8") as f:
        (folder / "stories.jsonl").write_text("".join(line for _, line in zip(range(120), f, strict=False)))
    held = json.loads((MODEL / "heldout.json").read_text())
    (folder / "heldout.json").write_text(json.dumps({"teacher": held["teacher"][:8]}))
    return folder, train(folder, "model", "--ramp", "1", "3", "--checkpoint", folder / "state.pt")


@pytest.mark.slow
def test_file_gives_the_loss_of_the_training(small: tuple[pathlib.Path, list[dict]]) -> None:
    """The packed file, read by code that shares nothing with the training, has the held-out loss training reported."""
    folder, log = small
    assert [entry["step"] for entry in log] == [3, STEPS]
    assert log[-1]["teacher"] < log[0]["teacher"] < 8.0
    printed = call("reference.py", folder / "model", "--heldout", folder / "heldout.json")
    fp32 = next(line for line in printed.splitlines() if line.startswith("teacher fp32"))
    loss = float(fp32.split("'nats_per_token': ")[1].split(",")[0])
    assert loss == pytest.approx(log[-1]["teacher"], abs=2e-3)


@pytest.mark.slow
def test_layout_of_the_file(small: tuple[pathlib.Path, list[dict]]) -> None:
    """Names, types and shapes are those of the undocumented checkpoint."""
    from safetensors import safe_open

    folder = small[0] / "model"
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    with safe_open(folder / "model.safetensors", "np") as f:
        names = set(f.keys())
        down = f.get_tensor("model.layers.1.mlp.down_proj.weight_ternary")
        scale = f.get_tensor("model.layers.1.mlp.down_proj.weight_scale")
    assert len(names) == 3 + 2 * (2 + 2 * 7)
    assert (down.shape, str(down.dtype)) == ((256, 192), "uint8")
    assert (scale.shape, str(scale.dtype)) == ((256,), "float16")
    assert ((down & 3) <= 2).all()
    assert (folder / "model.safetensors").stat().st_mode & 0o777 == 0o644


@pytest.mark.slow
def test_resumed_run_is_the_same_run(small: tuple[pathlib.Path, list[dict]]) -> None:
    """Going on from a saved state gives the log of the run that never stopped."""
    folder, log = small
    again = train(folder, "again", "--ramp", "1", "3", "--resume", folder / "state-3.pt")
    assert again[-1]["teacher"] == pytest.approx(log[-1]["teacher"], abs=2e-3)
