"""Reading a checkpoint directory: its tensors, and the format of its packed modules."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_SHEET = "trilith_sheet.json"

# transformers' quarter planes: rows r, r + N/4, r + N/2, r + 3N/4 of one column share a byte.
_BITNET_SPEC: dict[str, Any] = {
    "symbol": "int", "bits": 2, "container": "U8", "orient": "NK",
    "law": {"word_bits": 8, "slots": 4, "stride": "N*K/4", "slot_order": "low_first", "axis": "N",
            "unit": "tensor"},
    "code_table": [-1, 0, 1, None],
}


@dataclasses.dataclass(frozen=True)
class PackedModule:
    name: str  # of the transformers module
    shape: tuple[int, int]  # N, K
    stored: Mapping[str, str]  # role -> tensor name
    spec: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Format:
    modules: list[PackedModule]
    plain: Mapping[str, str]  # stored tensor -> transformers parameter, where they differ


class Checkpoint:
    """A directory with config.json and safetensors, single or sharded."""

    def __init__(self, path: str | pathlib.Path):
        self.folder = pathlib.Path(path)
        self.config: dict[str, Any] = json.loads((self.folder / "config.json").read_text("utf-8"))
        self._file_of = dict(self._list_tensors())

    def _list_tensors(self) -> Iterator[tuple[str, pathlib.Path]]:
        from safetensors import safe_open

        index = self.folder / "model.safetensors.index.json"
        if index.exists():
            names = json.loads(index.read_text("utf-8"))["weight_map"]
            yield from ((name, self.folder / file) for name, file in names.items())
            return
        files = sorted(self.folder.glob("*.safetensors"))
        if (self.folder / "model.safetensors") in files:
            files = [self.folder / "model.safetensors"]
        if len(files) != 1:
            raise FileNotFoundError(f"{self.folder}: expected one safetensors file, found {len(files)}")
        with safe_open(str(files[0]), "numpy") as content:
            yield from ((name, files[0]) for name in content.keys())

    @property
    def names(self) -> set[str]:
        return set(self._file_of)

    def tensor(self, name: str) -> np.ndarray:
        """A stored tensor; BF16 as float32."""
        from safetensors import safe_open

        with safe_open(str(self._file_of[name]), "numpy") as content:
            if content.get_slice(name).get_dtype() != "BF16":
                return content.get_tensor(name)
        with safe_open(str(self._file_of[name]), "pt") as content:  # NumPy has no bfloat16
            return content.get_tensor(name).float().numpy()

    def format(self, sheet: str | pathlib.Path | None = None) -> Format:
        """From the sheet given, else the one beside the weights, else what the config announces."""
        if sheet is None and (self.folder / _SHEET).exists():
            sheet = self.folder / _SHEET
        if sheet is not None:
            return _format_of_sheet(json.loads(pathlib.Path(sheet).read_text("utf-8")))
        announced = self.config.get("quantization_config")
        if announced is None:
            return Format([], {})
        if announced.get("quant_method") != "bitnet":
            raise ValueError(f"quant_method {announced.get('quant_method')!r} needs a format sheet: "
                             "trilith inspect PATH --save")
        return Format(list(self._bitnet_modules(announced)), {})

    def _bitnet_modules(self, announced: Mapping[str, Any]) -> Iterator[PackedModule]:
        multiply = announced.get("linear_class", "bitlinear") == "autobitlinear"
        spec = _BITNET_SPEC | {"scale": {"index": "tensor", "op": "mul" if multiply else "div"}}
        for name in sorted(self.names):
            module = name.removesuffix(".weight_scale")
            if module == name:
                continue
            stored_rows, cols = self.tensor(module + ".weight").shape
            yield PackedModule(module, (4 * stored_rows, cols),
                               {"codes": module + ".weight", "scale": name}, spec)


def _format_of_sheet(sheet: Mapping[str, Any]) -> Format:
    if sheet.get("verdict", "identified") != "identified":
        raise ValueError(f"the format sheet's verdict is {sheet['verdict']!r}: {sheet.get('reason')}")
    modules = []
    for entry in sheet["modules"]:
        rows, cols = entry["shape"]
        modules.append(PackedModule(_transformers_name(entry), (rows, cols),
                                    {role: stored["name"] for role, stored in entry["stored"].items()},
                                    entry["spec"]))
    plain = {entry["name"]: _parameter_name(entry["module"])
             for entry in sheet.get("plain", ()) if entry.get("module")}
    return Format(modules, plain)


def _parameter_name(module: str) -> str:
    return module if module.endswith(".bias") else module + ".weight"


def _transformers_name(entry: Mapping[str, Any]) -> str:
    mapped = (entry.get("map") or {}).get("transformers") or {}
    if mapped.get("op", "copy") != "copy":
        raise ValueError(f"{entry['name']}: transformers wants it by {mapped['op']!r}, which is not "
                         "supported here")
    return str(mapped.get("name") or entry["name"]).removesuffix(".weight")
