"""What `make model` fetched, where it put it."""
import os
import pathlib

import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sharpmax"
FOLDER = pathlib.Path(os.environ.get("SHARPMAX_MODELS") or CACHE)
MODEL = FOLDER / "SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT = FOLDER / "shakespeare.txt"


def model_or_skip():
    for file in (MODEL, TEXT):
        if not file.exists():
            pytest.skip(f"{file} is not there: `make model` fetches it, or SHARPMAX_MODELS names its folder")
    return MODEL
