"""Sheets keep to docs/sheet.schema.json, whatever the checkpoint: announced, searched, refused."""

import json
import pathlib
import subprocess

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "tests/zoo"
SCHEMA = json.loads((ROOT / "docs/sheet.schema.json").read_text(encoding="utf-8"))
MODELS = [ROOT / "models/sample", *(ZOO / name for name in (
    "autogptq-4bit-g64/documented", "autogptq-4bit-g64/stripped", "gguf-q4k/documented",
    "mlx-2bit-g128-ternary/stripped", "bnb-nf4-b64/documented", "own-planes-sign-mask/documented",
    "compressed-tensors-nvfp4/stripped", "refuse-image/documented", "refuse-truncated-data/documented",
    "transformers-gemma-mixed-2-4-8/stripped"))]


def sheet_of(program, model, *options):
    result = subprocess.run([str(program), "inspect", str(model), "--json", "-", *options],
                            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert result.returncode in (0, 4), result.stderr
    return json.loads(result.stdout)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("model", MODELS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_sheet_keeps_to_the_schema(program, model):
    jsonschema.validate(sheet_of(program, model), SCHEMA, jsonschema.Draft202012Validator)


def test_what_the_schema_says_can_be_broken(program):
    sheet = sheet_of(program, ROOT / "models/sample", "--no-probe",
                     "--assume", "code_table=[0,1,-1,null]")
    assert sheet["assumptions"]
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(sheet)
    for spoil in (lambda s: s.pop("verdict"), lambda s: s.update(verdict="refused", reason=""),
                  lambda s: s["modules"][0].update(zero_share=1.5),
                  lambda s: s["sparse_skip"].update(verdict="surely"),
                  lambda s: s["modules"][0]["zero_blocks"].pop("zero"),
                  lambda s: s["modules"][0]["stored"].pop("codes"),
                  lambda s: s["modules"][0]["evidence"][0].update(status="guessed"),
                  lambda s: s["modules"][0]["worked_example"]["bytes"].append("xy")):
        broken = json.loads(json.dumps(sheet))
        spoil(broken)
        assert not validator.is_valid(broken)


@pytest.mark.parametrize("case, expected", [
    ("autogptq-4bit-g64", "none"), ("compressed-tensors-w8a8-channel", "dynamic-token"),
    ("transformers-bitnet-autobitlinear", "dynamic-token"),
    ("transformers-gemma-mixed-2-4-8", "static"), ("own-offset-colscale", "undecidable")])
def test_what_the_format_does_to_activations(program, case, expected):
    sheet = sheet_of(program, ZOO / case / "documented")
    assert {module["activation"] for module in sheet["modules"]} == {expected}
