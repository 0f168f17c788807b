// The family's own C++, compiled to WebAssembly: src/playground/playground.h is what it offers. The page carries it as gzip in base64,
// and unpacks it when it is first wanted. In it are also parts of musl (MIT, (c) 2005-2020 Rich Felker, et al.), of LLVM's
// libc++ (Apache 2.0 with LLVM exceptions) and {fmt} (MIT, (c) 2012 - present, Victor Zverovich).

const kNoModule = "The playground was left out: this build had no emcc (scripts/setup installs it).";
const kNoWebAssembly = "The playground runs as WebAssembly, which this browser does not have or does not allow.";

let startedModule = null;

// A promise of {family, statistics, largestRow, problemOf, weigh}; rejected with an Error to show where there is none.
function playgroundModule() {
  startedModule ??= startModule();
  return startedModule;
}

function playgroundCode() {
  return document.getElementById("playground-code").textContent.trim();
}

function hasPlaygroundCode() {
  return playgroundCode() !== "";
}

async function startModule() {
  if (!hasPlaygroundCode()) throw new Error(kNoModule);
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") throw new Error(kNoWebAssembly);
  try {
    const {instance} = await WebAssembly.instantiate(await unpacked(playgroundCode()), {wasi_snapshot_preview1: {proc_exit: ended}});
    instance.exports._initialize();
    return moduleOf(instance.exports);
  } catch (problem) {
    throw new Error(kNoWebAssembly, {cause: problem});
  }
}

function ended() {
  throw new Error("the playground's module ended");
}

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function moduleOf(code) {
  const text = (at) => {
    const bytes = new Uint8Array(code.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  };
  const {normalizers, statistics, largest_row: largestRow} = JSON.parse(text(code.sharpmax_family()));
  const scoresAt = code.sharpmax_allocate(8 * largestRow);
  const weightsAt = code.sharpmax_allocate(8 * largestRow);
  const statisticsAt = code.sharpmax_allocate(8 * statistics.length);
  const withText = (words, work) => {
    const bytes = new TextEncoder().encode(words + "\0");
    const at = code.sharpmax_allocate(bytes.length);
    new Uint8Array(code.memory.buffer, at, bytes.length).set(bytes);
    const result = work(at);
    code.sharpmax_free(at);
    return result;
  };
  const problem = () => text(code.sharpmax_message());
  return {
    family: normalizers,
    largestRow,
    // Why this text names no normalizer; empty if it does.
    problemOf: (rule) => withText(rule, (at) => (code.sharpmax_is_normalizer(at) ? "" : problem())),
    // {weights, ...statistics} of scores / temperature; throws an Error to show.
    weigh: (rule, scores, temperature) => {
      if (scores.length > largestRow) throw new Error(`A row may have ${count(largestRow)} scores.`);
      new Float64Array(code.memory.buffer, scoresAt, scores.length).set(scores);
      const done = withText(rule, (at) =>
        code.sharpmax_weigh(at, scoresAt, scores.length, 1 / temperature, weightsAt, statisticsAt),
      );
      if (!done) throw new Error(problem());
      const values = new Float64Array(code.memory.buffer, statisticsAt, statistics.length);
      return {
        ...Object.fromEntries(statistics.map((name, i) => [name, values[i]])),
        weights: new Float64Array(code.memory.buffer, weightsAt, scores.length).slice(),
      };
    },
  };
}
