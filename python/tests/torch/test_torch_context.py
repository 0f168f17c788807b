"""A sequence in shards over processes: gloo, forward and backward, every normalizer, as one process has it."""

import os
import pathlib
import subprocess
import sys

import pytest
import sharpmax

torch = pytest.importorskip("torch")
import sharpmax.torch as st

RULES = [*(member["name"] for member in sharpmax.family()), "entropy_target:nats=2,gradient=full", "softmax:beta=2"]
# Lengths of all shards; those of keys may be others than those of queries.
SHARDS = {2: [9, 4], 3: [5, 1, 7]}
CASES = [
    {"is_causal": True},
    {"causal": "bottom-right", "window": (5, 0), "soft_cap": 3.0},
    {"masked": True},
]


def case_tensors(length, dtype):
    generator = torch.Generator().manual_seed(5)
    shapes = [(2, 4, length, 8), (2, 2, length, 8), (2, 2, length, 6), (2, 4, length, 6)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def run_case(case, rule, tensors, group=None, rows=slice(None)):
    """Output, entropy and gradients."""
    options = dict(case)
    leaves = [tensor.clone().requires_grad_() for tensor in tensors[:3]]
    if options.pop("masked", False):
        if rule == "linear":
            return None
        length = sum(SHARDS[torch.distributed.get_world_size()]) if group is not None else leaves[1].shape[-2]
        options["attn_mask"] = torch.linspace(-1, 1, length * length, dtype=tensors[0].dtype).reshape(length, length)[
            rows
        ]
    if rule == "linear":
        options.pop("soft_cap", None)
    if group is not None:
        options["group"] = group
    out, stats = st.attention(*leaves, enable_gqa=True, normalizer=rule, return_stats=("entropy", "support"), **options)
    out.backward(tensors[3])
    return [out.detach(), stats.entropy, stats.support, *(leaf.grad for leaf in leaves)]


def rank_main(folder, rank, ranks):
    """What one process of the group does: its part of every case, into a file."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    group, shards = torch.distributed.group.WORLD, SHARDS[ranks]
    first = sum(shards[:rank])
    rows = slice(first, first + shards[rank])
    found = {}
    for dtype in (torch.float32, torch.float64):
        own = [tensor[..., rows, :].contiguous() for tensor in case_tensors(sum(shards), dtype)]
        for number, case in enumerate(CASES):
            for rule in RULES:
                found[str(dtype), number, rule] = run_case(case, rule, own, group, rows)
    found["sentences"] = sentences(group, rank)
    torch.save(found, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def sentences(group, rank):
    """What bad input gets, on this rank."""

    def said(call):
        try:
            call()
        except (ValueError, TypeError) as error:
            return str(error)
        return "not refused"

    def tensor(features=8, length=4):
        return torch.zeros(1, 1, length, features)

    return {
        "shapes": said(lambda: st.attention(tensor(), tensor(), tensor(6 + rank), group=group)),
        "rules": said(lambda: st.attention(*[tensor()] * 3, normalizer="hard" if rank else "softmax", group=group)),
        "lengths": said(lambda: st.attention(*[tensor()] * 3, key_lengths=[3], group=group)),
        "window": said(lambda: st.attention(*[tensor()] * 3, window=(3, 3), group=group)),
        "map": said(lambda: st.attention(*[tensor()] * 3, return_stats={"map": (2, 2)}, group=group)),
        "group": said(lambda: st.attention(*[tensor()] * 3, group="world")),
    }


@pytest.fixture(scope="module", params=SHARDS)
def answers(request, tmp_path_factory):
    """The number of processes, and what each of them has found."""
    ranks, folder = request.param, tmp_path_factory.mktemp("context")
    words = [sys.executable, __file__, str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([*words, str(rank), str(ranks)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    return ranks, [torch.load(folder / f"{rank}.pt") for rank in range(ranks)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_shards_have_the_outputs_statistics_and_gradients_of_one_process(answers, dtype):
    ranks, parts = answers
    whole = case_tensors(sum(SHARDS[ranks]), dtype)
    # float32: sums of at most 13 products of values of size 1, in another order than one process has them.
    tolerance = {"rtol": 0.0, "atol": 1e-12 if dtype == torch.float64 else 64 * 2.0**-24}
    for number, case in enumerate(CASES):
        for rule in RULES:
            expected = run_case(case, rule, whole)
            own = [part[str(dtype), number, rule] for part in parts]
            if expected is None:
                assert own == [None] * ranks
                continue
            for which, wanted in enumerate(expected):
                found = torch.cat([part[which] for part in own], dim=-1 if which in (1, 2) else -2)
                largest = max(1.0, float(wanted.abs().max()))
                close = torch.allclose(found / largest, wanted / largest, equal_nan=True, **tolerance)
                assert close, (rule, case, which, float((found - wanted).abs().max()) / largest)


def test_mistakes_get_one_sentence_on_all_ranks(answers):
    _, parts = answers
    said = parts[0]["sentences"]
    assert all(part["sentences"] == said for part in parts)
    assert said["shapes"].startswith("shards must agree: rank 0 has query float32 [1, 1, *, 8]")
    assert said["rules"].startswith("shards must agree: rank 0 has") and "hard" in said["rules"]
    assert said["lengths"] == "key_lengths and documents do not go with group; use attn_mask"
    assert "only under a causal mask" in said["window"]
    assert "statistics of rows" in said["map"]
    assert said["group"] == "group is a str; it must be a process group of torch.distributed"


def test_a_group_needs_torch_distributed():
    tensor = torch.zeros(1, 1, 4, 8)
    with pytest.raises(ValueError, match="torch.distributed is not initialized"):
        st.attention(tensor, tensor, tensor, group=object())


if __name__ == "__main__":
    rank_main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
