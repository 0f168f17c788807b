"""Result of sharpmax.tokenize()."""

from __future__ import annotations

import typing

from ._result import Result, results_of
from ._tables import Table


@results_of("sharpmax.tokenize/1")
class TokenizeResult(Result):
    """A text and its tokens, in either direction."""

    @property
    def tokens(self) -> typing.List[int]:
        return [piece["token"] for piece in self.data["tokens"]]

    @property
    def pieces(self) -> typing.List[str]:
        """The text of each token; empty for a control token, U+FFFD for a part of a character."""
        return [piece["text"] for piece in self.data["tokens"]]

    @property
    def text(self) -> str:
        """The text that was split, after the chat template if there was one; or the text of the tokens."""
        return self.data["text"]

    @property
    def comes_back(self) -> bool:
        """Whether the way back gives exactly what was given."""
        return self.data["comes_back"]

    def headline(self) -> str:
        return f"{len(self.tokens)} tokens, {len(self.text)} characters: {self.text[:60]!r}"

    def table(self) -> Table:
        rows = [[piece["token"], piece["spelling"], piece["text"]] for piece in self.data["tokens"]]
        return Table(["token", "spelling", "text"], typing.cast(typing.Any, rows))
