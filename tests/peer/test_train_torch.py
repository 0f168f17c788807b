"""A training of a tiny transformer against torch: the gradient of every step against autograd in float64, and the step itself
against torch's clipping and AdamW.

The model here is torch as anyone would write it: all places through all layers, masks, one matrix of weights for each head.
Ours computes the asked places of the last layer alone and holds no matrix of weights; in exact arithmetic they are the same.
"""
import math
import os
import pathlib
import subprocess

import entmax
import pytest
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SHARPMAX_BINARY", ROOT / "build" / "sharpmax")).parent / "tests" / "train_tool"
STEPS, HEADS, LOCAL, WINDOW, WIDTH = 5, 3, 1, 4, 8
CLIP, RATE, WARM_UP, DECAY = 0.5, 0.01, 2, 0.1
POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)


def entropy_of(scores):
    weights = torch.softmax(scores, -1)
    return -torch.special.xlogy(weights, weights).sum(-1, keepdim=True)


def adaptive(scores, _):
    with torch.no_grad():
        entropy = entropy_of(scores)
        beta = torch.zeros_like(entropy)
        for coefficient in POLYNOMIAL:
            beta = beta * entropy + coefficient
        beta = torch.where(entropy > 0.5, beta.clamp_min(1), torch.ones_like(entropy))
    return torch.softmax(beta * scores, -1)


def entropy_target(scores, _):
    """The least beta >= 1 with at most half a nat, by bisection; no gradient through it."""
    with torch.no_grad():
        low = torch.ones_like(scores[..., :1])
        high = torch.full_like(low, 2.0**40)
        meets = entropy_of(scores) <= 0.5
        for _ in range(80):
            middle = torch.where(high > 4 * low, (low * high).sqrt(), (low + high) / 2)
            sharp = entropy_of(middle * scores) <= 0.5
            low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
        beta = torch.where(meets, torch.ones_like(high), high)
    return torch.softmax(beta * scores, -1)


def scaled(scores, factor):
    """Masked scores stay masked: -inf times a number that is learned has no gradient."""
    masked = scores.isneginf()
    return (scores.masked_fill(masked, 0.0) * factor).masked_fill(masked, -math.inf)


def ssmax(scores, values):
    """values: [2, head], s and b."""
    keys = (~scores.isneginf()).sum(-1, keepdim=True).to(scores.dtype)
    return torch.softmax(scaled(scores, values[0][:, None, None] * keys.log() + values[1][:, None, None]), -1)


def asentmax(scores, values):
    """values: [4, head], alpha (which is not learned), delta, beta, gamma."""
    keys = (~scores.isneginf()).sum(-1, keepdim=True).to(scores.dtype)
    delta, beta, gamma = (value[:, None, None] for value in values[1:])
    # Masked as far below as float32 can be told apart from: entmax gives such keys nothing.
    return entmax.entmax15(scaled(scores, delta + beta * (keys + 1).log() ** gamma).clamp_min(-1e4), -1)


NORMALIZERS = {
    "softmax": ("softmax", lambda scores, _: torch.softmax(scores, -1)),
    "ssmax": ("ssmax:s=0.36", ssmax),
    "entmax15": ("entmax15", lambda scores, _: entmax.entmax15(scores.clamp_min(-1e4), -1)),
    "asentmax": ("asentmax:beta=0.1", asentmax),
    "adaptive": ("adaptive", adaptive),
    "entropy_target": ("entropy_target", entropy_target),
}


def turned(x):
    """Rotary positions of [..., place, feature], pairs of halves."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    cosine, sine = angles.cos().float().to(x.dtype), angles.sin().float().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)


def layer(x, part, weigh, values, feed_forward, local=LOCAL):
    places = x.shape[1]
    normed = torch.nn.functional.rms_norm(x, x.shape[-1:], part("attention_norm"), 1e-6)
    query = (normed @ part("query").T).unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
    key, value = (normed @ part("key_value").T).unflatten(-1, (2, HEADS, WIDTH)).permute(2, 0, 3, 1, 4)
    query = torch.cat((turned(query[:, :local]), query[:, local:]), 1)
    key = torch.cat((turned(key[:, :local]), key[:, local:]), 1)
    scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH)
    behind = torch.arange(places)[:, None] - torch.arange(places)
    near = scores[:, :local].masked_fill((behind < 0) | (behind >= WINDOW), -math.inf)
    everything = scores[:, local:].masked_fill(behind < 0, -math.inf)
    weights = torch.cat((torch.softmax(near, -1), weigh(everything, values)), 1)
    x = x + (weights @ value).transpose(1, 2).flatten(2) @ part("attention_out").T
    inner = torch.nn.functional.rms_norm(x, x.shape[-1:], part("feed_forward_norm"), 1e-6) @ part("up").T
    if feed_forward == "swiglu":
        gate, up = inner.chunk(2, -1)
        inner = torch.nn.functional.silu(gate) * up
    else:
        inner = torch.nn.functional.gelu(inner, approximate="tanh")
    return x + inner @ part("down").T


def loss_of(parameters, step, weigh, values, feed_forward):
    x = torch.nn.functional.embedding(step["tokens"].long(), parameters["embedding"]).sum(-2)
    for i in range(2):
        x = layer(x, lambda name, i=i: parameters[f"layers.{i}.{name}"], weigh, values[i], feed_forward)
    x = torch.nn.functional.rms_norm(x[:, step["places"]], x.shape[-1:], parameters["final_norm"], 1e-6)
    answers = step["answers"].long()
    logits = (x @ parameters["head"].T).unflatten(-1, (answers.shape[-1], -1))
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), answers.flatten()) * answers.shape[-1]


def gradients(step, names, weigh, feed_forward, dtype):
    parameters = {name: step[name].to(dtype).requires_grad_() for name in names}
    values = step["rule"].to(dtype).unflatten(0, (2, -1, HEADS - LOCAL))
    loss_of(parameters, step, weigh, values, feed_forward).backward()
    return torch.cat([parameters[name].grad.flatten().double() for name in names])


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def steps_of(folder, task, normalizer, feed_forward):
    subprocess.run([TOOL, task, normalizer, feed_forward, str(STEPS), str(folder)], check=True, capture_output=True)
    steps = [safetensors.torch.load_file(folder / f"{i}.safetensors") for i in range(STEPS)]
    names = [name.removeprefix("gradient.") for name in steps[0] if name.startswith("gradient.")]
    return steps, names


@pytest.mark.parametrize("task, feed_forward", [("recall", "gelu"), ("lookup", "swiglu")])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_gradients_are_those_of_autograd(tmp_path, name, task, feed_forward):
    """Against float64; the error may be twice that of torch's own float32, over all steps and parameters."""
    text, weigh = NORMALIZERS[name]
    steps, names = steps_of(tmp_path, task, text, feed_forward)
    ours = theirs = size = 0.0
    for step in steps:
        exact = gradients(step, names, weigh, feed_forward, torch.float64)
        plain = gradients(step, names, weigh, feed_forward, torch.float32)
        found = torch.cat([step[f"gradient.{name}"].flatten().double() for name in names])
        ours += float((found - exact).square().sum())
        theirs += float((plain - exact).square().sum())
        size += float(exact.square().sum())
    assert size > 0
    assert math.sqrt(ours) <= 2 * math.sqrt(theirs), (math.sqrt(ours / size), math.sqrt(theirs / size))


def test_a_step_is_torchs_clipping_and_adamw(tmp_path):
    """From our gradients: matrices decay, scales of norms do not; warm-up, then cosine."""
    steps, names = steps_of(tmp_path, "recall", "softmax", "gelu")
    parameters = {name: steps[0][name].clone().requires_grad_() for name in names}
    groups = [{"params": [p for p in parameters.values() if p.dim() == 2], "weight_decay": DECAY},
              {"params": [p for p in parameters.values() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), eps=1e-8)
    clipped = 0
    for i, step in enumerate(steps):
        for name, parameter in parameters.items():
            # Within a few roundings of values and of steps of at most the learning rate.
            bound = 8 * 2.0**-24 * (i + 1) * (step[name].abs() + RATE)
            assert ((parameter - step[name]).abs() <= bound).all(), (i, name)
            parameter.grad = step[f"gradient.{name}"].clone()
        clipped += float(torch.nn.utils.clip_grad_norm_(parameters.values(), CLIP)) > CLIP
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (i + 1) / WARM_UP) * 0.5 * (1 + math.cos(math.pi * i / STEPS))
        optimizer.step()
    assert clipped, "no step was clipped"


@pytest.mark.parametrize("feed_forward, local_layers", [("gelu", 0), ("swiglu", 1)])
def test_a_saved_model_gives_the_logits_of_the_model_that_was_trained(tmp_path, feed_forward, local_layers):
    """The folder as torch runs it, against the folder as sharpmax opens it: heads with and without positions."""
    sharpmax = pytest.importorskip("sharpmax")
    sharpmax.train("recall", keys=48, values=5, questions=6, layers=2, width=24, heads=HEADS, local_heads=LOCAL, head_width=WIDTH,
                   local_layers=local_layers, window=WINDOW, feed_forward=feed_forward, steps=20, batch=4, sizes=16, answers=64, arms="ssmax",
                   directory=tmp_path)
    folder = tmp_path / "models" / "ssmax-0"
    saved = safetensors.torch.load_file(folder / "model.safetensors")
    model = sharpmax.load_model(folder)
    tokens = model.tokenize("| " + " ".join(f"k{3 * i % 48} v{i % 5}" for i in range(20)) + " | k9")
    assert len(tokens) == 43 and tokens[:3] == [53, 0, 48] and model.detokenize(tokens).endswith("| k9")
    names = {"attention_norm": "input_layernorm", "query": "self_attn.q_proj", "attention_out": "self_attn.o_proj",
             "feed_forward_norm": "post_attention_layernorm", "down": "mlp.down_proj"}

    def part(i):
        def found(name):
            of = lambda tensor: saved[f"model.layers.{i}.{tensor}.weight"].double()  # noqa: E731
            if name == "key_value":
                return torch.cat((of("self_attn.k_proj"), of("self_attn.v_proj")))
            if name == "up" and feed_forward == "swiglu":
                return torch.cat((of("mlp.gate_proj"), of("mlp.up_proj")))
            return of(names.get(name, "mlp.up_proj"))
        return found

    x = saved["model.embed_tokens.weight"].double()[torch.tensor([tokens])]
    for i in range(2):
        x = layer(x, part(i), lambda scores, _: torch.softmax(scores, -1), None, feed_forward,
                  HEADS if i < local_layers else LOCAL)
    x = torch.nn.functional.rms_norm(x, x.shape[-1:], saved["model.norm.weight"].double(), 1e-6)
    wanted = x[0] @ saved["lm_head.weight"].double().T + saved["lm_head.bias"].double()
    found = torch.from_numpy(model.logits(tokens, cache="float32")).double()
    assert (found - wanted).abs().max() <= 1e-4 * wanted.abs().max()
    assert (saved["lm_head.bias"] == torch.tensor([-100.0] * 48 + [0.0] * 5 + [-100.0])).all()
