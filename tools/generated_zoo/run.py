"""One case: written, inspected, judged."""

import json
import pathlib
import subprocess
import tempfile

import safetensors.numpy

from .draw import Case, axes_of
from .judge import judge, load
from .model import tensors_of

MOST_ALTERNATIVES = 24


def write_case(case: Case, folder: pathlib.Path):
    stored, wanted = tensors_of(case.packing, case.sizes, case.seed, case.naming, case.order)
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(stored, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(case.sizes.config()))
    return wanted


def inspect(program: str, folder: pathlib.Path, out: pathlib.Path, assumptions=()):
    sheet, dense = out / "sheet.json", out / "dense.safetensors"
    for path in (sheet, dense):
        path.unlink(missing_ok=True)
    words = [program, "inspect", folder, "--json", sheet, "--unpack", dense]
    for assumption in assumptions:
        words += ["--assume", assumption]
    try:
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return None, {}, "stopped after 120 s"
    if not sheet.exists():
        return None, {}, done.stderr
    return json.loads(sheet.read_text()), load(dense), done.stderr


def flattened(spec: dict, prefix: str = "") -> dict:
    fields = {}
    for key, value in spec.items():
        if isinstance(value, dict):
            fields.update(flattened(value, f"{prefix}{key}."))
        else:
            fields[prefix + key] = value
    return fields


def decoded_alternatives(program: str, folder: pathlib.Path, out: pathlib.Path, report: dict):
    """The matrices under each alternative that the sheet lists, as a user gets them: --assume."""
    seen = []
    for module in report["modules"]:
        own = flattened(module["spec"])
        for alternative in module["alternatives"]:
            fields = flattened(alternative["spec"])
            differs = {k: v for k, v in fields.items() if own.get(k) != v}
            if differs in seen or len(seen) == MOST_ALTERNATIVES:
                continue
            seen.append(differs)
            assumptions = [f"{k}={v if isinstance(v, str) else json.dumps(v, separators=(',', ':'))}"
                           for k, v in differs.items()]
            yield alternative["differs"], inspect(program, folder, out, assumptions)[1]


def run_case(program: str, case: Case, keep: pathlib.Path | None = None) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        folder = (keep or pathlib.Path(scratch)) / "model"
        wanted = write_case(case, folder)
        report, dense, log = inspect(program, folder, pathlib.Path(scratch))
        outcome, detail = judge(report, dense, wanted, lambda: decoded_alternatives(
            program, folder, pathlib.Path(scratch), report))
    return {"seed": case.seed, "outcome": outcome, "detail": detail or log, "axes": axes_of(case)}
