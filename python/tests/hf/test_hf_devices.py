"""Models whose tensors are not in CPU memory: what they would run, run here, and where it is put."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
import sharpmax.hf
from sharpmax.torch import _path


@pytest.fixture
def forced(monkeypatch):
    """As on a device without kernels of ours."""
    monkeypatch.setattr(_path, "forced", True)


def padded(tokens):
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    return mask


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert", "gpt_oss"])
def test_models_give_their_own_answer(forced, tiny, tokens, name):
    model = tiny(name)
    with torch.no_grad():
        wanted = model(tokens, attention_mask=padded(tokens))[0]
        with sharpmax.hf.patch(model):
            found = model(tokens, attention_mask=padded(tokens))[0]
    torch.testing.assert_close(found[:, 3:], wanted[:, 3:], rtol=1e-4, atol=1e-4)


def test_a_watch_finds_what_the_kernels_find(monkeypatch, tiny, tokens):
    model, found = tiny("llama"), []
    for forced in (False, True):
        monkeypatch.setattr(_path, "forced", forced)
        with sharpmax.hf.watch(model, keep="all") as watched, torch.no_grad():
            model(tokens, attention_mask=padded(tokens))
            model.generate(tokens, max_new_tokens=3, do_sample=False, pad_token_id=0)
        found.append(watched)
    for name in ("entropy", "peak_weight", "support", "first_weight", "gap_counts"):
        np.testing.assert_allclose(getattr(found[1], name), getattr(found[0], name), rtol=1e-4, atol=1e-5)
    assert found[1].rows.tolist() == found[0].rows.tolist() and len(found[1].calls) == len(found[0].calls)


def test_training_goes_through(forced, make, tokens):
    model, gradients = make("llama"), []
    for attention in ("sdpa", "sharpmax"):
        model.set_attn_implementation(attention)
        model.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        gradients.append(model.model.layers[0].self_attn.q_proj.weight.grad.clone())
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-5)


def test_a_compact_mask_is_where_the_model_is(make, tokens):
    from sharpmax.hf._mask import make_mask

    mask = make_mask(2, 4, 6, attention_mask=torch.ones(2, 6, dtype=torch.bool), q_offset=2, device="meta")
    assert mask is None or mask.device.type == "meta"
    mask = make_mask(2, 4, 6, q_offset=1, device="meta")
    assert mask.device.type == "meta" and mask.shape == (2, 1, 4, 6)
