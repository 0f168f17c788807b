"""Under softmax a model over sharpmax is the model: eager's outputs to 1e-5, its tokens, its gradients."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import sharpmax.hf  # noqa: E402

BAR = 1e-5
CAUSAL = ["gpt2", "llama", "qwen2", "gemma", "gemma2", "mistral", "llama4"]
PADDINGS = ["none", "left", "right"]


@pytest.fixture(autouse=True)
def without_gradients(request):
    with torch.set_grad_enabled("gradients" in request.node.name):
        yield


def outputs(model, ids, mask, **kwargs):
    if model.config.is_encoder_decoder:
        kwargs["decoder_input_ids"] = ids.flip(1)[:, :7]
    found = model(input_ids=ids, attention_mask=mask, **kwargs)
    return found.logits if hasattr(found, "logits") else found.last_hidden_state


def largest_difference(found, wanted, mask=None):
    difference = (found - wanted).abs()
    return float(difference[mask.bool()].max() if mask is not None else difference.max())


@pytest.mark.parametrize("padded", PADDINGS)
@pytest.mark.parametrize("name", [*CAUSAL, "bert", "t5", "bart"])
def test_a_forward_is_eagers_at_every_real_token(name, padded, tiny, tokens, padding):
    model, mask = tiny(name), padding[padded]
    wanted = outputs(model, tokens, mask)
    with sharpmax.hf.patch(model):
        found = outputs(model, tokens, mask)
    real = None if model.config.is_encoder_decoder else mask
    assert largest_difference(found, wanted, real) <= BAR


@pytest.mark.parametrize("name", ["vit"])
def test_a_vision_model_is_eagers(name, tiny):
    model = tiny(name)
    image = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    wanted = model(image).last_hidden_state
    with sharpmax.hf.patch(model):
        assert largest_difference(model(image).last_hidden_state, wanted) <= BAR


def test_the_implementation_can_be_asked_for_by_name(tiny, make, tokens):
    wanted = tiny("llama")(tokens).logits
    model = make("llama", attn_implementation="sharpmax")
    model.set_attn_implementation("sharpmax")
    assert largest_difference(model(tokens).logits, wanted) <= BAR


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("padded", ["none", "left"])
@pytest.mark.parametrize("name", CAUSAL)
def test_generated_tokens_are_eagers(name, padded, cache, tiny, tokens, padding):
    model = tiny(name)
    mask = torch.ones_like(tokens) if padding[padded] is None else padding[padded]
    options = {"max_new_tokens": 8, "do_sample": False, "attention_mask": mask}
    if cache == "static":
        options.update(cache_implementation="static", disable_compile=True)
    wanted = model.generate(tokens, output_logits=True, return_dict_in_generate=True, **options)
    with sharpmax.hf.patch(model):
        found = model.generate(tokens, output_logits=True, return_dict_in_generate=True, **options)
    assert torch.equal(found.sequences, wanted.sequences)
    assert found.sequences.shape[1] == tokens.shape[1] + 8
    assert largest_difference(torch.stack(found.logits), torch.stack(wanted.logits)) <= BAR


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_an_encoder_decoder_generates_what_it_does_under_eager(name, tiny, tokens, padding):
    model = tiny(name)
    options = {"max_new_tokens": 6, "do_sample": False, "num_beams": 2, "attention_mask": padding["left"]}
    wanted = model.generate(tokens, **options)
    with sharpmax.hf.patch(model):
        assert torch.equal(model.generate(tokens, **options), wanted)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
def test_a_prompt_read_in_chunks_is_read_whole(name, kind, tiny, tokens):
    model = tiny(name)
    wanted = model(tokens, use_cache=False).logits
    with sharpmax.hf.patch(model):
        if kind == "static":  # has unused slots after the last token
            cache = transformers.StaticCache(config=model.config, max_cache_len=20)
        else:
            cache = transformers.DynamicCache(config=model.config)
        parts = [model(part, past_key_values=cache).logits for part in tokens.split([5, 4, 1, 2], dim=1)]
    assert largest_difference(torch.cat(parts, dim=1), wanted) <= BAR


@pytest.mark.parametrize("batch", [1, 2])
def test_packed_sequences_do_not_see_each_other(batch, tiny, tokens):
    model, ids = tiny("llama"), tokens[:batch]
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3, 4]]).expand(batch, -1)
    with sharpmax.hf.patch(model):
        found = model(ids, position_ids=positions, use_cache=False).logits
        alone = [model(part, use_cache=False).logits for part in ids.split([5, 2, 5], dim=1)]
    assert largest_difference(found, torch.cat(alone, dim=1)) <= BAR
    assert largest_difference(found, model(ids, position_ids=positions, use_cache=False).logits) <= BAR


def test_packed_sequences_may_come_as_offsets(tiny, tokens):
    model, ids = tiny("llama"), tokens[:1]
    offsets = torch.tensor([0, 5, 7, 12], dtype=torch.int32)
    positions = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3, 4]])
    lengths = {"cu_seq_lens_q": offsets, "cu_seq_lens_k": offsets, "max_length_q": 5, "max_length_k": 5}
    wanted = model(ids, position_ids=positions, use_cache=False).logits
    mask = torch.ones(1, 12, dtype=torch.long)  # hides from Transformers that sequences are packed
    with sharpmax.hf.patch(model):
        found = model(ids, attention_mask=mask, position_ids=positions, use_cache=False, **lengths).logits
        assert largest_difference(found, wanted) <= BAR
        with pytest.raises(ValueError, match="cu_seq_lens_q and an attention mask were both given"):
            mask[0, 0] = 0
            model(ids, attention_mask=mask, use_cache=False, **lengths)
        with pytest.raises(ValueError, match="cu_seq_lens_q ends at 12 .* in a batch of 2; they must be the same"):
            model(tokens, use_cache=False, **lengths)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_a_mask_of_the_users_own_is_kept(dtype, tiny, tokens):
    model = tiny("llama")
    allowed = torch.rand(2, 1, 12, 12, generator=torch.Generator().manual_seed(3)) < 0.5
    allowed |= torch.eye(12, dtype=torch.bool)
    added = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    wanted = model(tokens, attention_mask=added, use_cache=False).logits
    with sharpmax.hf.patch(model):
        mask = allowed if dtype == torch.bool else added
        assert largest_difference(model(tokens, attention_mask=mask, use_cache=False).logits, wanted) <= BAR


def test_bfloat16_is_as_near_to_double_as_sdpa(make, tokens):
    model = make("llama")
    exact = model.double()(tokens).logits
    model.to(torch.bfloat16)
    errors = {}
    for implementation in ("sdpa", "sharpmax"):
        model.set_attn_implementation(implementation)
        errors[implementation] = largest_difference(model(tokens).logits.double(), exact)
    assert errors["sharpmax"] <= 2 * errors["sdpa"]


@pytest.mark.parametrize("padded", ["none", "left"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2", "bert", "t5"])
def test_gradients_are_eagers(name, padded, tiny, tokens, padding):
    model, mask = tiny(name), padding[padded]
    weight = 1.0 if mask is None or model.config.is_encoder_decoder else mask[..., None]

    def gradients():
        model.zero_grad()
        (outputs(model, tokens, mask) * weight).square().mean().backward()
        return {name: part.grad.clone() for name, part in model.named_parameters() if part.grad is not None}

    wanted = gradients()
    with sharpmax.hf.patch(model):
        found = gradients()
    model.zero_grad(set_to_none=True)
    assert found.keys() == wanted.keys()
    for part, gradient in wanted.items():
        assert largest_difference(found[part], gradient) <= BAR * max(1.0, float(gradient.abs().max())), part


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_through_checkpoints_are_the_same(reentrant, make, tokens, padding):
    model = make("llama", attention_dropout=0.0)
    sharpmax.hf.patch(model, "entmax15")
    model.train()

    def gradients():
        model.zero_grad()
        model(tokens, attention_mask=padding["left"], labels=tokens, use_cache=False).loss.backward()
        return [part.grad.clone() for part in model.parameters()]

    wanted = gradients()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    for found, gradient in zip(gradients(), wanted):
        assert torch.allclose(found, gradient, atol=1e-7)


@pytest.mark.parametrize("normalizer", ["softmax", "entmax15", "entropy_target:nats=0.5"])
def test_it_trains_with_gradients_of_any_normalizer(normalizer, make, tokens):
    model = make("gpt2", initializer_range=0.02).train()
    sharpmax.hf.patch(model, normalizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(20):
        loss = model(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
