"""Recording what a PyTorch model computes, as a trace that `trilith verify` compares."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pathlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._trace_file import TraceStore
from ._trace_points import Places, Site, columns_of, find_family, sites_by_path, sites_of_map

if TYPE_CHECKING:
    import torch

_ROPE = "apply_rotary_pos_emb"


def _first_tensor(value: Any) -> torch.Tensor | None:
    """The tensor of an output: itself, the first of a tuple, or a transformers output's first."""
    import torch

    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)) and value:
        return _first_tensor(value[0])
    return None


def _logits(output: Any) -> torch.Tensor | None:
    logits = getattr(output, "logits", None)
    return _first_tensor(output) if logits is None else logits


def _random_state() -> tuple[torch.Tensor, list[torch.Tensor]]:
    import torch

    return torch.random.get_rng_state(), torch.cuda.get_rng_state_all()


def _set_random_state(state: tuple[torch.Tensor, list[torch.Tensor]]) -> None:
    import torch

    torch.random.set_rng_state(state[0])
    torch.cuda.set_rng_state_all(state[1])


class _Call:
    """One call of the whole model: its token ids, which of them are no padding, and its values."""

    def __init__(self, ids: torch.Tensor, kept: torch.Tensor | None, continues: bool):
        self.ids = ids if ids.dim() == 2 else ids[None]
        self.kept = kept
        self.continues = continues
        self.points: dict[str, torch.Tensor] = {}  # [B, T, n], float32 or int32, on the CPU

    def rows(self, value: torch.Tensor, heads_first: bool) -> torch.Tensor | None:
        """A copy as [B, T, n], or None when the value has no row a token."""
        batch, tokens = self.ids.shape
        if heads_first:
            value = value.transpose(1, 2)
        if value.dim() >= 2 and tuple(value.shape[:2]) == (batch, tokens) or (
                value.dim() >= 1 and value.shape[0] == batch * tokens):
            return value.reshape(batch, tokens, -1)
        return None


class _Prompt:
    """A sequence in the making: one piece a call."""

    def __init__(self) -> None:
        self.ids: list[np.ndarray] = []
        self.points: dict[str, list[np.ndarray]] = {}


class Trace:
    """What `trace()` gives. After the block: `family`, `difference`, `left_out`, `prompts`."""

    def __init__(self, model: torch.nn.Module, path: str | pathlib.Path, level: str, rows: int,
                 seed: int, points: Mapping[str, Places] | None, texts: Sequence[str] | None,
                 mode: str, check: bool):
        self._model, self._path = model, pathlib.Path(path)
        self._store = TraceStore(level, rows, seed)
        self._texts, self._mode, self._check = texts, mode, check
        self.family: str | None = None
        if points is not None:
            self._sites = sites_of_map(model, points)
        else:
            found = find_family(model)
            self.family, self._sites = found if found else (None, sites_by_path(model))
        # Greatest |logits with capture - logits without| of all calls compared, and whether every
        # bit was equal.
        self.difference = 0.0
        self.bit_equal = True
        self.compared = 0
        self.not_compared: str | None = None if check else "check=False"
        self.left_out: dict[str, str] = {}
        self._handles: list[Any] = []
        self._call: _Call | None = None
        self._before: tuple[Any, Any, Any] | None = None
        self._pending: list[_Prompt] = []
        self._layer: list[Site] = []
        self._ropes: list[tuple[Any, Any]] = []

    @property
    def prompts(self) -> int:
        return self._store.prompts

    # Hooks.

    def _install(self) -> None:
        modules = dict(self._model.named_modules())
        self._handles = [self._model.register_forward_pre_hook(self._begin, with_kwargs=True),
                         self._model.register_forward_hook(self._end, with_kwargs=True)]
        rotary: dict[str, list[Site]] = {}
        for site in self._sites:
            module = modules[site.module]
            if site.side.startswith("rope"):
                rotary.setdefault(site.module, []).append(site)
            elif site.side == "in":
                self._handles.append(module.register_forward_pre_hook(
                    lambda _m, args, kwargs, site=site: self._record(site, (*args, *kwargs.values())),
                    with_kwargs=True))
            else:
                self._handles.append(module.register_forward_hook(
                    lambda _m, _i, output, site=site: self._record(site, output)))
        for name, sites in rotary.items():
            self._handles.append(modules[name].register_forward_pre_hook(
                lambda _m, _i, sites=sites: setattr(self, "_layer", sites)))
        for owner in {type(modules[name]).__module__ for name in rotary}:
            source = sys.modules[owner]
            if hasattr(source, _ROPE):
                self._ropes.append((source, getattr(source, _ROPE)))
                setattr(source, _ROPE, self._recorded_rope(getattr(source, _ROPE)))

    def _remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        for source, original in self._ropes:
            setattr(source, _ROPE, original)
        self._ropes = []

    def _recorded_rope(self, original: Any) -> Any:
        def rotate(*args: Any, **kwargs: Any) -> Any:
            results = original(*args, **kwargs)
            heads_first = kwargs.get("unsqueeze_dim", args[4] if len(args) > 4 else 1) == 1
            for site in self._layer:
                self._record(site, results[0 if site.side == "rope.q" else 1], heads_first)
            return results

        return rotate

    def _record(self, site: Site, value: Any, heads_first: bool = False) -> None:
        import torch

        call = self._call
        if call is None:
            return
        tensor = _first_tensor(value)
        rows = None if tensor is None else call.rows(tensor.detach(), heads_first)
        if rows is None:
            shape = "no tensor" if tensor is None else f"shape {list(tensor.shape)}"
            self.left_out.setdefault(site.point, f"{shape}: not one row a token")
            return
        if site.part is not None:
            rows = rows[..., columns_of(site.part, rows.shape[-1], self._model)]
        dtype = torch.float32 if rows.is_floating_point() else torch.int32
        point, again = site.point, 1
        while point in call.points:  # a module that is called more than once
            again += 1
            point = f"{site.point}.call{again}"
        # A copy at once: what follows may be done in place.
        call.points[point] = rows.to(device="cpu", dtype=dtype, copy=True)

    # One call of the model.

    def _begin(self, _module: Any, args: Any, kwargs: Any) -> None:
        bound = inspect.signature(self._model.forward).bind_partial(*args, **kwargs).arguments
        bound = bound | bound.get("kwargs", {})
        ids = bound.get("input_ids", next(iter(bound.values()), None))
        if ids is None or not hasattr(ids, "dim") or ids.is_floating_point() or ids.dim() not in (1, 2):
            raise ValueError("trilith.trace: the model was called without token ids: expected "
                             "integers [T] or [B, T] as input_ids or as the first argument")
        cache = bound.get("past_key_values", bound.get("cache"))
        length = getattr(cache, "get_seq_length", None)
        continues = cache is not None and (length() if callable(length) else 1) > 0
        mask = bound.get("attention_mask")
        kept = None
        if mask is not None and mask.dim() == 2 and ids.dim() == 2:
            kept = mask[:, -ids.shape[1]:].detach().cpu().bool()
        self._call = _Call(ids.detach().cpu(), kept, continues)
        self._before = self._state(args, kwargs) if self._check else None

    def _state(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any] | None:
        """What is needed to make this call once more."""
        try:
            return copy.deepcopy(args), copy.deepcopy(kwargs), _random_state()
        except Exception as error:  # deepcopy of an argument may raise anything
            self.not_compared = f"the arguments cannot be copied: {error}"
            return None

    def _end(self, _module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        logits = _logits(output)
        if logits is not None:
            self._call = call
            self._record(Site("logits", "", "out"), logits)
            self._call = None
        self._keep(call)
        if self._before is not None and logits is not None:
            self._compare(logits)

    def _compare(self, logits: torch.Tensor) -> None:
        """The same call without hooks."""
        assert self._before is not None
        args, kwargs, random_state = self._before
        self._before = None
        after = _random_state()
        self._remove()
        try:
            _set_random_state(random_state)
            plain = _logits(self._model(*args, **kwargs))
        finally:
            _set_random_state(after)
            self._install()
        if plain is None or plain.shape != logits.shape:
            self.difference, self.bit_equal = float("inf"), False
        else:
            self.bit_equal = self.bit_equal and bool(((plain == logits) | (
                plain.isnan() & logits.isnan())).all())
            if not self.bit_equal:
                distance = (plain.double() - logits.double()).abs().max().item()
                self.difference = max(self.difference, distance if distance == distance
                                      else float("inf"))
        self.compared += 1

    # Prompts.

    def _keep(self, call: _Call) -> None:
        if not call.continues or not self._pending:
            self._flush()
            self._pending = [_Prompt() for _ in call.ids]
        if len(self._pending) != len(call.ids):
            raise ValueError("trilith.trace: a call continues a cache with another batch size")
        for row, prompt in enumerate(self._pending):
            kept = slice(None) if call.kept is None else call.kept[row].numpy()
            prompt.ids.append(call.ids[row].numpy()[kept])
            for point, values in call.points.items():
                prompt.points.setdefault(point, []).append(values[row].numpy()[kept])

    def _flush(self) -> None:
        for prompt in self._pending:
            ids = np.concatenate(prompt.ids)
            points = {point: np.concatenate(pieces) for point, pieces in prompt.points.items()}
            for point in [point for point, values in points.items() if len(values) != len(ids)]:
                self.left_out.setdefault(point, "not recorded in every call of the prompt")
                del points[point]
            self._store.add(ids, points)
        self._pending = []

    # The file.

    def _description(self) -> dict[str, object]:
        import torch

        parameter = next(self._model.parameters(), None)
        config = getattr(self._model, "config", None)
        versions = {"torch": torch.__version__}
        if "transformers" in sys.modules:
            versions["transformers"] = sys.modules["transformers"].__version__
        texts = list(self._texts) if self._texts is not None else [None] * self.prompts
        return {
            "dtype": "F32", "mode": self._mode, "backend": "torch", "versions": versions,
            "build": {"commit": None, "compiler": None, "threads": torch.get_num_threads(),
                      "isa": str(parameter.device) if parameter is not None else "cpu"},
            "model_dtype": str(parameter.dtype).removeprefix("torch.") if parameter is not None else None,
            "model_class": type(self._model).__name__,
            "config": config.to_dict() if hasattr(config, "to_dict") else None,
            "texts": texts, "tokenizer_sha256": None, "map": self.family,
            "places": {site.point: str(site) for site in self._sites},
            "left_out": self.left_out,
            "capture": {"compared": self.compared, "bit_equal": self.bit_equal if self.compared else None,
                        "max_abs": self.difference if np.isfinite(self.difference) else None,
                        "not_compared": self.not_compared},
        }

    def _finish(self) -> None:
        self._flush()
        if not self.prompts:
            raise ValueError("trilith.trace: the model was not called inside the block")
        description = _plain(self._description())
        self._store.write(self._path, description)
        if not self.bit_equal:
            warnings.warn(f"trilith.trace: the model computes something else while it is recorded: "
                          f"logits differ by up to {self.difference:.3g}", RuntimeWarning, stacklevel=4)


def _plain(value: Any) -> Any:
    """As JSON can hold it; what it cannot becomes text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


@contextlib.contextmanager
def trace(model: torch.nn.Module, path: str | pathlib.Path, *, level: str = "full", rows: int = 8,
          seed: int = 0, points: Mapping[str, Places] | None = None,
          texts: Sequence[str] | None = None, mode: str = "f32", check: bool = True
          ) -> Iterator[Trace]:
    """Records every call of `model` inside the block into a trace file at `path`.

        with trilith.trace(model, "port.safetensors"):
            model(input_ids)

    A call with token ids [B, T] adds B prompts; a call with a filled cache continues those of the
    call before it, so generate() gives one prompt a sequence. Padding (attention_mask 0) is left
    out. Points are named as `trilith trace` names them where a map fits the model's structure
    (Llama, Mistral, Qwen, Phi-3, SmolLM, BitNet, OPT, GPT-2), else by module path; `points` maps
    them by hand (see _trace_points). Rows are copied when they are seen, as float32.

    `level`: "full", "sampled" (`rows` rows a prompt, those `trilith trace` takes for the same
    `seed`) or "fingerprint" (summaries alone). `mode` is what the model does to the inputs of its
    packed linears: "f32" for ordinary ones, "a8" where it quantises them to int8.

    With `check`, every call is made once more without hooks (from copies of its arguments, with the
    same random state) and the logits are compared; the file's description says how far they were
    apart under "capture", and a warning is given when a bit differs. The file appears when the
    block ends without an exception.
    """
    recording = Trace(model, path, level, rows, seed, points, texts, mode, check)
    recording._install()
    try:
        yield recording
    finally:
        recording._remove()
    recording._finish()
