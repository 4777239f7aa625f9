"""The sheet as a page: well formed, closed in itself, and closed to what names in a file may hold."""

import html.parser
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(html.parser.HTMLParser):
    """Follows the tags; void elements and self-closing SVG marks need no end."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        self.text += data


def read_page(program, model, tmp_path):
    page, sheet = tmp_path / "sheet.html", tmp_path / "sheet.json"
    subprocess.run([str(program), "inspect", str(model), "--html", str(page), "--json", str(sheet)],
                   capture_output=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    for name, value in reader.attributes:
        assert not name.startswith("on") and name not in ("src", "href"), (name, value)
        assert "nan" not in (value or "").split(), (name, value)
    return reader, json.loads(sheet.read_text())


def test_the_page_of_the_sample_has_every_module_and_plot(program, tmp_path):
    reader, sheet = read_page(program, ROOT / "models/sample", tmp_path)
    for module in sheet["modules"]:
        assert module["name"] in reader.text
        assert sum(entry["count"] for entry in module["codes"]) == np.prod(module["shape"])
        zeros = sum(entry["count"] for entry in module["codes"] if entry["level"] == 0)
        assert zeros / np.prod(module["shape"]) == pytest.approx(module["zero_share"], rel=1e-3)
        assert (module["row_zero_share"]["min"] <= module["row_zero_share"]["median"]
                <= module["row_zero_share"]["max"])
    blocks = sum(np.prod(module["shape"]) // 64 for module in sheet["modules"])
    assert sheet["sparse_skip"]["count"] == blocks and sheet["sparse_skip"]["zero"] == 0
    assert "Skipping zeros: not worth it." in reader.text
    # A histogram a family and a module, alignments, probe, zeros and scales over the layers.
    assert reader.tags.count("svg") == len(sheet["families"]) + len(sheet["modules"]) + 4
    assert reader.tags.count("details") == len(sheet["modules"])


def test_names_are_text_and_never_markup(program, tmp_path):
    hostile = "</code><script>alert(1)</script>\"'&"
    model = tmp_path / "model"
    shutil.copytree(ROOT / "tests/zoo/own-offset-colscale/documented", model)
    raw = (model / "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    header = {(hostile + name if "layers" in name else name): entry for name, entry in header.items()}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (model / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + size:])
    reader, sheet = read_page(program, model, tmp_path)
    assert sheet["modules"] and hostile in reader.text


def test_a_refused_checkpoint_has_a_page_with_the_reason(program, tmp_path):
    model = ROOT / "tests/zoo/refuse-counter/documented"
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    reader, sheet = read_page(program, copy, tmp_path)
    assert sheet["verdict"] == "refused"
    assert "not packed weights" in reader.text
