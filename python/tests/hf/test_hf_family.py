"""Every normalizer goes under a model, in all heads and in one."""

import pytest
import sharpmax

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import sharpmax.hf  # noqa: E402


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2)  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("name", [member["name"] for member in sharpmax.family() if member["name"] != "linear"])
def test_every_member_goes_under_a_model(model, name):
    tokens = torch.arange(1, 13)[None]
    with torch.no_grad():
        plain = model(tokens).logits
        with sharpmax.hf.patch(model, name):
            everywhere = model(tokens).logits
        with sharpmax.hf.patch(model, {(1, 2): name}):
            in_one_head = model(tokens).logits
    assert everywhere.isfinite().all() and in_one_head.isfinite().all()
    # Rules that are softmax over rows this short and flat, and with the parameters they have unless told otherwise.
    if name not in ("softmax", "log_length"):
        assert not torch.allclose(everywhere, plain, atol=1e-6)
        assert not torch.equal(in_one_head, plain)


def test_linear_attention_has_no_scale_to_be_given(model):
    with sharpmax.hf.patch(model, "linear"), pytest.raises(NotImplementedError, match="linear has no scores to scale"):
        model(torch.arange(1, 13)[None])


def test_layers_and_heads_may_be_numbers_of_numpy(model):
    numpy = pytest.importorskip("numpy")
    tokens = torch.arange(1, 13)[None]
    found = {(layer, head): "sparsemax" for layer, head in numpy.argwhere(numpy.eye(2, 4))}
    with torch.no_grad():
        with sharpmax.hf.patch(model, found):
            ours = model(tokens).logits
        with sharpmax.hf.patch(model, {(0, 0): "sparsemax", (1, 1): "sparsemax"}):
            assert torch.equal(ours, model(tokens).logits)


def test_a_watch_reads_well_in_a_terminal(model):
    with torch.no_grad(), sharpmax.hf.watch(model) as watched:
        model(torch.arange(1, 13)[None])
    header, *layers = watched.table().splitlines()
    assert header.split()[:6] == ["layer", "rows", "entropy", "peak", "support", "effective"]
    assert [line.split()[0] for line in layers] == ["0", "1"]  # what tells model.layers.0.self_attn from its like
    assert max(map(len, repr(watched).splitlines())) <= 80
    assert header.count("N(") in range(2, 9) and "N(32)" in watched._repr_html_()
    with torch.no_grad(), sharpmax.hf.watch(model, gaps=()) as fewer:
        model(torch.arange(1, 13)[None])
    assert "N(" not in fewer.table()
