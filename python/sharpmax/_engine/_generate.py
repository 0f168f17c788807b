"""Result of sharpmax.generate()."""

from __future__ import annotations

import typing

from ._result import Result, results_of
from ._tables import Table


@results_of("sharpmax.run/1")
class GenerateResult(Result):
    """The text with which a model went on from a prompt."""

    @property
    def text(self) -> str:
        return self.data["text"]

    @property
    def texts(self) -> typing.List[str]:
        """The texts after all prompts, if several were given."""
        return [self.text, *(answer["text"] for answer in self.data.get("further", []))]

    @property
    def tokens(self) -> typing.List[int]:
        """The tokens of the text, without those of the prompt."""
        return self.data["tokens"]

    @property
    def ending(self) -> str:
        """Why it ended: "stop_token", "tokens" or "context_full"."""
        return self.data["ending"]

    def headline(self) -> str:
        return f"{len(self.tokens)} tokens after a prompt of {len(self.data['prompt_tokens'])}: {self.text!r}"

    def table(self) -> Table:
        names = ("prompt", "generated")
        rows = [[name, len(self.data[key])] for name, key in zip(names, ("prompt_tokens", "tokens"))]
        return Table(["", "tokens"], typing.cast(typing.Any, rows))
