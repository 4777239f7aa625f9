"""The scorer of tests/zoo gives points for right answers alone."""

import importlib.util
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_scorer():
    spec = importlib.util.spec_from_file_location("score_zoo", ROOT / "tools/score_zoo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCORER = load_scorer()
CASE = SCORER.Case(ROOT / "tests/zoo/own-k4-row-f16")


CHANGES = {
    "none": lambda m: m,
    "within": lambda m: m + 0.9e-6 * np.abs(m).max(),
    "beyond": lambda m: m + 1e-5 * np.abs(m).max(),
    "negated": lambda m: -m,
    "columns": lambda m: m[:, np.random.default_rng(m.shape[1]).permutation(m.shape[1])],
    "negated columns": lambda m: -m[:, ::-1],
    "doubled": lambda m: 2 * m,
    "transposed": lambda m: m.T,
    "infinite": lambda m: np.where(m == m.max(), np.inf, m),
}


@pytest.mark.parametrize(
    "change, level",
    [("none", "exact"), ("within", "exact"), ("beyond", "wrong"), ("negated", "equivalent"),
     ("columns", "statistical"), ("negated columns", "statistical"), ("doubled", "wrong"),
     ("transposed", "wrong"), ("infinite", "wrong")])
def test_level_of_matrices(change, level):
    found = {name: CHANGES[change](matrix) for name, matrix in CASE.dense.items()}
    assert SCORER.judge_matrices(found, CASE, "stripped", False)[0] == level
    with_reference = SCORER.judge_matrices(found, CASE, "stripped", True)[0]
    assert with_reference == ("exact" if level == "exact" else "wrong")


def test_tolerance():
    matrix = CASE.dense[next(iter(CASE.dense))].astype(np.float64)
    unit = np.abs(matrix).max()
    assert SCORER.is_close(matrix + 0.99e-6 * unit, matrix)
    assert not SCORER.is_close(matrix + 1.01e-6 * unit, matrix)


def test_one_reading_holds_for_all_modules():
    first, *others = CASE.dense
    found = {first: -CASE.dense[first], **{name: CASE.dense[name] for name in others}}
    assert SCORER.judge_matrices(found, CASE, "stripped", False)[0] == "wrong"
    del found[first]
    assert SCORER.judge_matrices(found, CASE, "stripped", False)[0] == "wrong"
    assert SCORER.judge_matrices({"x": found[others[0]]}, CASE, "stripped", False)[0] == "missing"


def judged(case, report, dense=None, variant="stripped", status=0, tmp=None):
    path = tmp / "dense.safetensors"
    if dense is not None:
        from safetensors.numpy import save_file

        save_file({k: np.ascontiguousarray(v, np.float32) for k, v in dense.items()}, path)
    return SCORER.judge(case, variant, "tool", status, "", report, path)["level"]


def test_level_of_reports(tmp_path):
    refuse = SCORER.Case(ROOT / "tests/zoo/refuse-text")
    wrong = {name: 2 * matrix for name, matrix in CASE.dense.items()}
    mirrored = {name: -matrix for name, matrix in CASE.dense.items()}
    spec = CASE.truth["spec"]
    for expected, case, report, dense in [
        ("refused-ok", refuse, {"verdict": "refused", "reason": "it is text"}, None),
        ("refused-no-reason", refuse, {"verdict": "refused", "reason": " "}, None),
        ("refused-no-reason", refuse, {"verdict": "ambiguous", "reason": "it is text"}, None),
        ("false-accept", refuse, {"verdict": "identified"}, None),
        ("false-refusal", CASE, {"verdict": "refused", "reason": "no idea"}, None),
        ("crash", CASE, None, None),
        ("crash", CASE, {"verdict": "perhaps"}, None),
        ("missing", CASE, {"verdict": "identified"}, None),
        ("spec-only", CASE, {"verdict": "identified", "spec": spec}, None),
        ("missing", CASE, {"verdict": "identified", "spec": {**spec, "bits": 3}}, None),
        ("wrong", CASE, {"verdict": "identified"}, wrong),
        ("wrong-ambiguous", CASE, {"verdict": "ambiguous", "reason": "x"}, wrong),
        ("overclaimed", CASE, {"verdict": "identified"}, mirrored),
        ("equivalent", CASE, {"verdict": "ambiguous", "reason": "x"}, mirrored),
        ("equivalent", CASE, {"verdict": "identified", "modules": [{"alternatives": [1]}]}, mirrored),
    ]:
        (tmp_path / "dense.safetensors").unlink(missing_ok=True)
        assert judged(case, report, dense, tmp=tmp_path) == expected, report
    assert judged(CASE, {"verdict": "identified"}, CASE.dense, status=-11, tmp=tmp_path) == "crash"


def test_every_case_is_complete():
    for folder in SCORER.cases_in(ROOT / "tests/zoo"):
        case = SCORER.Case(folder)
        assert case.name == folder.name
        for file in case.truth["variants"].values():
            assert (folder / file).is_file(), folder / file
        for module in case.truth["modules"]:
            assert list(case.dense[module["dense"]].shape) == module["shape"]
            assert np.isfinite(case.dense[module["dense"]]).all()
