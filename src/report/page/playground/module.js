// The family's own C++, compiled to WebAssembly: src/playground/playground.h is what it offers. The page carries it as gzip in base64,
// and unpacks it when it is first wanted. In it are also parts of wasi-libc (Apache 2.0 with LLVM exceptions, and musl: MIT, (c) 2005-2020 Rich Felker, et al.), of LLVM's
// libc++ (Apache 2.0 with LLVM exceptions) and {fmt} (MIT, (c) 2012 - present, Victor Zverovich).

import {carried, unpacked} from "../frame/dom.js";
import {count} from "../frame/words.js";

const kNoModule = "This page has no playground: the build that wrote it had no WebAssembly compiler. `make build` installs one; pages written after it have a playground.";
const kNoWebAssembly = "The playground runs as WebAssembly, which this browser does not have or does not allow.";

let startedModule = null;

// A promise of {family, statistics, largestRow, problemOf, weigh}; rejected with an Error to show where there is none.
export function playgroundModule() {
  startedModule ??= startModule();
  return startedModule;
}

export function hasPlaygroundCode() {
  return carried("playground-code") !== "";
}

async function startModule() {
  if (!hasPlaygroundCode()) throw new Error(kNoModule);
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") throw new Error(kNoWebAssembly);
  try {
    return moduleOf(await WebAssembly.compile(await unpacked(carried("playground-code"))));
  } catch (problem) {
    throw new Error(kNoWebAssembly, {cause: problem});
  }
}

// What the module refuses, in its own words.
class Refusal extends Error {}

// An instance of the module: {code, text}. Its one way out of a call that fails is `refuse`; the file functions of its C library
// are never reached.
function newInstance(module) {
  const text = (at) => {
    const bytes = new Uint8Array(code.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  };
  const refuse = (at) => {
    throw new Refusal(text(at));
  };
  const imports = {sharpmax: {refuse}};
  for (const {module: from, name} of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] ??= () => {
      throw new Error(`the playground's module called ${name}`);
    };
  }
  const code = new WebAssembly.Instance(module, imports).exports;
  code._initialize();
  return {code, text};
}

// A call that ends in an error leaves its instance in the middle of it: the next call gets a fresh one.
function moduleOf(module) {
  let {code, text} = newInstance(module);
  const {normalizers, statistics, largest_row: largestRow} = JSON.parse(text(code.sharpmax_family()));
  const called = (work) => {
    try {
      return work();
    } catch (problem) {
      ({code, text} = newInstance(module));
      throw problem;
    }
  };
  const written = (bytes) => {
    const at = code.sharpmax_allocate(bytes.length);
    new Uint8Array(code.memory.buffer, at, bytes.length).set(bytes);
    return at;
  };
  const textOf = (words) => written(new TextEncoder().encode(words + "\0"));
  const room = (numbers) => code.sharpmax_allocate(8 * numbers);
  const numbersAt = (at, n) => new Float64Array(code.memory.buffer, at, n);
  return {
    family: normalizers,
    largestRow,
    // Why this text names no normalizer; empty if it does.
    problemOf: (rule) => {
      try {
        called(() => {
          const at = textOf(rule);
          code.sharpmax_is_normalizer(at);
          code.sharpmax_free(at);
        });
        return "";
      } catch (problem) {
        if (problem instanceof Refusal) return problem.message;
        throw problem;
      }
    },
    // {weights, ...statistics} of scores / temperature; throws an Error to show.
    weigh: (rule, scores, temperature) => called(() => {
      if (scores.length > largestRow) throw new Error(`A row may have ${count(largestRow)} scores.`);
      const n = scores.length;
      const places = [textOf(rule), room(n), room(n), room(statistics.length)];
      const [ruleAt, scoresAt, weightsAt, statisticsAt] = places;
      numbersAt(scoresAt, n).set(scores);
      code.sharpmax_weigh(ruleAt, scoresAt, n, 1 / temperature, weightsAt, statisticsAt);
      const values = numbersAt(statisticsAt, statistics.length);
      const row = {
        ...Object.fromEntries(statistics.map((name, i) => [name, values[i]])),
        weights: numbersAt(weightsAt, n).slice(),
      };
      for (const at of places) code.sharpmax_free(at);
      return row;
    }),
  };
}
