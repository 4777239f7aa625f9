"""Shared by every Python test: the built program, and how many hypothesis examples a run affords.

TRILITH_PROGRAM names the program under test (`make test` sets it); TRILITH_FULL=1, as in `make
full`, runs the slow tests too and gives hypothesis ten times the examples.
"""

import os
import pathlib

import hypothesis
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = os.environ.get("TRILITH_FULL") == "1"

hypothesis.settings.register_profile("quick", max_examples=100, deadline=None)
hypothesis.settings.register_profile("full", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("full" if FULL else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if FULL:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    """The built `trilith`. A missing program is a failure, never a skip."""
    path = pathlib.Path(os.environ.get("TRILITH_PROGRAM", ROOT / "build" / "release" / "trilith"))
    assert path.is_file(), f"{path} is not built: run `make build`, or set TRILITH_PROGRAM"
    return path


@pytest.fixture(scope="session")
def sample() -> pathlib.Path:
    """The model shipped with the project."""
    return ROOT / "models" / "sample"
