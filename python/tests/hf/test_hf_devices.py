"""Models whose tensors are not in CPU memory: what they would run, run here, and where it is put."""

import os
import subprocess
import sys

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


def test_a_mask_that_follows_its_layers_to_another_device_stays_compact(tokens):
    """As models whose layers are spread over devices do it."""
    from sharpmax.hf._mask import CompactMask, make_mask

    padding = padded(tokens).bool()
    mask = make_mask(2, 12, 12, attention_mask=padding)
    mask.write_out = None  # whoever writes it out fails
    moved = mask.to("meta", non_blocking=True)
    assert type(moved) is CompactMask and moved.device.type == "meta" and moved.shape == (2, 1, 12, 12)
    assert moved.plan.padding.device.type == "meta" and moved.plan.causal and mask.plan.padding.is_cpu
    assert mask.to("cpu") is mask and mask.to(torch.bool) is mask
    with pytest.raises(TypeError):
        mask.to(torch.float32)


def test_a_model_on_two_devices_is_patched_and_watched():
    script = os.path.join(os.path.dirname(__file__), "two_devices.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert "the same on two devices as on one" in done.stdout, done.stderr
