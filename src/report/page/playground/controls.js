// What the reader turns: each control changes the state through set() and follows it when something else did.

import {node, shown} from "../frame/dom.js";
import {view} from "../frame/view.js";
import {count} from "../frame/words.js";
import {presetButtons} from "./presets.js";
import {kLeastRow, typedRow} from "./rows.js";
import {clamped, kGaps, kLongest, kTemperatures, ruleText} from "./state.js";

const kPerOctave = 8; // steps of the slider of lengths

export function playgroundControls(module, state, set) {
  const problem = node("p", {class: "problem", role: "alert"});
  const say = (sentence) => problem.replaceChildren(shown(sentence));
  const good = (changes) => {
    say("");
    set(changes);
  };
  const parts = [
    rowControls(state, good, say),
    slider({
      label: "Keys n", id: "playground-n", least: 0, most: 15 * kPerOctave, value: () => state.n, text: count,
      valueAt: (at) => Math.round(2 ** (1 + at / kPerOctave)), placeOf: (n) => kPerOctave * (Math.log2(n) - 1),
      read: (n) => Number.isInteger(n) && n >= kLeastRow && n <= kLongest,
      wanted: `n is a whole number from ${kLeastRow} to ${count(kLongest)}.`,
      changed: (n) => good({n}), say,
    }),
    slider({
      label: "Temperature", id: "playground-t", least: -52, most: 52, value: () => state.temperature, text: String,
      valueAt: (at) => Number((20 ** (at / 52)).toPrecision(3)), placeOf: (t) => (52 * Math.log(t)) / Math.log(20),
      read: (t) => t >= kTemperatures[0] && t <= kTemperatures[1],
      wanted: `A temperature here is a number from ${kTemperatures[0]} to ${kTemperatures[1]}.`,
      changed: (temperature) => good({temperature}), say,
    }),
    ruleControls(module, state, good, say),
  ];
  const element = node("div", {class: "playground-controls controls"}, ...parts.map((part) => part.element), problem);
  return {presets: presetButtons(good), element, say, follow: () => parts.forEach((part) => part.follow())};
}

// A slider with a field for an exact value beside it. `read`: whether a number is one of its values; text is said of it aloud.
function slider({label, id, least, most, value, text, valueAt, placeOf, read, wanted, changed, say}) {
  const range = node("input", {type: "range", id, min: least, max: most, step: 1});
  const {field, follow: followTyped} = typedField({inputmode: "decimal", "aria-label": label + ", exactly", size: 7}, (letters) => {
    const typed = Number(letters.replace(/[\s,]/g, "") || NaN);
    const fine = read(typed);
    if (fine) changed(typed);
    else say(wanted);
    return fine;
  });
  range.addEventListener("input", () => changed(valueAt(Number(range.value))));
  const follow = () => {
    range.value = String(placeOf(value()));
    range.setAttribute("aria-valuetext", text(value()));
    followTyped(String(value()));
  };
  return {element: node("div", {class: "slider"}, node("label", {for: id}, label), range, field), follow};
}

// A field that shows a value and takes another: taken(letters) says whether it is one. What the reader is typing stays
// until it is taken, whatever is drawn meanwhile.
function typedField(attributes, taken) {
  const field = node("input", {type: "text", autocomplete: "off", ...attributes});
  let typing = false;
  field.addEventListener("input", () => (typing = true));
  field.addEventListener("change", () => {
    typing = false;
    field.setAttribute("aria-invalid", String(!taken(field.value)));
  });
  const follow = (letters) => {
    if (typing) return;
    if (field.value.trim() !== letters) field.value = letters;
    field.setAttribute("aria-invalid", "false");
  };
  return {field, follow};
}

// Which row: the needle, one of the result's, or numbers that are typed.
function rowControls(state, good, say) {
  const select = node("select", {id: "playground-row"});
  const gap = slider({
    label: "Score of the needle", id: "playground-gap", least: 10 * kGaps[0], most: 10 * kGaps[1], value: () => state.gap, text: String,
    valueAt: (at) => at / 10, placeOf: (score) => 10 * score, read: (score) => score >= kGaps[0] && score <= kGaps[1],
    wanted: `The score is a number from ${kGaps[0]} to ${kGaps[1]}.`, changed: (score) => good({gap: score}), say,
  });
  const text = node("textarea", {id: "playground-typed", rows: 2, spellcheck: "false"});
  const typed = node("div", {class: "slider"}, node("label", {for: "playground-typed"}, "Scores"), text);
  const alone = node("input", {type: "checkbox", id: "playground-alone"});
  const aloneLabel = node("label", {class: "chip"}, alone, "the largest stays alone as n grows");
  select.addEventListener("change", () => good(chosenRow(state, select.value)));
  text.addEventListener("input", () => {
    const {row, problem} = typedRow(text.value);
    text.setAttribute("aria-invalid", String(Boolean(problem)));
    if (problem) say(problem);
    else good({row, typed: text.value, n: row.n});
  });
  alone.addEventListener("change", () => good({alone: alone.checked}));
  const follow = () => {
    const options = [["needle", "a needle among normal scores"], ["typed", "typed"], ...view.rows.map((row, i) => [String(i), row.name])];
    select.replaceChildren(...options.map(([value, name]) => node("option", {value}, name)));
    select.value = state.source === "result" ? String(view.rows.indexOf(state.row)) : state.source;
    gap.element.hidden = state.source !== "needle";
    typed.hidden = state.source !== "typed";
    aloneLabel.hidden = state.source === "needle";
    if (document.activeElement !== text) text.value = state.typed;
    alone.checked = state.alone;
    gap.follow();
  };
  const label = node("label", {class: "choice", for: "playground-row"}, "Row");
  return {element: node("div", {class: "row-controls"}, node("div", {class: "slider"}, label, select), gap.element, typed, aloneLabel), follow};
}

export function chosenRow(state, value) {
  if (value === "needle") return {source: "needle"};
  if (value === "typed") {
    const {row} = typedRow(state.typed);
    return {source: "typed", row, n: row.n};
  }
  const row = view.rows[Number(value)];
  return {source: "result", row, n: clamped(row.n, [kLeastRow, kLongest])};
}

// Which normalizer, and its parameters.
function ruleControls(module, state, good, say) {
  const select = node("select", {id: "playground-rule"});
  for (const {name} of module.family) select.append(node("option", {value: name}, name));
  const fields = node("div", {class: "fields"});
  const words = node("div", {class: "note"});
  let shownRule = "";
  let parts = [];
  select.addEventListener("change", () => good({rule: select.value, values: {}}));
  const change = (name, text) => {
    const values = {...state.values, [name]: text};
    if (text === defaultText(module, state.rule, name)) delete values[name];
    const problem = module.problemOf(ruleText({rule: state.rule, values}));
    if (problem) say(problem);
    else good({values});
    return !problem;
  };
  const follow = () => {
    if (shownRule !== state.rule) {
      shownRule = state.rule;
      const member = module.family.find(({name}) => name === state.rule);
      parts = shapingParameters(member).map((parameter) => parameterField(module, state, parameter, change));
      fields.replaceChildren(...parts.map((part) => part.element));
      words.replaceChildren(node("code", {}, member.formula), node("p", {}, "As n grows, its largest weight: " + member.peak_as_n_grows + "."));
      select.value = state.rule;
    }
    parts.forEach((part) => part.follow());
  };
  const label = node("label", {class: "choice", for: "playground-rule"}, "Normalizer");
  return {element: node("div", {class: "rule-controls"}, node("div", {class: "slider"}, label, select), fields, words), follow};
}

// How a gradient is taken changes no weight.
function shapingParameters(member) {
  return member.parameters.filter(({name}) => name !== "gradient");
}

function defaultText(module, rule, name) {
  const {default: value} = module.family.find((member) => member.name === rule).parameters.find((one) => one.name === name);
  return Array.isArray(value) ? value.join("/") : String(value);
}

function parameterField(module, state, parameter, change) {
  const {name, choices} = parameter;
  const id = "playground-parameter-" + name;
  const now = () => state.values[name] ?? defaultText(module, state.rule, name);
  const words = choices.length > 1;
  const {field, follow: followField} = words
    ? wordField(id, choices, (word) => change(name, word))
    : typedField({id, spellcheck: "false"}, (letters) => change(name, letters.trim()));
  const domain = words ? [] : [node("small", {id: id + "-domain"}, parameter.domain)];
  if (domain.length) field.setAttribute("aria-describedby", id + "-domain");
  const element = node("div", {class: "slider"}, node("label", {for: id}, name), field, ...domain);
  const steps = parameterSteps(module, state.rule, parameter);
  const range = steps.length > 1 ? node("input", {type: "range", "aria-label": name + ", slider", min: 0, max: steps.length - 1, step: 1}) : null;
  range?.addEventListener("input", () => change(name, String(steps[Number(range.value)])));
  if (range) field.before(range);
  const follow = () => {
    followField(now());
    if (!range) return;
    range.value = String(nearestStep(steps, Number(now())));
    range.setAttribute("aria-valuetext", now());
  };
  return {element, follow};
}

function wordField(id, words, taken) {
  const field = node("select", {id});
  for (const word of words) field.append(node("option", {value: word}, word));
  field.addEventListener("change", () => taken(field.value));
  return {field, follow: (word) => (field.value = word)};
}

// Values round the default that the normalizer takes: a slider's steps. What it takes is asked of the normalizer itself.
function parameterSteps(module, rule, {name, default: value}) {
  if (typeof value !== "number") return [];
  const tried = Array.from({length: 33}, (_, i) => (value > 0 ? Number((value * 2 ** ((i - 16) / 4)).toPrecision(3)) : (i - 16) / 4));
  return tried.filter((step) => !module.problemOf(`${rule}:${name}=${step}`));
}

function nearestStep(steps, value) {
  return steps.reduce((best, step, i) => (Math.abs(step - value) < Math.abs(steps[best] - value) ? i : best), 0);
}
