"""Result of sharpmax.inspect(): the contents of a model file."""

from __future__ import annotations

import typing

from ._result import ReportedResult, results_of
from ._tables import Table


@results_of("sharpmax.inspect/1")
class InspectResult(ReportedResult):
    """Contents of a model file. `ok` is False if ``check=True`` found weights that are NaN or infinite."""

    @property
    def architecture(self) -> str:
        return self.data["architecture"]["name"]

    @property
    def runs_here(self) -> bool:
        return self.data["architecture"]["runs_here"]

    @property
    def shape(self) -> typing.Dict[str, int]:
        """layers, width, query_heads, kv_heads, head_width, feed_forward, context, vocabulary."""
        return self.data["shape"]

    @property
    def tensors(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """One dict per tensor: name, type, shape, elements, bytes, offset."""
        return self.data["tensors"]

    @property
    def metadata(self) -> typing.Dict[str, typing.Any]:
        return {entry["key"]: entry["value"] for entry in self.data["metadata"]}

    @property
    def bad_weights(self) -> typing.List[typing.Dict[str, typing.Any]]:
        """Tensors with NaN or infinite weights; needs ``check=True``."""
        if "check" not in self.data:
            raise ValueError("weights were not looked at; inspect(model, check=True) does")
        return self.data["check"]["bad"]

    def headline(self) -> str:
        return f"{self.data['path']}: {self.data['format']['name']}, architecture {self.architecture}"

    def table(self) -> Table:
        rows: typing.List[typing.List[typing.Any]] = [[name, value] for name, value in (self.shape or {}).items()]
        rows += [[f"type {entry['type']}", entry["tensors"]] for entry in self.data["types"]]
        return Table(["", "number"], rows)
