"""sharpmax.load_model(): a GGUF or safetensors model, to run and to look into."""

from __future__ import annotations

import json
import os
import typing

import numpy as np

from .. import _core
from .._arrays import NumPyArrays
from .._normalizers import NormalizerLike, as_normalizer
from .._stats import Stats, StatsWish, gather_stats, plan_stats
from ._values import Path, number, path_text, real, utf8

Tokens = typing.Sequence[int]
Prompt = typing.Union[str, Tokens]
Table = typing.Union[None, str, "os.PathLike[str]", typing.Mapping[str, typing.Any]]


def _wish_of(
    normalizer: typing.Optional[NormalizerLike], normalizers: Table, cache: str, products: str, block: int, threads: int
) -> _core.SessionWish:
    wish = _core.SessionWish()
    if normalizer is not None:
        wish.normalizer = as_normalizer(normalizer).text
    if isinstance(normalizers, typing.Mapping):
        wish.normalizers = json.dumps(normalizers)
    elif normalizers is not None:
        with open(path_text("normalizers", normalizers), encoding="utf-8") as file:
            wish.normalizers = file.read()
    utf8("cache", cache)
    utf8("products", products)
    wish.cache, wish.products = cache, products
    wish.block, wish.threads = number("block", block), number("threads", threads, 0, 4096)
    return wish


class Model:
    """A language model, ready to run; load_model() makes one. Methods serve one thread at a time: others wait.

    `tokens` may be a str everywhere. It is tokenized, with the token before it that the model expects.
    Every method that runs the model takes

    normalizer   of every head: text such as "ssmax:s=0.4" or a Normalizer; None: softmax
    normalizers  a table by layer and head, schema sharpmax.normalizers/1: a dict, or the path of a file
    cache        keys and values in "float32" or "float16"
    products     activations that meet quantized weights in blocks of tokens: "float", or "int16", which is faster
    block        tokens that go through a layer together; 0: 512
    threads      0: what OpenMP would use; the answers do not depend on it
    """

    def __init__(
        self,
        path: Path,
        *,
        context: typing.Optional[int] = None,
        rope_scaling: typing.Optional[str] = None,
        rope_base: typing.Optional[float] = None,
    ) -> None:
        self.path = path_text("path", path)
        wish = _core.OpenWish()
        wish.path = os.fsencode(self.path)
        wish.context = None if context is None else number("context", context, 1, 1 << 30)
        wish.rope_scaling = "" if rope_scaling is None else utf8("rope_scaling", rope_scaling).decode()
        wish.rope_base = None if rope_base is None else real("rope_base", rope_base)
        self._core = _core.Model(wish)
        self.config: typing.Dict[str, typing.Any] = self._core.describe()

    @property
    def name(self) -> str:
        return self.config["name"]

    @property
    def layers(self) -> int:
        return self.config["layers"]

    @property
    def heads(self) -> int:
        """Query heads of a layer."""
        return self.config["heads"]

    @property
    def context(self) -> int:
        """Tokens that fit."""
        return self.config["context"]

    @property
    def vocabulary(self) -> int:
        """Number of logits; a tokenizer may know fewer tokens."""
        return self.config["vocabulary"]

    def describe(self) -> str:
        """The model in one line."""
        c = self.config
        return (
            f"{c['architecture']}, {c['layers']} layers of {c['heads']} heads ({c['kv_heads']} of keys) of width "
            f"{c['head_width']}, context {c['context']:,}, vocabulary {c['vocabulary']:,}"
        )

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.describe()}>"

    def tokenize(self, text: str, *, special: bool = False, ends: bool = False) -> typing.List[int]:
        """The tokens of a text.

        special  words such as <|im_end|> are the tokens that they name, not what someone typed
        ends     with the tokens that the model expects before and after a whole text
        """
        return self._core.tokenize(utf8("text", text), bool(special), bool(ends))

    def detokenize(self, tokens: Tokens) -> str:
        """The text of tokens; bytes that are not UTF-8 become U+FFFD."""
        return self._core.detokenize(_token_list(tokens)).decode("utf-8", "replace")

    def _tokens(self, tokens: Prompt) -> typing.List[int]:
        if isinstance(tokens, str):
            return self._prompt(tokens, special=False, chat=False, system=None)
        return _token_list(tokens)

    def _prompt(self, text: str, *, special: bool, chat: bool, system: typing.Optional[str]) -> typing.List[int]:
        wish = _core.PromptWish()
        wish.text, wish.special, wish.chat = utf8("the text", text).decode(), bool(special), bool(chat)
        wish.system = None if system is None else utf8("system", system).decode()
        return self._core.prompt_tokens(wish)

    def logits(
        self,
        tokens: Prompt,
        *,
        last: bool = False,
        normalizer: typing.Optional[NormalizerLike] = None,
        normalizers: Table = None,
        cache: str = "float32",
        products: str = "float",
        block: int = 0,
        threads: int = 0,
    ) -> np.ndarray:
        """Scores of the next token: float32 [tokens, vocabulary], after each of the tokens.

        last  after the last token alone: [vocabulary]
        """
        ids = self._tokens(tokens)
        wish = _wish_of(normalizer, normalizers, cache, products, block, threads)
        out = np.empty((1 if last else len(ids), self.vocabulary), np.float32)
        self._core.logits(ids, wish, out)
        return out[0] if last else out

    def loss(
        self,
        tokens: Prompt,
        *,
        per_token: bool = False,
        normalizer: typing.Optional[NormalizerLike] = None,
        normalizers: Table = None,
        cache: str = "float32",
        products: str = "float",
        block: int = 0,
        threads: int = 0,
    ) -> typing.Union[float, np.ndarray]:
        """-ln of the probability of each token after those before it, in nats: the mean, or one for each but the first.

        The whole text must fit into the context; sharpmax.perplexity() cuts longer ones.
        """
        ids = self._tokens(tokens)
        if len(ids) < 2:
            raise ValueError(f"there are {len(ids)} tokens; a loss needs at least 2")
        wish = _wish_of(normalizer, normalizers, cache, products, block, threads)
        out = np.empty(len(ids) - 1, np.float32)
        self._core.losses(ids, wish, out)
        return out if per_token else float(out.mean(dtype=np.float64))

    def attention_stats(
        self,
        tokens: Prompt,
        return_stats: StatsWish = True,
        *,
        normalizer: typing.Optional[NormalizerLike] = None,
        normalizers: Table = None,
        cache: str = "float32",
        products: str = "float",
        block: int = 0,
        threads: int = 0,
    ) -> Stats:
        """Statistics of every row of attention while the model reads: Stats of arrays [layer, head, token, ...].

        return_stats  what to gather, as attention() has it. "column_mass" and "map" sum over tokens, so with them all
                      tokens go through a layer together.
        """
        ids = self._tokens(tokens)
        wish = _wish_of(normalizer, normalizers, cache, products, block, threads)
        rows = (self.layers, self.heads, len(ids))
        wanted, gaps = plan_stats(return_stats, NumPyArrays, rows, len(ids))
        self._core.statistics(ids, wish, wanted, list(gaps))
        return gather_stats(wanted, gaps)

    def stream(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        max_new_tokens: typing.Optional[int] = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        chat: bool = False,
        system: typing.Optional[str] = None,
        special: bool = False,
        normalizer: typing.Optional[NormalizerLike] = None,
        normalizers: Table = None,
        cache: str = "float32",
        products: str = "float",
        block: int = 0,
        threads: int = 0,
    ) -> typing.Iterator[str]:
        """The text that generate() returns, piece by piece as it comes."""
        max_tokens = max_tokens if max_new_tokens is None else max_new_tokens
        if isinstance(prompt, str):
            if not prompt:
                raise ValueError("the prompt is empty; a model needs something to go on from")
            ids = self._prompt(prompt, special=special, chat=chat, system=system)
        elif chat or special or system is not None:
            raise ValueError("chat, special and system are for a prompt that is a str; these are tokens")
        else:
            ids = _token_list(prompt)
        sampling = _core.Sampling()
        sampling.temperature, sampling.top_p = real("temperature", temperature), real("top_p", top_p)
        sampling.top_k, sampling.seed = number("top_k", top_k), number("seed", seed, 0, 2**64 - 1)
        wish = _wish_of(normalizer, normalizers, cache, products, block, threads)
        most = number("max_tokens", max_tokens, 1)
        generation = _core.Generation(self._core, ids, wish, sampling, most)
        return self._pieces(generation)

    def _pieces(self, generation: _core.Generation) -> typing.Iterator[str]:
        while True:
            piece = generation.next()
            if piece is None:
                return
            if piece:
                yield piece.decode("utf-8", "replace")

    def generate(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        max_new_tokens: typing.Optional[int] = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        chat: bool = False,
        system: typing.Optional[str] = None,
        special: bool = False,
        normalizer: typing.Optional[NormalizerLike] = None,
        normalizers: Table = None,
        cache: str = "float32",
        products: str = "float",
        block: int = 0,
        threads: int = 0,
    ) -> str:
        """The text with which the model continues a prompt.

        max_tokens   largest number of tokens to generate; max_new_tokens, as Transformers has it, means the same
        temperature  0: always the likeliest token
        top_k        draw from the k likeliest; 0: from all
        top_p        draw from the likeliest that together reach p
        seed         seed of the draws
        chat         the prompt is a message: wrapped as the model's own template does
        system       with chat: the system message
        special      <|special|> words in the prompt are the tokens that they name
        """
        arguments = {name: value for name, value in locals().items() if name not in ("self", "prompt")}
        return "".join(self.stream(prompt, **arguments))


def _token_list(tokens: Tokens) -> typing.List[int]:
    if isinstance(tokens, (str, bytes)) or not hasattr(tokens, "__iter__"):
        raise TypeError(f"tokens are a {type(tokens).__name__}; they must be a str or a sequence of token numbers")
    values = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    for token in values:
        if not isinstance(token, (int, np.integer)) or isinstance(token, bool):
            raise TypeError(f"tokens hold a {type(token).__name__}; they must be whole numbers in one dimension")
        if not -(2**31) <= token < 2**31:
            raise ValueError(f"there is no token {token}")
    return [int(token) for token in values]


def load_model(
    path: Path,
    *,
    context: typing.Optional[int] = None,
    rope_scaling: typing.Optional[str] = None,
    rope_base: typing.Optional[float] = None,
) -> Model:
    """A GGUF file, a .safetensors file, or a folder as Hugging Face saves it. Weights stay in the file, mapped.

    context       tokens that fit; None: what the model was trained on
    rope_scaling  "none", "linear:FACTOR", "ntk:FACTOR" or "yarn:FACTOR"; None: the file's
    rope_base     of the rotation's frequencies; None: the file's

        model = sharpmax.load_model("SmolLM2.gguf")
        model.generate("The capital of France is", max_tokens=8)
        stats = model.attention_stats("It was the best of times", ["entropy", "peak_weight"])
        stats.entropy.shape            # (layers, heads, tokens)
    """
    return Model(path, context=context, rope_scaling=rope_scaling, rope_base=rope_base)
