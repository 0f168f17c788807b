"""watch(): what it says of each head is what eager's weights say, and watching changes nothing."""

import concurrent.futures
import copy
import json
import resource

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import sharpmax.hf  # noqa: E402

BAR = 1e-5
NAMES = ["entropy", "peak_weight", "support", "effective_support", "first_weight"]


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def plain_statistics(weights, gaps=sharpmax.hf._watch.GAPS):
    """weights [.., key] in double -> name -> [..], and gap_counts [.., gap]."""
    weights = weights.double()
    seen = weights > 0
    logs = torch.where(seen, weights, 1.0).log()
    entropy = -(weights * logs).sum(-1)
    below = weights.max(-1, keepdim=True).values.log() - logs
    found = {
        "entropy": entropy,
        "peak_weight": weights.max(-1).values,
        "support": seen.sum(-1).double(),
        "effective_support": entropy.exp(),
        "first_weight": torch.where(seen[..., 0], weights[..., 0], torch.nan),  # over the rows that see it
    }
    counts = torch.stack([((below <= gap) & seen).sum(-1) for gap in gaps], dim=-1)
    return {name: array.numpy() for name, array in found.items()}, counts.double().numpy()


def rows_of(model, inputs, mask):
    """Per layer [head, row, key]: eager's weights of the real rows."""
    attentions = model(**inputs, output_attentions=True).attentions
    if mask is None:
        return [a.transpose(0, 1).flatten(1, 2) for a in attentions]
    return [a.transpose(0, 1).flatten(1, 2)[:, mask.bool().flatten()] for a in attentions]


@pytest.mark.parametrize("padded", ["none", "left", "right"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert"])
def test_each_head_is_what_its_weights_are(name, padded, tiny, tokens, padding):
    model, mask = tiny(name), padding[padded]
    inputs = {"input_ids": tokens, "attention_mask": mask}
    wanted = [plain_statistics(rows) for rows in rows_of(model, inputs, mask)]
    with sharpmax.hf.watch(model) as stats:
        model(**inputs)
    assert stats.rows.tolist() == [20 if mask is not None else 24] * 2
    for name in NAMES:
        every = np.stack([layer[name] for layer, _ in wanted])  # [layer, head, row]
        assert np.abs(getattr(stats, name) - np.nanmean(every, -1)).max() <= BAR, name
        assert np.abs(stats.median(name) - np.nanmedian(every, -1)).max() <= BAR * np.nanmax(every), name
    counts = np.stack([counts for _, counts in wanted])
    assert stats.gap_counts.shape == (2, 4, 8)
    # A score that lies on a gap may fall on either side of it by rounding.
    assert np.abs(stats.gap_counts - counts.mean(2)).max() <= 1 / counts.shape[2] + 1e-9
    assert (stats.gap_counts == counts.mean(2)).mean() > 0.9


@pytest.mark.parametrize("patched", [False, True])
def test_watching_changes_nothing(patched, make, tokens, padding):
    model = make("llama")
    model.set_attn_implementation("sdpa")
    if patched:
        sharpmax.hf.patch(model, {0: "entmax15", (1, 1): "hard"})
    wanted = model(tokens, attention_mask=padding["left"]).logits
    implementation = model.config._attn_implementation
    with sharpmax.hf.watch(model) as stats:
        found = model(tokens, attention_mask=padding["left"]).logits
    real = padding["left"].bool()
    assert float((found - wanted)[real].abs().max()) <= (0.0 if patched else BAR)
    assert model.config._attn_implementation == implementation
    assert (stats.support[1, 1] == 1) == patched
    model(tokens)
    assert stats.rows.tolist() == [20, 20]


def test_generation_adds_one_row_a_step(tiny, tokens, padding):
    model = tiny("llama")
    with sharpmax.hf.watch(model, keep="all") as stats:
        model.generate(tokens, attention_mask=padding["left"], max_new_tokens=4, do_sample=False)
    assert stats.rows.tolist() == [20 + 3 * 2] * 2
    assert [call.layer for call in stats.calls] == [0, 1] * 4
    assert [call.lengths.tolist() for call in stats.calls[2::2]] == [[[9], [13]], [[10], [14]], [[11], [15]]]
    prompt = stats.calls[0]
    assert prompt.stats.entropy.shape == (2, 4, 12) and prompt.stats.gap_counts.shape == (2, 4, 12, 8)
    assert prompt.padding.tolist() == [[True] * 4 + [False] * 8, [False] * 12]
    assert prompt.lengths.tolist() == [[0] * 4 + list(range(1, 9)), list(range(1, 13))]
    with sharpmax.hf.watch(model, keep="all") as stats:
        model(tokens, attention_mask=padding["right"])
    assert stats.calls[0].padding.tolist() == [[False] * 8 + [True] * 4, [False] * 12]


def test_forwards_accumulate_and_rows_of_static_slots_are_not_seen(tiny, tokens):
    model = tiny("gemma2")
    with sharpmax.hf.watch(model) as one:
        model(tokens, use_cache=False)
    with sharpmax.hf.watch(model, keep="all") as two:
        model(tokens[:1], use_cache=False)
        cache = transformers.StaticCache(config=model.config, max_cache_len=20)
        for part in tokens[1:].split([5, 4, 3], dim=1):
            model(part, past_key_values=cache)
    assert one.rows.tolist() == two.rows.tolist() == [24, 24]
    for name in NAMES:
        assert np.abs(one.mean(name) - two.mean(name)).max() <= BAR, name
    windowed = [call.lengths.tolist() for call in two.calls if call.layer == 0]
    assert windowed[0] == [[1, 2, 3, 4] + [5] * 8]
    assert [call.lengths.tolist() for call in two.calls if call.layer == 1][2] == [[6, 7, 8, 9]]


def test_a_row_that_a_mask_leaves_without_keys_is_not_counted(tiny, tokens):
    model = tiny("llama")
    allowed = torch.ones(12, 12, dtype=torch.bool).tril()[None, None].repeat(2, 1, 1, 1)
    allowed[0, :, 3] = False
    with sharpmax.hf.watch(model, keep="all") as stats:
        model(tokens, attention_mask=allowed)
    assert stats.rows.tolist() == [23, 23]
    assert stats.calls[0].padding.nonzero() == ([0], [3]) and stats.calls[0].lengths[0, 2:5].tolist() == [3, 0, 5]


def test_packed_sequences_have_their_own_lengths(tiny, tokens):
    model = tiny("llama")
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3, 4]])
    with sharpmax.hf.watch(model, keep="all") as stats:
        model(tokens[:1], position_ids=positions, use_cache=False)
        model(tokens, position_ids=positions.expand(2, -1), use_cache=False)
    assert stats.calls[0].lengths.tolist() == (positions + 1).tolist()
    assert stats.calls[2].lengths.tolist() == (positions + 1).expand(2, -1).tolist()
    assert (stats.calls[2].stats.support <= stats.calls[2].lengths[:, None]).all()


def test_lengths_show_how_a_head_disperses(tiny, tokens):
    model = tiny("llama")
    with sharpmax.hf.watch(model, keep="all") as stats:
        model(tokens, use_cache=False)
    found = stats.by_length("entropy")
    assert found.lengths.tolist() == [1, 2, 4, 8]
    assert found.rows.tolist() == [[2, 4, 8, 10]] * 2
    for layer in range(2):
        entropy = stats.calls[layer].stats.entropy  # [batch, head, query]
        for octave, rows in enumerate((slice(0, 1), slice(1, 3), slice(3, 7), slice(7, 12))):
            wanted = entropy[:, :, rows].mean((0, 2))
            assert np.abs(found.values[layer, :, octave] - wanted).max() <= 1e-6
    assert stats.by_length("gap_counts").values.shape == (2, 4, 4, 8)


def test_medians_of_many_rows_come_from_an_even_sample():
    from sharpmax.hf._rows import Rows
    from sharpmax.hf._tally import Tally

    random = np.random.default_rng(4)
    tally, every = Tally(("entropy",), (), cross=False), []
    for rows in (1, 7000, 3, 9001, 4095):
        values = random.normal(size=(1, 2, rows)) + np.linspace(0, 1, rows)
        every.append(values[0])
        stats = sharpmax.Stats(entropy=torch.from_numpy(values))
        tally.add(stats, Rows(torch.full((1, rows), 5), None, torch.ones(1, rows, dtype=torch.bool)))
        assert tally.sampled <= 8192
    tally.settle()
    every = np.concatenate(every, axis=1)
    assert tally.rows == every.shape[1]
    assert np.abs(tally.mean()[0] - every.mean(1)).max() < 1e-6
    spread = 1.2533 * every.std() / np.sqrt(tally.sampled)  # standard error of a median
    assert np.abs(tally.median()[0] - np.median(every, 1)).max() < 5 * spread


def test_modules_are_named_and_cross_attention_sees_the_other_sequence(tiny, tokens, padding):
    model = tiny("t5")
    with sharpmax.hf.watch(model, keep="all") as stats:
        model(input_ids=tokens, attention_mask=padding["left"], decoder_input_ids=tokens)
    assert stats.names[0] == "encoder.block.0.layer.0.SelfAttention"
    rows = dict(zip(stats.names, stats.rows))
    assert rows["encoder.block.1.layer.0.SelfAttention"] == 20
    assert rows["decoder.block.0.layer.0.SelfAttention"] == 24
    assert rows["decoder.block.1.layer.1.EncDecAttention"] == 24
    place = stats.names.index("decoder.block.0.layer.1.EncDecAttention")
    cross = next(call for call in stats.calls if call.layer == place)
    assert cross.lengths.tolist() == [[8] * 12, [12] * 12]


def test_a_vision_model_is_watched(tiny):
    with sharpmax.hf.watch(tiny("vit")) as stats:
        tiny("vit")(torch.randn(2, 3, 16, 16))
    assert stats.rows.tolist() == [34, 34] and stats.by_length("entropy").lengths.tolist() == [16]


@pytest.mark.parametrize("batch", [1, 2])  # 12 rows wait to be counted, 24 are counted at once
def test_watches_nest_and_one_that_fails_is_taken_off(batch, tiny, tokens):
    model, ids = tiny("llama"), tokens[:batch]
    with sharpmax.hf.watch(model, gaps=(1.0, 3.0)) as outer:
        model(ids)
        with sharpmax.hf.watch(model, statistics="mass", gaps=(2.0,)) as inner:
            model(ids)
        with pytest.raises(RuntimeError, match="on already"), outer:
            pass
        with pytest.raises(KeyError), sharpmax.hf.watch(model) as failed:
            model(ids)
            raise KeyError
    model(ids)
    assert model.config._attn_implementation == "eager"
    assert [watch.rows[0] for watch in (outer, inner, failed)] == [36 * batch, 12 * batch, 12 * batch]
    assert inner.mass == pytest.approx(1.0)
    with sharpmax.hf.watch(model, gaps=(1.0, 2.0, 3.0)) as plain:
        model(ids)
    assert np.allclose(outer.gap_counts, plain.gap_counts[..., ::2])
    assert np.allclose(inner.gap_counts, plain.gap_counts[..., 1:2])
    assert np.allclose(outer.entropy, plain.entropy)


def test_steps_that_wait_are_counted_like_one_call(tiny, tokens, padding):
    model, mask = tiny("llama"), padding["left"]
    with sharpmax.hf.watch(model) as whole:
        model(tokens, attention_mask=mask)
    with sharpmax.hf.watch(model) as stepped:
        cache = transformers.DynamicCache(config=model.config)
        for step in range(12):
            model(tokens[:, step : step + 1], attention_mask=mask[:, : step + 1], past_key_values=cache)
        model(tokens[:1, :3])  # another batch
        model(tokens[:1], attention_mask=padding["right"][:1])
    with sharpmax.hf.watch(model) as more:
        model(tokens, attention_mask=mask)
        model(tokens[:1, :3])
        model(tokens[:1, :8])
    assert whole.rows.tolist() == [20, 20] and stepped.rows.tolist() == more.rows.tolist() == [31, 31]
    for name in NAMES:
        assert np.abs(stepped.mean(name) - more.mean(name)).max() <= BAR, name
        assert np.abs(stepped.median(name) - more.median(name)).max() <= BAR, name
    assert np.allclose(stepped.by_length("gap_counts").values, more.by_length("gap_counts").values)


def test_a_model_that_runs_in_threads_loses_no_row(tiny, tokens):
    model = tiny("llama")

    def run(_):
        with torch.no_grad():
            for _ in range(10):
                model(tokens[:1, :3], use_cache=False)
                model(tokens, use_cache=False)

    with sharpmax.hf.watch(model) as stats, concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert stats.rows.tolist() == [4 * 10 * 27] * 2
    with sharpmax.hf.watch(model) as alone:
        run(0)
    assert np.allclose(stats.entropy, alone.entropy)


def test_every_looks_at_one_call_in_so_many(tiny, tokens):
    model = tiny("llama")
    with sharpmax.hf.watch(model, every=3) as stats:
        for length in range(2, 9):
            model(tokens[:1, :length], use_cache=False)
    assert stats.rows.tolist() == [2 + 5 + 8] * 2


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_layer_is_seen_once(reentrant, make, tokens):
    model = make("llama").train()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    with torch.enable_grad(), sharpmax.hf.watch(model) as stats:
        model(tokens, labels=tokens, use_cache=False).loss.backward()
    assert stats.rows.tolist() == [24, 24]
    assert model.model.layers[0].self_attn.q_proj.weight.grad.abs().sum() > 0


def test_a_compiled_model_is_the_model_and_can_be_watched(make, tokens, padding):
    model, mask = make("llama", num_hidden_layers=1), padding["left"]
    wanted = model(tokens, attention_mask=mask, use_cache=False).logits
    compiled = torch.compile(model, backend="eager")
    sharpmax.hf.patch(compiled)
    found = compiled(tokens, attention_mask=mask, use_cache=False).logits
    assert float((found - wanted)[mask.bool()].abs().max()) <= BAR
    with sharpmax.hf.watch(compiled) as stats:
        compiled(tokens, attention_mask=mask, use_cache=False)
    with sharpmax.hf.watch(model) as plain:
        model(tokens, attention_mask=mask, use_cache=False)
    sharpmax.hf.unpatch(compiled)
    assert model.config._attn_implementation == "eager"
    torch._dynamo.reset()
    assert stats.rows.tolist() == [20] and np.abs(stats.entropy - plain.entropy).max() <= BAR


def test_long_inputs_need_no_square(make):
    model = make("llama", num_hidden_layers=1, max_position_embeddings=8192)
    ids = torch.ones(1, 6144, dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[:, :100] = 0
    with sharpmax.hf.watch(model) as stats:
        model(ids[:, :64], attention_mask=mask[:, :64] * 0 + 1, logits_to_keep=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model(ids, attention_mask=mask, logits_to_keep=1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert stats.rows.tolist() == [64 + 6044]
    assert grown < 6144 * 6144  # not even a truth for each pair; weights of the four heads would be 16 times that


def test_it_can_be_read_by_people_and_programs(tiny, tokens):
    model = tiny("llama")
    with sharpmax.hf.watch(model) as stats:
        assert np.isnan(stats.entropy).all() and stats.entropy.shape == (2, 4)
        assert "0 rows" in repr(stats) and json.dumps(stats.to_dict())
        model(tokens)
    text = repr(stats).splitlines()
    assert text[0] == "Watch of LlamaForCausalLM: 2 layers, 4 heads, 24 rows per layer"
    assert text[1].split()[:3] == ["layer", "rows", "entropy"] and len(text) == 4
    assert text[2].split()[:3] == ["0", "24", f"{stats.entropy[0].mean():.3f}"]
    assert len(stats.table(heads=True).splitlines()) == 1 + 8
    assert "<td>1</td><td>24</td>" in stats._repr_html_()
    plain = json.loads(json.dumps(stats.to_dict()))
    assert np.allclose(plain["mean"]["entropy"], stats.entropy)
    assert np.allclose(plain["by_length"]["support"], stats.by_length("support").values)
    with pytest.raises(AttributeError):
        copy.copy(stats).__wrapped__  # noqa: B018
    with pytest.raises(AttributeError, match="a Watch has no 'sharpness'; this one has entropy"):
        stats.sharpness  # noqa: B018
    with pytest.raises(ValueError, match="no statistic 'mass' in this watch"):
        stats.mean("mass")


def test_it_plots(tiny, tokens):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with sharpmax.hf.watch(tiny("llama")) as stats:
        tiny("llama")(tokens)
    grid = stats.plot()
    assert np.allclose(grid.images[0].get_array(), stats.entropy)
    lines = stats.plot("peak_weight", by="length").lines
    assert np.allclose(lines[1].get_ydata(), stats.by_length("peak_weight").values[1].mean(0))
    axes = matplotlib.pyplot.subplots()[1]
    assert stats.plot(ax=axes) is axes
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="by is 'rows'; it must be 'head' or 'length'"):
        stats.plot(by="rows")
    with pytest.raises(ValueError, match="no statistic 'gap_counts' to plot"):
        stats.plot("gap_counts")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"statistics": ["entropy", "sharpness"]}, "statistics has 'sharpness'; it may have entropy, "),
        ({"statistics": [], "gaps": []}, "nothing to watch"),
        ({"keep": "some"}, "keep is 'some'; it must be 'summary' or 'all'"),
        ({"every": 0}, "every is 0; it must be a whole number from 1 on"),
        ({"every": True}, "every is True; it must be a whole number from 1 on"),
        ({"gaps": [float("nan")]}, r"gaps has \(nan,\); a gap must be finite and above 0"),
        ({"gaps": [0.0]}, r"gaps has \(0.0,\); a gap must be finite and above 0"),
        ({"gaps": [-1.0]}, r"gaps has \(-1.0,\); a gap must be finite and above 0"),
    ],
)
def test_what_cannot_be_watched_is_refused(options, sentence, tiny):
    with pytest.raises(ValueError, match=sentence):
        sharpmax.hf.watch(tiny("llama"), **options)
