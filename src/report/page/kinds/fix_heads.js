// Which heads a rule changes, as a grid of layers and heads; and how to use what was found.

import {headGrid} from "../drawing/grid.js";
import {scrolling} from "../export/download.js";
import {choice, node, section, shown} from "../frame/dom.js";

// Heads of a trial, layer by layer: {layer, head, normalizer, kind}. plain: what a head has when nothing is done.
function headsOfTrial({map}, {settings, survey}) {
  const wide = settings.model.heads;
  return map.of.map((name, i) => ({
    layer: Math.floor(i / wide),
    head: i % wide,
    normalizer: map.names[name],
    kind: survey?.kind[i] ?? null,
  }));
}

export function showChangedHeads(data, chosen) {
  const rules = data.trials.filter(({map, heads}) => map && heads > 0);
  if (!rules.length) return;
  const place = section(
    "heads",
    "Which heads a rule changes",
    "One cell is one head, a layer to a line; those that the rule changes are coloured. Point at one, or go there by the arrow keys, to read what it has.",
  );
  const holder = node("div", {class: "narrow-grid"});
  const readout = node("p", {class: "readout"}, "Point at a cell to read it.");
  const names = rules.map(({rule: name}) => shown(name));
  const show = (trial) => {
    const heads = headsOfTrial(trial, data);
    const say = (one) => (readout.textContent = shown(headSentence(one)));
    const grid = headGrid(heads, {say, choose: say});
    for (const [one, cell] of grid.cells) {
      const changed = one.normalizer !== plainNormalizer(data);
      cell.className = changed ? "" : "unknown";
      cell.style.backgroundColor = changed ? "var(--vermillion)" : "";
      cell.dataset.value = changed ? 1 : 0;
      cell.setAttribute("aria-label", shown(headSentence(one)));
    }
    holder.replaceChildren(scrolling("Layers and heads", grid.table));
  };
  const first = rules.includes(chosen) ? chosen : rules[0];
  if (rules.length > 1)
    place.append(
      node(
        "div",
        {class: "controls"},
        choice("Rule", names, shown(first.rule), (name) => show(rules[names.indexOf(name)])),
      ),
    );
  place.append(holder, readout);
  show(first);
}

// Of the trial that does nothing; the run compares with plain softmax.
function plainNormalizer({trials}) {
  return trials[0]?.map?.names[0] ?? "softmax";
}

function headSentence({layer, head, normalizer, kind}) {
  return `Head ${layer}.${head}${kind === null ? "" : `, ${kind}`}: ${normalizer}`;
}

// Fit to be typed in a shell.
function quotedWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function showHowToUse({answer, settings}) {
  const place = section("use", "How to use it");
  if (answer.leave_it)
    return place.append(
      node(
        "p",
        {},
        "There is nothing to use: no rule was shown to be better than the model as it is. More text or more questions may tell more: --tokens and --questions.",
      ),
    );
  const file = quotedWord(settings.model.file);
  const scaled = answer.rope_scaling ? ` --rope-scaling ${quotedWord(answer.rope_scaling)}` : "";
  const line = (words, command) => place.append(node("p", {}, words), copyable(command));
  line(
    "With the table that the same command writes with --table table.json:",
    `sharpmax run ${file} --normalizers table.json${scaled} --prompt "..."`,
  );
  line("Its loss on a text:", `sharpmax perplexity ${file} --normalizers table.json${scaled} --text book.txt`);
  if (answer.llama_cpp) line("The same in llama.cpp:", answer.llama_cpp);
  else place.append(node("p", {}, "llama.cpp: no setting of it does the same."));
}

// A command with a button that copies it; where the browser refuses, it is selected instead.
function copyable(command) {
  const code = node("code", {}, command);
  const button = node("button", {type: "button", class: "copy"}, "Copy");
  const select = () => getSelection().selectAllChildren(code);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
    } catch {
      select();
      button.textContent = "Selected";
    }
  });
  return node("pre", {class: "copyable"}, code, button);
}
