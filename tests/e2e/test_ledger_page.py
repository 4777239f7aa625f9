"""The ledger as a page: well formed, closed in itself, and saying what the JSON says."""

import json
import subprocess

from test_sheet_page import Reader

from safetensors.numpy import load_file, save_file


def pages(program, tmp_path, model, baseline, *arguments):
    """(page, ledger) of one verification."""
    page, ledger = tmp_path / "ledger.html", tmp_path / "ledger.json"
    done = subprocess.run([str(program), "verify", str(model), "--baseline", str(baseline), "--html",
                           str(page), "--json", str(ledger), *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3), done.stderr
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    for name, value in reader.attributes:
        assert not name.startswith("on") and name not in ("src", "href"), (name, value)
        assert "nan" not in (value or "").split(), (name, value)
    return reader, json.loads(ledger.read_text())


def marks(reader, kind):
    return sum(name == "class" and value == kind for name, value in reader.attributes)


def test_a_clean_page(program, sample, tmp_path):
    reader, ledger = pages(program, tmp_path, sample, sample / "golden.safetensors")
    assert ledger["verdict"] == "clean" and "every difference is explained by rounding" in reader.text
    assert all(point["point"] in reader.text for point in ledger["points"])
    assert reader.tags.count("svg") == 3
    checks = sum(("weights" in point) + ("local" in point) + ("floor_ratio" in point)
                 for point in ledger["points"])
    assert marks(reader, "good") == checks and marks(reader, "bad") == marks(reader, "mark") == 0
    assert all(0 < point["floor_rel"] < 1e-3 for point in ledger["points"] if "floor_rel" in point)
    assert ledger["limits"]["free_running"] >= ledger["limits"]["step"] == 32


def test_a_page_with_a_fault_marks_where_it_began(program, sample, tmp_path):
    ids = tmp_path / "ids.jsonl"
    ids.write_text("[323, 324, 259, 316, 12, 312]\n")
    baseline, target = tmp_path / "baseline.safetensors", tmp_path / "target.safetensors"
    subprocess.run([str(program), "trace", str(sample), "--ids", str(ids), "--mode", "f32", "-o",
                    str(baseline)], check=True, capture_output=True, timeout=120)
    tensors = load_file(baseline)
    tensors["p0.layers.2.up_proj"] *= 1.01
    save_file(tensors, target)
    reader, ledger = pages(program, tmp_path, sample, baseline, "--target", target)
    assert ledger["first"]["point"] == "layers.2.up_proj"
    assert "first at layers.2.up_proj" in reader.text and "◀ first" in reader.text
    # The product it feeds does not follow from it, so there are two faults and one frame.
    assert marks(reader, "bad") == len(ledger["faults"]) == 2
    assert marks(reader, "badge bad") == 1 and marks(reader, "mark") == 1


def test_an_incomparable_page_says_why(program, sample, tmp_path):
    tensors = {name: value[:, :4].copy() if name.endswith("layers.0.q_proj") else value
               for name, value in load_file(sample / "golden.safetensors").items()
               if name.startswith("p0.") and ".x_" not in name and not name.endswith(".acc")}
    path = tmp_path / "baseline.safetensors"
    save_file(tensors, path)
    reader, ledger = pages(program, tmp_path, sample, path)
    assert ledger["verdict"] == "incomparable" and ledger["reason"] in reader.text


def test_two_documents_do_not_share_stdout(program, sample):
    call = [str(program), "verify", str(sample), "--baseline", str(sample / "golden.safetensors")]
    both = subprocess.run([*call, "--html", "-", "--json", "-"], capture_output=True, timeout=60)
    assert both.returncode == 2 and not both.stdout
