"""Trilith in Python.

`reference_model(path)` builds a transformers model from a checkpoint whose linears are packed;
`trace(model, path)` records what any PyTorch model computes, for `trilith verify`;
`check_linear(fn, spec)` holds a linear layer on packed weights against its format.
Importing this package imports neither torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._check_linear import LinearFault, check_linear
from ._decode import UnsupportedSpec, decode

if TYPE_CHECKING:
    from ._reference_model import reference_model
    from ._trace import Trace, trace

__all__ = ["LinearFault", "Trace", "UnsupportedSpec", "check_linear", "decode", "reference_model", "trace"]


def __getattr__(name: str) -> object:
    if name in ("Trace", "trace"):
        from . import _trace

        return getattr(_trace, name)
    if name == "reference_model":
        from ._reference_model import reference_model

        return reference_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
