"""The command line as a user meets it: what it computes, what it says, how it ends."""
import json
import math
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest
from waiting import catches, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SHARPMAX_BINARY", str(ROOT / "build" / "sharpmax"))
SEED = 20240607


def run(*arguments, cwd=None, env=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, **(env or {})})


def run_json(*arguments, cwd=None):
    done = run(*arguments, "--json", "-", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(code, *arguments, cwd=None):
    """One sentence on stderr, nothing on stdout, the right exit code; returns the sentence."""
    done = run(*arguments, cwd=cwd)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("sharpmax: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def softmax_attention(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        queries, keys = scores.shape[-2:]
        scores = np.where(np.tri(queries, keys, keys - queries, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights


@pytest.fixture
def arrays(tmp_path):
    random = np.random.default_rng(SEED)
    made = {"query": random.normal(size=(2, 4, 7, 16)), "key": random.normal(size=(2, 4, 9, 16)),
            "value": random.normal(size=(2, 4, 9, 16))}
    for name, array in made.items():
        np.save(tmp_path / f"{name}.npy", array.astype(np.float32))
    np.savez(tmp_path / "all.npz", **{name: array.astype(np.float32) for name, array in made.items()})
    return tmp_path, made


FILES = ("--query", "query.npy", "--key", "key.npy", "--value", "value.npy")


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_output_is_numpys_attention_in_the_rank_that_was_given(arrays, rank):
    folder, made = arrays
    given = {n: a[(0,) * (4 - rank)].astype(np.float32) for n, a in made.items()}
    for name, array in given.items():
        np.save(folder / f"{name}.npy", array)
    assert run("attend", *FILES, "--causal", "-o", "out.npy", cwd=folder).returncode == 0
    out = np.load(folder / "out.npy")
    wanted, _ = softmax_attention(*(given[n].astype(np.float64) for n in ("query", "key", "value")), causal=True)
    assert out.dtype == np.float32 and out.shape == wanted.shape
    np.testing.assert_allclose(out, wanted, atol=2e-6)


def test_an_archive_compressed_or_not_gives_the_same_bytes_as_files(arrays):
    folder, made = arrays
    np.savez_compressed(folder / "small.npz", **{n: a.astype(np.float32) for n, a in made.items()})
    for arguments, out in (FILES, "a.npy"), (("--arrays", "all.npz"), "b.npy"), (("--arrays", "small.npz"), "c.npy"):
        assert run("attend", *arguments, "-o", out, cwd=folder).returncode == 0
    assert (folder / "a.npy").read_bytes() == (folder / "b.npy").read_bytes() == (folder / "c.npy").read_bytes()


@pytest.mark.parametrize("name,tolerance", [("float64", 1e-14), ("float16", 2e-3), ("bfloat16", 2e-2)])
def test_every_type_is_read_and_written_back(arrays, name, tolerance):
    folder, made = arrays
    flags = ["--bf16"] if name == "bfloat16" else []
    read = {}
    for n, a in made.items():
        if name == "bfloat16":
            bits = (a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            np.save(folder / f"{n}.npy", bits)
            read[n] = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        else:
            np.save(folder / f"{n}.npy", a.astype(name))
            read[n] = a.astype(name).astype(np.float64)
    assert run("attend", *FILES, *flags, "-o", "out.npy", cwd=folder).returncode == 0
    out = np.load(folder / "out.npy")
    if name == "bfloat16":
        assert out.dtype == np.uint16
        out = (out.astype(np.uint32) << 16).view(np.float32)
    else:
        assert out.dtype == np.dtype(name)
    wanted, _ = softmax_attention(read["query"], read["key"], read["value"])
    np.testing.assert_allclose(out.astype(np.float64), wanted, atol=tolerance)


def test_fortran_order_is_understood(arrays):
    folder, made = arrays
    assert run("attend", *FILES, "-o", "c.npy", cwd=folder).returncode == 0
    for n, a in made.items():
        np.save(folder / f"{n}.npy", np.asfortranarray(a.astype(np.float32)))
    assert run("attend", *FILES, "-o", "f.npy", cwd=folder).returncode == 0
    assert (folder / "c.npy").read_bytes() == (folder / "f.npy").read_bytes()


def test_masks_windows_lengths_and_documents_arrive(arrays):
    folder, made = arrays
    q, k, v = (made[n].astype(np.float32).astype(np.float64) for n in ("query", "key", "value"))
    np.save(folder / "mask.npy", np.tile(np.arange(9) < 5, (7, 1)))
    np.save(folder / "bias.npy", np.where(np.arange(9) < 5, 0, -np.inf).astype(np.float32)[None, :])
    wanted, _ = softmax_attention(q, k[:, :, :5], v[:, :, :5])
    for flags in (["--mask", "mask.npy"], ["--bias", "bias.npy"], ["--key-lengths", "5,5"]):
        assert run("attend", *FILES, *flags, "-o", "out.npy", cwd=folder).returncode == 0
        np.testing.assert_allclose(np.load(folder / "out.npy"), wanted, atol=2e-6, err_msg=str(flags))
    # Aligned bottom-right: a window of nothing to either side is query i's own key, i + 2.
    assert run("attend", *FILES, "--window", "0,0", "-o", "out.npy", cwd=folder).returncode == 0
    np.testing.assert_allclose(np.load(folder / "out.npy"), v[:, :, 2:], atol=1e-6)
    done = run("attend", *FILES, "--documents", "0,3,7", "--key-documents", "0,4,9", "-o", "out.npy", cwd=folder)
    assert done.returncode == 0, done.stderr
    first, _ = softmax_attention(q[:, :, :3], k[:, :, :4], v[:, :, :4])
    np.testing.assert_allclose(np.load(folder / "out.npy")[:, :, :3], first, atol=2e-6)


def test_soft_cap_arrives_and_nonsense_is_refused(arrays):
    folder, made = arrays
    done = run("attend", *FILES, "--soft-cap", 0.7, "-o", "out.npy", cwd=folder)
    assert done.returncode == 0, done.stderr
    scores = 0.7 * np.tanh(made["query"] @ made["key"].swapaxes(-1, -2) / 4 / 0.7)
    weights = np.exp(scores)
    wanted = weights / weights.sum(-1, keepdims=True) @ made["value"]
    np.testing.assert_allclose(np.load(folder / "out.npy"), wanted, atol=1e-5)
    assert "soft_cap is -1; expected a finite number" in refused(2, "attend", *FILES, "--soft-cap=-1", cwd=folder)
    linear = ("attend", *FILES, "--normalizer", "linear", "--soft-cap", 1)
    assert "linear has no scores to cap" in refused(2, *linear, cwd=folder)


def test_statistics_are_those_of_the_weights(arrays):
    folder, made = arrays
    done = run_json("attend", *FILES, "--normalizer", "softmax", "--normalizer", "entmax15", "--statistics",
                    "--statistics-out", "s.npz", "--map", "3x2", "--top", 4, "-o", "o.npz", cwd=folder)
    _, weights = softmax_attention(*(made[n].astype(np.float32).astype(np.float64) for n in ("query", "key", "value")))
    rows = np.load(folder / "s.npz")
    entropy = -(weights * np.log(weights)).sum(-1)
    np.testing.assert_allclose(rows["softmax/entropy"], entropy, rtol=1e-5)
    np.testing.assert_allclose(rows["softmax/column_mass"], weights.sum(2), rtol=1e-5)
    np.testing.assert_array_equal(rows["softmax/peak_key"], weights.argmax(-1))
    np.testing.assert_allclose(rows["softmax/top_weights"], -np.sort(-weights, -1)[..., :4], rtol=1e-5)
    assert rows["softmax/map"].shape == (2, 4, 3, 2)
    np.testing.assert_allclose(rows["softmax/map"].sum((2, 3)), 7, rtol=1e-5)
    assert rows["entmax15/support"].min() >= 1
    assert set(np.load(folder / "o.npz").files) == {"softmax", "entmax15"}
    assert done["schema"] == "sharpmax.attend/1"
    head = done["results"][0]["heads"][1]
    assert head["rows"] == 14
    np.testing.assert_allclose(head["entropy"]["median"], np.median(entropy[:, 1]), rtol=1e-5)
    np.testing.assert_allclose(head["peak_weight"]["max"], weights.max(-1)[:, 1].max(), rtol=1e-5)


def test_masked_rows_are_counted_not_averaged(arrays):
    folder, _ = arrays
    np.save(folder / "mask.npy", np.arange(7)[:, None] * np.ones(9) > 2)
    head = run_json("attend", *FILES, "--mask", "mask.npy", "--statistics", cwd=folder)["results"][0]["heads"][0]
    assert head["rows"] == 14 and head["masked_rows"] == 6
    assert head["peak_weight"]["min"] > 0


def test_backward_agrees_with_finite_differences(arrays):
    folder, made = arrays
    for n, a in made.items():
        np.save(folder / f"{n}.npy", a)
    d_out = np.random.default_rng(SEED + 1).normal(size=(2, 4, 7, 16))
    np.save(folder / "d.npy", d_out)
    assert run("attend", *FILES, "--normalizer", "softmax:beta=1", "--backward", "d.npy", "--gradients-out", "g.npz",
               cwd=folder).returncode == 0
    gradients = np.load(folder / "g.npz")
    step = 1e-6
    for name in ("query", "key", "value"):
        moved = {n: a.copy() for n, a in made.items()}
        moved[name][1, 2, 3, 4] += step
        up = (softmax_attention(moved["query"], moved["key"], moved["value"])[0] * d_out).sum()
        moved[name][1, 2, 3, 4] -= 2 * step
        down = (softmax_attention(moved["query"], moved["key"], moved["value"])[0] * d_out).sum()
        key = next(k for k in gradients.files if k.endswith("/" + name))
        assert gradients[key][1, 2, 3, 4] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-8)


def test_list_names_the_whole_family():
    data = run_json("attend", "--list")
    assert data["schema"] == "sharpmax.attend.list/1"
    names = [n["name"] for n in data["normalizers"]]
    assert len(names) == len(set(names)) == 19
    assert {"softmax", "adaptive", "entropy_target", "entmax", "linear"} <= set(names)
    for normalizer in data["normalizers"]:
        assert normalizer["formula"] and normalizer["peak_as_n_grows"]
        for parameter in normalizer["parameters"]:
            assert {"name", "default", "domain", "learnable", "choices"} <= set(parameter)


def test_demo_shows_softmax_letting_go_and_entropy_target_holding():
    data = run_json("attend", "--demo", "--sizes", "16,1024,16384")
    assert data["schema"] == "sharpmax.attend.demo/1"
    found = {(r["normalizer"], r["n"]): r for r in data["rows"]}
    assert len(found) == 19 * 3
    assert found["softmax", 16]["needle_share"] > 0.9
    assert found["softmax", 16384]["needle_share"] < 0.2
    for n in (16, 1024, 16384):
        row = found["entropy_target", n]
        assert row["entropy"] <= 0.5 * (1 + 1e-6)
        assert row["peak_weight"] >= math.exp(-0.5) * (1 - 1e-6)
        assert row["peak_key"] == row["needle_key"] == n // 2
    assert found["adaptive", 16384]["temperature"] == 1.0
    # The row as the text describes it: the needle e^8, the others e^(N(0, 1)), of mean e^(1/2).
    expected = math.exp(8) / (math.exp(8) + 16383 * math.exp(0.5))
    assert found["softmax", 16384]["needle_share"] == pytest.approx(expected, rel=0.05)


def test_demo_is_the_same_for_any_number_of_threads_and_differs_by_seed():
    def rows(*more, **options):
        return json.loads(run("attend", "--demo", "--sizes", "4096", "--json", "-", *more, **options).stdout)["rows"]

    one = rows("--threads", 1)
    assert one == rows("--threads", 2)
    assert one == rows(env={"OMP_NUM_THREADS": "1"})
    assert one != rows("--seed", 2)


@pytest.mark.parametrize("arguments", [("--help",), ("attend", "--help"), ("bench", "--help"), ("attend", "--list"),
                                       ("attend", "--demo", "--sizes", "16,64,256,1024,4096,8192,16384,32768,65536"),
                                       ("--version", "--verbose")], ids=" ".join)
def test_everything_fits_80_columns_and_has_no_colour_in_a_pipe(arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 80 or line != line.rstrip()] == []


def test_statistics_table_fits_80_columns(arrays):
    done = run("attend", *FILES, "--normalizer", "entropy_target:nats=0.5", cwd=arrays[0])
    assert done.returncode == 0 and "entropy" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_colour_on_a_terminal_unless_no_color():
    import pty

    def on_terminal(env):
        leader, follower = pty.openpty()
        process = subprocess.Popen([BINARY, "attend", "--list"], stdout=follower, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TERM": "xterm", **env})
        os.close(follower)
        seen = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        process.wait()
        os.close(leader)
        return seen

    assert b"\x1b[1m" in on_terminal({"NO_COLOR": ""})
    assert b"\x1b" not in on_terminal({"NO_COLOR": "1"})


def test_version_tells_what_it_was_built_with():
    data = run_json("--version")
    assert data["version"].count(".") == 2
    assert data["target"] in data["targets_available"]
    assert data["blas"].startswith("OpenBLAS ") and data["threads"] >= 1
    assert data["blas"].split() == run("--version", "--verbose").stdout.partition("BLAS ")[2].partition("threads")[0].split()
    assert run("--version").stdout == f"sharpmax {data['version']}\n"


@pytest.mark.parametrize("arguments,words", [
    (("--nonsense",), "--nonsense"),
    (("attend", "--nonsense"), "--nonsense"),
    (("attend",), "--query is missing"),
    (("attend", "--demo", "--list"), "two different things"),
    (("attend", "--demo", "-o", "x.npy"), "-o is 'x.npy'; it writes the report, a page"),
    (("attend", "--list", "-o", "x.html"), "--output does not go with --list"),
    (("attend", "--figures", "x"), "--figures goes with --demo"),
    (("attend", "--list", "--figures", "x"), "--figures goes with --demo"),
    (("attend", "--list", "--causal"), "does not go with --list"),
    (("attend", "--seed", "3"), "goes with --demo"),
    (("attend", "--demo", "--sizes", "0"), "1 to"),
    (("attend", "--demo", "--sizes", "12,x"), "'12,x'"),
    (("attend", "--demo", "--normalizer", "softmaks"), "softmaks"),
    (("attend", "--demo", "--normalizer", "entmax:alpha=0"), "alpha"),
    (("attend", "--demo", "--normalizer", "hard", "--normalizer", "hard"), "twice"),
    (("attend", "--demo", "--threads", "0"), "threads"),
    (("bench", "--directions", "sideways"), "sideways"),
    (("bench", "--heads", "12", "--kv-heads", "5"), "does not divide"),
], ids=lambda a: " ".join(a) if isinstance(a, tuple) else None)
def test_wrong_usage_is_one_sentence_and_exit_2(arguments, words):
    assert words in refused(2, *arguments)


def test_arrays_that_do_not_fit_are_named(arrays):
    folder, made = arrays
    np.save(folder / "key.npy", made["key"][..., :8].astype(np.float32))
    assert "16" in (sentence := refused(2, "attend", *FILES, "-o", "o.npy", cwd=folder)) and "8" in sentence
    assert not (folder / "o.npy").exists()
    np.save(folder / "query.npy", np.zeros(3, np.float32))
    assert "query has 1 dimension; expected 2, 3 or 4" in refused(2, "attend", *FILES, cwd=folder)
    np.save(folder / "query.npy", np.zeros((3, 4), np.uint16))
    assert "--bf16" in refused(2, "attend", *FILES, cwd=folder)
    np.save(folder / "mask.npy", np.float64(1))
    np.save(folder / "query.npy", made["query"].astype(np.float32))
    assert "mask" in refused(2, "attend", *FILES, "--mask", "mask.npy", cwd=folder)


def test_bad_files_are_exit_3_and_name_the_byte(arrays):
    folder, _ = arrays
    whole = (folder / "query.npy").read_bytes()
    (folder / "query.npy").write_bytes(whole[:-1])
    assert "at byte 128" in refused(3, "attend", *FILES, cwd=folder)
    (folder / "query.npy").write_bytes(b"")
    assert "empty" in refused(3, "attend", *FILES, cwd=folder)
    (folder / "query.npy").unlink()
    assert "No such file" in refused(3, "attend", *FILES, cwd=folder)
    assert "No such file" in refused(3, "attend", "--arrays", "none.npz", cwd=folder)
    np.savez(folder / "part.npz", query=np.zeros((2, 2), np.float32))
    assert "no array named key" in refused(3, "attend", "--arrays", "part.npz", cwd=folder)
    np.savez(folder / "more.npz", quary=np.zeros((2, 2), np.float32))
    assert "'quary'" in refused(3, "attend", "--arrays", "more.npz", cwd=folder)


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(arrays):
    folder, _ = arrays
    assert "No space left" in refused(3, "attend", *FILES, "-o", "/dev/full", cwd=folder)
    assert "No such file" in refused(3, "attend", *FILES, "-o", "nowhere/o.npy", cwd=folder)
    (folder / "kept").mkdir()
    assert "directory" in refused(3, "attend", *FILES, "-o", "kept", cwd=folder)
    before = sorted(p.name for p in folder.iterdir())
    (folder / "o.npy").write_text("earlier")
    refused(2, "attend", *FILES, "--normalizer", "softmax", "--normalizer", "hard", "-o", "o.npy", cwd=folder)
    assert (folder / "o.npy").read_text() == "earlier"
    assert sorted(p.name for p in folder.iterdir()) == sorted(before + ["o.npy"])


def test_output_through_a_link_replaces_what_it_points_to(arrays):
    folder, _ = arrays
    (folder / "real.npy").write_text("earlier")
    (folder / "link.npy").symlink_to("real.npy")
    assert run("attend", *FILES, "-o", "link.npy", "--overwrite", cwd=folder).returncode == 0
    assert (folder / "link.npy").is_symlink()
    assert np.load(folder / "real.npy").shape == (2, 4, 7, 16)


def test_a_full_disk_behind_stdout_is_reported():
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "attend", "--list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "No space left" in done.stderr


def test_a_reader_that_leaves_early_causes_no_noise():
    process = subprocess.Popen([BINARY, "attend", "--demo", "--sizes", "16384"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


def test_an_interrupt_is_exit_130():
    process = subprocess.Popen([BINARY, "attend", "--demo", "--sizes", "4194304"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert wait_until(lambda: catches(process, signal.SIGINT), process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130 and out == b""
    assert err == b"sharpmax: interrupted; the demonstration has no --resume, and its rows so far are lost\n"


def test_bench_checks_outputs_and_reports_fractions():
    data = run_json("bench", "--keys", "64", "--heads", "2", "--rounds", "2", "--directions", "forward,backward,decode")
    assert data["schema"] == "sharpmax.bench/1"
    assert len(data["rows"]) == 12
    for row in data["rows"]:
        assert 0 <= row["error_over_bound"] <= 1
        assert row["seconds"] > 0 and 0 < row["fraction_of_fma_peak"] < 1.2


def family_names():
    return [n["name"] for n in json.loads(run("attend", "--list", "--json", "-").stdout)["normalizers"]]


def test_every_normalizer_is_right_when_no_statistics_are_asked_for():
    """Which plan runs depends on what is asked: bench asks for the temperature alone, attend -o for nothing."""
    names = family_names()
    done = run("bench", "--keys", "64", "--heads", "2", "--rounds", "1", "--directions", "forward,decode", "--json", "-",
               *(word for name in names for word in ("--normalizer", name)))
    assert done.returncode == 0, done.stderr
    timed = {(row["direction"], row["normalizer"].split(":")[0]) for row in json.loads(done.stdout)["rows"]}
    assert timed == {(direction, name) for direction in ("forward", "decode") for name in names}


@pytest.mark.parametrize("normalizer", ["top_k", "entmax:alpha=1/1.5/1/2", "asentmax:alpha=1/2/1/1.5"])
def test_float32_agrees_with_float64_whatever_the_first_head_or_a_row_of_one_key_would_do(tmp_path, normalizer):
    random = np.random.default_rng(SEED)
    made = {n: random.normal(size=(4, 64, 32)).astype(np.float32) for n in ("query", "key", "value")}
    out = {}
    for kind in ("float32", "float64"):
        for n, a in made.items():
            np.save(tmp_path / f"{n}.npy", a.astype(kind))
        assert run("attend", *FILES, "--normalizer", normalizer, "-o", "o.npy", cwd=tmp_path).returncode == 0
        out[kind] = np.load(tmp_path / "o.npy").astype(np.float64)
    np.testing.assert_allclose(out["float32"], out["float64"], atol=1e-4)
