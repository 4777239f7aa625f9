#!/usr/bin/env python3
"""Runs a format inspector over the checkpoints of tests/zoo and scores what it says.

    python3 tools/score_zoo.py tests/zoo \\
        --cmd 'build/release/trilith inspect {case} --json {out} --unpack {dense}'

In the command, {case} is a folder with one variant of a checkpoint and nothing else, {model} the
weights file in it, {out} the JSON report to write, {dense} the safetensors file for the unpacked
matrices, {ref} an unquantised module of the same model (cases without one are skipped then). How
answers are counted is in tests/zoo/README.md. Needs numpy.
"""

import argparse
import collections
import itertools
import json
import lzma
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

TOLERANCE = 1e-6  # of the largest magnitude of a matrix
PERMUTED_TOLERANCE = 8e-6  # lines are brought into one order by values rounded to 2^-18
POINTS = {"exact": 1.0, "equivalent": 1.0, "spec-only": 1.0, "refused-ok": 1.0,
          "refused-allowed": 1.0, "statistical": 0.5}
CONFIDENTLY_WRONG = ("wrong", "overclaimed", "false-accept")
VERDICTS = ("identified", "ambiguous", "refused")
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
          "I8": "i1", "U8": "u1"}
# The keys of a spec whose values are one closed vocabulary.
SPEC_KEYS = ("symbol", "bits", "orient", "law.word_bits", "law.slots", "law.stride",
             "law.slot_order", "law.axis", "code_table", "zero", "scale.index", "scale.op",
             "scale.group")


def tensors_of(data):
    """The tensors of a safetensors file whose dtype numpy has, and BF16."""
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        elif entry["dtype"] in DTYPES:
            values = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        else:
            continue
        tensors[name] = values.reshape(entry["shape"])
    return tensors


class Case:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.truth = json.loads((self.folder / "truth/truth.json").read_text())
        self.name = self.truth["case"]
        packed = self.folder / "truth/dense.safetensors.xz"
        self.dense = tensors_of(lzma.decompress(packed.read_bytes())) if packed.exists() else {}
        reference = self.folder / "truth/reference.safetensors"
        self.reference = reference if reference.exists() else None


# ------------------------------------------------------------------ matrices


def is_close(found, wanted, tolerance=TOLERANCE):
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return False
    scale = float(np.abs(wanted).max()) or 1.0
    return float(np.abs(found.astype(np.float64) - wanted).max()) <= tolerance * scale


def ordered_lines(matrix, axis):
    """The rows (axis 0) or columns (axis 1), in an order that depends on their values alone."""
    lines = np.ascontiguousarray(matrix if axis == 0 else matrix.T, dtype=np.float32) + np.float32(0)
    rounded = np.round(lines / (np.abs(lines).max() or 1) * 2**18).astype(">i4")
    keys = rounded.view(f"V{rounded.shape[1] * 4}").reshape(-1)
    return lines[np.argsort(keys, kind="stable")]


def is_reordered(found, wanted, axis, group):
    """Equal up to one permutation of an axis, of the weights or of the codes under fixed scales."""
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return False

    def same_lines(a, b):
        return is_close(ordered_lines(a, axis), ordered_lines(b, axis), PERMUTED_TOLERANCE)

    if same_lines(found, wanted):
        return True
    width = wanted.shape[1]
    for size in {width, group or width}:
        if size < 1 or width % size:
            continue
        steps = [np.abs(m.reshape(len(m), -1, size)).max(axis=2) for m in (found, wanted)]
        if not is_close(*steps):
            continue
        codes = [m / np.repeat(np.where(s == 0, 1, s), size, axis=1)
                 for m, s in zip((found, wanted), steps)]
        if same_lines(*codes):
            return True
    return False


def agrees_after(found, wanted, changes, group):
    """Whether undoing the changes of declared alternatives turns `found` into `wanted`."""
    matrix, axis = found.astype(np.float64), None
    for change in changes:
        kind = change["op"]
        if kind == "negate":
            matrix = -matrix
        elif kind == "transpose":
            matrix = matrix.T
        elif kind == "rescale":
            if matrix.shape != wanted.shape:
                return False
            shrink = np.abs(matrix).max() > np.abs(wanted).max()
            matrix = matrix / change["factor"] if shrink else matrix * change["factor"]
        elif kind == "permute":
            axis = 1 if change["axis"] == "K" else 0
        else:  # "none": another description of the same matrix
            return False
    return is_close(matrix, wanted) if axis is None else is_reordered(matrix, wanted, axis, group)


def readings(alternatives):
    """Every combination of declared alternatives: names, strength, changes; few before many."""
    for count in range(1, len(alternatives) + 1):
        for chosen in itertools.combinations(alternatives, count):
            weak = any(a["strength"] == "statistical" for a in chosen)
            yield ("+".join(a["id"] for a in chosen), "statistical" if weak else "equivalent",
                   [a["dense"] for a in chosen])


def judge_matrices(found, case, variant, with_reference):
    """(level, detail) of the unpacked matrices; one reading must hold for the whole file."""
    truth, answers = case.truth, {}
    for module in truth["modules"]:
        names = module["accept_names"][variant] + [module["dense"]]
        name = next((n for n in names if n in found), None)
        if name is not None:
            answers[module["dense"]] = found[name]
    if not answers:
        return "missing", "no matrix under an accepted name"
    wanted = {module["dense"]: case.dense[module["dense"]] for module in truth["modules"]}
    group = (truth["spec"].get("scale") or {}).get("group")

    def all_modules(test):
        return all(name in answers and test(answers[name], matrix) for name, matrix in wanted.items())

    if all_modules(is_close):
        return "exact", ""
    # With a dense reference everything can be decided.
    alternatives = [] if with_reference else [a for a in truth["alternatives"]
                                              if variant in a["variants"]]
    for name, level, changes in readings(alternatives):
        if all_modules(lambda a, b: agrees_after(a, b, changes, group)):  # noqa: B023
            return level, name
    return "wrong", "; ".join(list(differences(answers, wanted))[:3])


def differences(answers, wanted):
    for name, matrix in wanted.items():
        answer = answers.get(name)
        if answer is None:
            yield f"{name}: missing"
        elif answer.shape != matrix.shape:
            yield f"{name}: shape {list(answer.shape)} for {list(matrix.shape)}"
        elif not is_close(answer, matrix):
            with np.errstate(all="ignore"):
                error = np.abs(answer - matrix).max() / np.abs(matrix).max()
                cosine = (answer * matrix).sum() / (np.linalg.norm(answer) * np.linalg.norm(matrix))
            yield f"{name}: error {error:.3g} of the largest magnitude, cosine {cosine:.3f}"


# ------------------------------------------------------------------ specs


def flattened(spec, prefix=""):
    for key, value in (spec or {}).items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def comparable(value, shape):
    """Words in one spelling, expressions in N and K as numbers."""
    if isinstance(value, list):
        return [comparable(entry, shape) for entry in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    word = value.strip().lower().replace(" ", "_")
    expression = re.fullmatch(r"([nk](?:\*[nk])?)(?:/(\d+))?", word)
    if not expression:
        return word
    product = 1
    for letter in expression[1].split("*"):
        product *= shape["nk".index(letter)]
    return product // int(expression[2]) if expression[2] else product


def spec_agreement(report, truth, variant):
    """Share of the compared keys that equal the truth's, or None without a spec a module."""
    specs = {m.get("name"): m.get("spec") for m in report.get("modules", []) if isinstance(m, dict)}
    equal = total = 0
    for module in truth["modules"]:
        names = module["accept_names"][variant] + [module["dense"]]
        spec = next((specs[n] for n in names if specs.get(n)), report.get("spec"))
        if not spec:
            return None
        found = dict(flattened(spec))
        wanted = dict(flattened({**truth["spec"], **module.get("spec_override", {})}))
        for key in SPEC_KEYS:
            if wanted.get(key) is None:
                continue
            total += 1
            equal += (comparable(wanted[key], module["shape"]) ==
                      comparable(found.get(key), module["shape"]))
    return equal / total if total else None


# ------------------------------------------------------------------ running


def run_tool(case, variant, command, timeout, scratch):
    """Exit status (None: stopped), log, report or None, path of the matrices."""
    weights = case.folder / case.truth["variants"][variant]
    alone = scratch / "m"  # neither the name of the case nor the truth beside it
    shutil.copytree(weights.parent, alone)
    places = {"case": alone, "model": alone / weights.name, "out": scratch / "report.json",
              "dense": scratch / "dense.safetensors", "ref": scratch / "reference.safetensors"}
    if case.reference:
        shutil.copy(case.reference, places["ref"])
    words = [word.format(**places) for word in shlex.split(command)]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, check=False)
        status, log = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, log = None, f"stopped after {timeout} s"
    try:
        report = json.loads(places["out"].read_text())
    except (OSError, ValueError):
        report = None
    return status, log, report if isinstance(report, dict) else None, places["dense"]


def judge(case, variant, command, status, log, report, dense_path):
    truth = case.truth
    verdict = (report or {}).get("verdict")
    reason = str((report or {}).get("reason") or "").strip()
    if status is None or status < 0 or verdict not in VERDICTS:
        return {"level": "crash", "verdict": verdict, "detail": log[-200:]}
    answer = {"verdict": verdict, "detail": reason[:120]}
    if truth["expect"] == "refuse":
        if verdict in truth.get("accept_verdicts", ["refused"]) and reason:
            return {**answer, "level": "refused-ok"}
        if verdict != "identified":
            return {**answer, "level": "refused-no-reason"}
        return {**answer, "level": "false-accept", "detail": truth["refuse_because"]}
    if verdict == "refused":
        allowed = (variant == "stripped" and reason and
                   truth["spec"].get("stripped_expect") == "unpack_or_refuse")
        return {**answer, "level": "refused-allowed" if allowed else "false-refusal"}
    found = {}
    if dense_path.exists():
        try:
            found = tensors_of(dense_path.read_bytes())
        except (ValueError, KeyError, struct.error) as error:
            return {**answer, "level": "crash", "detail": f"unreadable matrices: {error}"}
    level, detail = judge_matrices(found, case, variant, "{ref}" in command)
    modules = [m for m in report.get("modules", []) if isinstance(m, dict)]
    listed = report.get("alternatives") or any(m.get("alternatives") for m in modules)
    if level == "wrong" and verdict == "ambiguous":
        level = "wrong-ambiguous"
    if level in ("equivalent", "statistical") and verdict == "identified" and not listed:
        level = "overclaimed"
    agreement = spec_agreement(report, truth, variant)
    if level == "missing" and agreement == 1.0:
        level = "spec-only"
    return {**answer, "level": level, "detail": detail, "spec_agreement": agreement}


def score(case, variant, arguments):
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        outcome = run_tool(case, variant, arguments.cmd, arguments.timeout, pathlib.Path(scratch))
        result = judge(case, variant, arguments.cmd, *outcome)
    truth = case.truth
    return {"case": case.name, "variant": variant, "kind": truth["kind"], "source": truth["source"],
            "tier": truth["tier"], "seconds": round(time.monotonic() - start, 2), **result}


def points(results):
    return sum(POINTS.get(result["level"], 0) for result in results)


def summarise(results):
    print()
    for variant in ("documented", "stripped"):
        some = [r for r in results if r["variant"] == variant]
        if some:
            counts = collections.Counter(r["level"] for r in some)
            print(f"{variant:11} {points(some):g} of {len(some)}  " +
                  "  ".join(f"{level} {count}" for level, count in counts.most_common()))
    sources = sorted({r["source"] for r in results})
    groups = {source: [r for r in results if r["source"] == source] for source in sources}
    print("by source   " + "  ".join(f"{s} {points(g):g}/{len(g)}" for s, g in groups.items()))


def cases_in(folder):
    folder = pathlib.Path(folder)
    if (folder / "truth/truth.json").exists():
        return [folder]
    return sorted(path.parent.parent for path in folder.glob("*/truth/truth.json"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", help="a folder of cases, or one case")
    parser.add_argument("--cmd", required=True, help="the inspector, with the places named above")
    parser.add_argument("--variant", choices=["documented", "stripped", "both"], default="both")
    parser.add_argument("--only", default="", help="part of the name or kind of the cases to run")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a run")
    parser.add_argument("--json", help="write every result here")
    parser.add_argument("--min", type=float, help="exit 1 below this share of the points")
    parser.add_argument("--max-wrong", type=int, help="exit 1 above so many confidently wrong")
    parser.add_argument("-v", action="store_true", help="print every result, not the losses alone")
    arguments = parser.parse_args()
    wanted = ["documented", "stripped"] if arguments.variant == "both" else [arguments.variant]
    results = []
    for folder in cases_in(arguments.cases):
        case = Case(folder)
        if arguments.only not in case.name and arguments.only not in case.truth["kind"]:
            continue
        if "{ref}" in arguments.cmd and case.reference is None:
            continue
        for variant in wanted:
            if variant not in case.truth["variants"]:
                continue
            result = score(case, variant, arguments)
            results.append(result)
            if arguments.v or POINTS.get(result["level"], 0) < 1:
                print(f"{result['level']:18} {variant[:3]} {result['case']:44} {result['detail']}",
                      flush=True)
    if not results:
        sys.exit("no case selected")
    summarise(results)
    share = points(results) / len(results)
    wrong = sum(result["level"] in CONFIDENTLY_WRONG for result in results)
    print(f"total       {share:.1%} of the points, {wrong} confidently wrong")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    too_few = arguments.min is not None and share < arguments.min
    too_wrong = arguments.max_wrong is not None and wrong > arguments.max_wrong
    return 1 if too_few or too_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
