#!/usr/bin/env python3
"""A real model beside llama.cpp, each contender in a process of its own, in rounds; what they predict is compared first.

    bench/model/compare.py -o build/bench-model.json     one thread, then two
    bench/model/compare.py --quick --threads 1           shorter
    bench/model/compare.py --check-only                  compare predictions, time nothing
    bench/model/compare.py --model FILE                  another file, such as one of requantize.py
    bench/model/compare.py --case generate/n512 --join -o FILE    measure these, keep the other cases that FILE has
    bench/model/compare.py --only "sharpmax;llama.cpp"            only these contenders
    bench/model/compare.py --llama-cpp FOLDER            also the build of llama.cpp that npm's node-llama-cpp
                                                         installs: its bins/linux-x64

The model is SmolLM2, the text Shakespeare: what `make model` fetches. docs/design/benchmarks.md says how it
measures; bench/table.py makes the table from the result.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import comparison  # noqa: E402
import environment  # noqa: E402
import measure  # noqa: E402
import process  # noqa: E402
import rounds  # noqa: E402
from measure import Case, Contender, turn_of  # noqa: E402

sys.path.insert(0, str(environment.REPOSITORY / "tests/peer"))

import fetched  # noqa: E402
import llama_cpp  # noqa: E402

NAME = "bench/model/compare.py"
SCHEMA = "sharpmax.bench.model/1"
THOROUGH = rounds.Effort(seconds=60.0, least_rounds=7, most_rounds=51, slow_seconds=1e9)
QUICK = rounds.Effort(seconds=5.0, least_rounds=3, most_rounds=9, slow_seconds=1e9)
TINY = rounds.Effort(seconds=0.1, least_rounds=2, most_rounds=2, slow_seconds=1e9)

STEPS = environment.REPOSITORY / "build" / "bench" / "model_steps"
SERVE = pathlib.Path(__file__).resolve().parent / "llama_serve.py"
PATIENCE = 600.0  # seconds for one answer

# label -> options; 16-bit caches are llama.cpp's default.
OURS = {
    "sharpmax": ["--cache", "f16"],
    "sharpmax, int16 products": ["--cache", "f16", "--products", "int16"],
    "sharpmax, float32 cache": ["--cache", "f32"],
    "sharpmax, adaptive": ["--cache", "f16", "--normalizer", "adaptive"],
}
BEST_BUILD = "llama.cpp, best build for the processor"
LLAMA = {
    "llama.cpp": ["--flash-attention", "on"],
    "llama.cpp, without flash attention": ["--flash-attention", "off"],
}

# Both round weights and activations in ways of their own, so predictions agree within limits, not bit by bit:
# llama.cpp's own answers one by one and in batches name another token first for some 4 %.
LOSS_ALLOWED = 0.01  # nats, of the mean
OTHERS_FIRST_ALLOWED = 0.05  # of the tokens

SIZES = {"full": {"checked": 1024, "prompt": (512, 2048), "generate": (512, 4096), "count": 16},
         "tiny": {"checked": 32, "prompt": (16,), "generate": (16,), "count": 2}}  # fmt: skip
START_PROMPT = 16


def parse_arguments():
    parser = comparison.parser_of(__doc__)
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing: to try the harness itself")
    parser.add_argument("--models", type=pathlib.Path, default=fetched.FOLDER, help="where `make model` put them")
    parser.add_argument("--model", type=pathlib.Path, help="model file (default: SmolLM2 as it was fetched)")
    comparison.add_join(parser)
    parser.add_argument("--only", help="contenders, joined by ';'; the first of llama.cpp's is the reference (default: all)")
    parser.add_argument("--llama-cpp", type=pathlib.Path, metavar="FOLDER", help="folder with another libllama")
    arguments = parser.parse_args()
    if arguments.llama_cpp:
        LLAMA[BEST_BUILD] = ["--flash-attention", "on", "--library", arguments.llama_cpp]
    if arguments.only:
        chosen = arguments.only.split(";")
        unknown = [label for label in chosen if label not in OURS and label not in LLAMA]
        if unknown or not any(label in LLAMA for label in chosen) or "sharpmax" not in chosen:
            parser.error(f"--only needs sharpmax and one of llama.cpp's; there are {'; '.join((*OURS, *LLAMA))}")
        for known in (OURS, LLAMA):
            for label in [label for label in known if label not in chosen]:
                del known[label]
    arguments.threads = environment.checked_threads(arguments.threads, parser)
    return arguments


class Stage:
    """The processes of one number of threads, all with the same tokens."""

    def __init__(self, model, tokens, threads, folder, capacity):
        self.model, self.tokens, self.threads, self.folder = model, tokens, threads, folder
        self.common = ["--model", model, "--threads", threads, "--capacity", capacity]
        self.processes = {}

    def start(self, label):
        if label in OURS:
            command = [STEPS, *self.common, *OURS[label]]
        else:
            command = [sys.executable, SERVE, *self.common, *LLAMA[label]]
        started = process.start(label, command, self.threads, PATIENCE)
        started.ask("tokens", self.tokens)
        return started

    def start_all(self):
        for label in (*OURS, *LLAMA):
            self.processes[label] = self.start(label)

    def close(self):
        for started in self.processes.values():
            started.close()

    def predictions(self, label, count):
        """(losses, likeliest tokens)"""
        path = self.folder / "losses.txt"
        self.processes[label].ask("losses", count, path)
        rows = [line.split() for line in path.read_text().splitlines()]
        return [float(loss) for loss, _ in rows], [int(token) for _, token in rows]


def compare_predictions(stage, count):
    """label -> facts; the first of llama.cpp's answers is the reference. Another normalizer predicts other things."""
    reference_losses, reference_first = stage.predictions(next(iter(LLAMA)), count)
    mean = sum(reference_losses) / len(reference_losses)
    found = {}
    for label in stage.processes:
        losses, first = stage.predictions(label, count)
        agree = sum(a == b for a, b in zip(first, reference_first)) / len(first)
        off = sum(losses) / len(losses) - mean
        error = max(abs(off) / LOSS_ALLOWED, (1 - agree) / OTHERS_FIRST_ALLOWED)
        comparable = label != "sharpmax, adaptive"
        found[label] = {"loss": mean + off, "same_first": agree, "error": error if comparable else None}
        comparison.say(f"  {label:<36} loss {mean + off:.4f}, the same token first for {100 * agree:.1f} %")
    return found


def cases_of(stage, size, predictions):
    def timed(label, *request):
        error = predictions[label]["error"]
        asked = stage.processes[label]
        check = (lambda: error) if error is not None else None
        return Contender(label, label, turn_of(lambda: asked.ask(*request)), check)

    def case(name, facts, *request):
        return Case(f"model/{name}", [timed(label, *request) for label in stage.processes], facts)

    for count in size["prompt"]:
        yield case(f"prompt/n{count}", {"tokens": count}, "prompt", count)
    for length in size["generate"]:
        yield case(f"generate/n{length}", {"tokens": size["count"], "context": length}, "generate", length, size["count"])


def start_case(stage, effort):
    """Opening the file to the first logits after a short prompt, in a process of its own each time; what a
    process does before it opens the file is not counted."""

    def turn(label):
        started = stage.start(label)
        opened = float(started.version.split()[-1])
        seconds = measure.seconds_of(lambda: started.ask("prompt", START_PROMPT))
        started.close()
        return opened + seconds

    contenders = [Contender(label, label, lambda _, label=label: turn(label)) for label in ("sharpmax", "llama.cpp")]
    case = Case("model/start", contenders, {"tokens": START_PROMPT})
    return measure.run_case(case, effort.of_rounds(effort.least_rounds), None, comparison.say) | {"warm": False}


def memory_case(stage, size):
    """Peak of a process of its own over what it had before the model, after the longest generation."""
    grown = {}
    for label in ("sharpmax", "sharpmax, float32 cache", "llama.cpp"):
        started = stage.start(label)
        started.ask("generate", max(size["generate"]), size["count"])
        peak, before = (int(word) for word in started.ask("memory"))
        grown[label] = peak - before
        started.close()
        comparison.say(f"  {label:<36} {grown[label] / 2**20:.0f} MiB")
    return {"case": "model/memory", "facts": {"context": max(size["generate"])}, "checks": [], "skipped": [],
            "bytes": grown}  # fmt: skip


def run_threads(threads, arguments, model, tokens, folder):
    comparison.say(f"== {threads} thread{'s' if threads > 1 else ''}")
    effort = TINY if arguments.tiny else QUICK if arguments.quick else THOROUGH
    size = SIZES["tiny" if arguments.tiny else "full"]
    stage = Stage(model, tokens, threads, folder, max(size["generate"]) + 256)
    run = {"threads": threads, "machine": environment.machine_facts(), "cases": []}
    try:
        stage.start_all()
        run["machine"]["target"] = stage.processes["sharpmax"].version.split()[0]
        run["versions"] = {}
        if "llama.cpp" in stage.processes:
            run["versions"]["llama.cpp (xllamacpp)"] = stage.processes["llama.cpp"].version.split()[0]
        if BEST_BUILD in stage.processes:
            run["versions"]["llama.cpp (node-llama-cpp)"] = stage.processes[BEST_BUILD].version.split()[0]
        run["predictions"] = compare_predictions(stage, size["checked"])
        for case in cases_of(stage, size, run["predictions"]):
            if arguments.case in case.name:
                run["cases"].append(measure.run_case(case, effort, None, comparison.say, arguments.check_only))
    finally:
        stage.close()
    if not arguments.check_only and not arguments.case and not arguments.only:
        run["cases"].append(start_case(stage, effort))
        if threads == arguments.threads[0]:
            run["cases"].append(memory_case(stage, size))
    return run


def write_tokens(arguments, folder):
    """(model, file of tokens): the text as llama.cpp tokenizes it, so that everyone reads the same."""
    model = arguments.model or arguments.models / "SmolLM2-135M-Instruct.Q4_1.gguf"
    text = arguments.models / "shakespeare.txt"
    for path in (model, text):
        if not path.exists():
            sys.exit(f"{NAME}: {path} does not exist; `make model` fetches it")
    with llama_cpp.Model(model, vocab_only=True) as vocabulary:
        tokens = vocabulary.tokenize(text.read_bytes()[:40000])
    path = folder / "tokens.txt"
    path.write_text(" ".join(str(token) for token in tokens))
    return model, path


def main():
    arguments = parse_arguments()
    result = comparison.begun(SCHEMA, arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            model, tokens = write_tokens(arguments, folder)
        except llama_cpp.LlamaError as error:
            sys.exit(f"{NAME}: {error}")
        result["model"] = model.name
        earlier = comparison.earlier_runs(NAME, result, arguments, ["model"])
        result["runs"] = [run for threads, run in earlier.items() if threads not in arguments.threads]

        def run(threads):
            measured = run_threads(threads, arguments, model, tokens, folder)
            return comparison.joined(NAME, measured, earlier[threads]) if threads in earlier else measured

        failures = (process.Failed, llama_cpp.LlamaError)
        return comparison.run_all(NAME, result, arguments, run, failures)


if __name__ == "__main__":
    sys.exit(main())
