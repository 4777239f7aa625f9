"""What an answer is worth: the matrices against the oracle's, and the listed alternatives."""

import json

import numpy as np
import safetensors.numpy

TOLERANCE = 1e-6  # of the largest magnitude of a matrix
OUTCOMES = ["right", "listed", "not listed", "refused", "WRONG"]

Matrices = dict[str, tuple[list[str], np.ndarray]]  # module -> accepted names, [N, K]


def agrees(found: dict[str, np.ndarray], wanted: Matrices, sign: float) -> bool:
    for names, matrix in wanted.values():
        answer = next((found[n] for n in names if n in found), None)
        if answer is None or answer.shape != matrix.shape or not np.isfinite(answer).all():
            return False
        most = float(np.abs(matrix).max())
        if float(np.abs(sign * answer.astype(np.float64) - matrix).max()) > TOLERANCE * most:
            return False
    return True


def alternatives_of(report: dict) -> list[dict]:
    return [a for module in report.get("modules", []) for a in module.get("alternatives", [])]


def is_sign_listed(report: dict) -> bool:
    """Every module that is packed lists a reading in which the levels have the other sign."""

    def turned(module: dict) -> bool:
        table = module["spec"]["code_table"]
        for alternative in module["alternatives"]:
            other = alternative["spec"]["code_table"]
            if isinstance(table, list) and isinstance(other, list):
                if other == [None if level is None else -level for level in table]:
                    return True
            if alternative["spec"]["law"].get("planes") != module["spec"]["law"].get("planes"):
                return True
        return False

    return all(turned(module) for module in report["modules"])


def judge(report: dict | None, dense: dict[str, np.ndarray], wanted: Matrices,
          decode_alternatives) -> tuple[str, str]:
    """(outcome, detail). right: the matrices, or their negatives where the sheet lists that sign as
    open. listed: ambiguous, and one of the listed alternatives is the truth. `decode_alternatives`
    yields (what differs, matrices) of each."""
    if report is None or "verdict" not in report:
        return "WRONG", "no report"
    if report["verdict"] == "refused":
        return "refused", report["reason"]
    if agrees(dense, wanted, 1):
        return "right", report["verdict"]
    if agrees(dense, wanted, -1) and is_sign_listed(report):
        return "right", "sign open and listed"
    if report["verdict"] == "identified":
        return "WRONG", json.dumps(report["modules"][0]["spec"])
    for differs, matrices in decode_alternatives():
        if agrees(matrices, wanted, 1) or agrees(matrices, wanted, -1):
            return "listed", differs
    return "not listed", report["reason"]


def load(path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(path) if path.exists() else {}
