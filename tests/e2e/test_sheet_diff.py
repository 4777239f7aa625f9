"""inspect --diff: nothing for the same, each field for what differs, an error for what is no sheet."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "models/sample"


def diff(program, first, second):
    result = subprocess.run([str(program), "inspect", "--diff", str(first), str(second), "--json", "-"],
                            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    return result.returncode, json.loads(result.stdout) if result.stdout else None, result.stderr


def sheet_file(program, tmp_path):
    sheet = tmp_path / "sheet.json"
    subprocess.run([str(program), "inspect", str(SAMPLE), "--json", str(sheet)],
                   check=True, capture_output=True)
    return sheet


def test_a_checkpoint_and_its_sheet_say_the_same(program, tmp_path):
    code, found, _ = diff(program, SAMPLE, sheet_file(program, tmp_path))
    assert (code, found["same"], found["differences"]) == (0, True, [])


def test_every_change_is_named(program, tmp_path):
    path = sheet_file(program, tmp_path)
    sheet = json.loads(path.read_text())
    first, second, *_, last = sheet["modules"]
    first["spec"]["law"]["slot_order"] = "high_first"
    second["shape"] = second["shape"][::-1]
    name = last["name"]
    sheet["modules"].pop()
    sheet["plain"].append({"name": "new", "dtype": "F32", "shape": [1]})
    sheet["verdict"] = "ambiguous"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(sheet))
    code, found, _ = diff(program, path, changed)
    assert code == 3 and not found["same"]
    assert {entry["where"]: (entry["first"], entry["second"]) for entry in found["differences"]} == {
        "verdict": ("identified", "ambiguous"),
        f"{first['name']}: spec.law.slot_order": ("low_first", "high_first"),
        f"{second['name']}: shape": (second["shape"][::-1], second["shape"]),
        f"{name}: packed module": ("present", None),
        "new: plain tensor": (None, "present")}


def test_what_is_no_sheet_is_refused(program, tmp_path):
    path = sheet_file(program, tmp_path)
    other = tmp_path / "other.json"
    other.write_text('{"schema": "trilith.ledger/1"}')
    code, _, error = diff(program, path, other)
    assert code == 4 and "trilith.ledger/1" in error
    code, _, error = diff(program, tmp_path / "missing.json", path)
    assert code not in (0, 3) and "missing.json" in error
    alone = subprocess.run([str(program), "inspect", "--diff", str(path)], capture_output=True)
    both = subprocess.run([str(program), "inspect", str(SAMPLE), "--diff", str(path), str(path)],
                          capture_output=True)
    assert (alone.returncode, both.returncode) == (2, 2)
