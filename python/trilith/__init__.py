"""Trilith in Python.

`reference_model(path)` builds a transformers model from a checkpoint whose linears are packed.
Importing this package imports neither torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._decode import UnsupportedSpec, decode

if TYPE_CHECKING:
    from ._reference_model import reference_model

__all__ = ["UnsupportedSpec", "decode", "reference_model"]


def __getattr__(name: str) -> object:
    if name == "reference_model":
        from ._reference_model import reference_model

        return reference_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
