// What the playground is told, and how it is written into an address.
//
// {source: "needle", "typed" or "result"; row: of the two others; gap: the needle's; typed: text; n; alone; temperature;
//  rule: the normalizer's name; values: its parameters as text, where they are not the default}

import {isRow, rowAmong, view} from "../frame/view.js";
import {kLargestTyped, kLeastRow, needleAt, scoresAt, typedRow} from "./rows.js";

export const kLongest = 65536;
export const kTemperatures = [0.05, 20];
export const kGaps = [-5, 20];
const kDigitsInPlace = 5;

export function firstState() {
  const row = view.rows.current ?? view.rows[0] ?? null;
  return {
    source: row ? "result" : "needle",
    row,
    gap: 6,
    typed: "3 1 0.5 0 0 -1",
    n: row ? clamped(row.n, [kLeastRow, kLongest]) : 1024,
    alone: true,
    temperature: 1,
    rule: "entropy_target",
    values: {},
  };
}

export function clamped(value, [least, largest]) {
  return Math.min(largest, Math.max(least, value));
}

// The normalizer in its text form.
export function ruleText({rule, values}) {
  const parts = Object.entries(values).map(([name, text]) => `${name}=${text}`);
  return parts.length ? `${rule}:${parts.join(",")}` : rule;
}

// {rule, values} of a text form that the module takes.
function ruleOfText(text, module) {
  const [called, rest] = text.split(":");
  const {name: rule} = module.family.find(({name, aliases}) => name === called || aliases.includes(called));
  return {rule, values: Object.fromEntries(rest?.split(",").map((part) => part.split("=")) ?? [])};
}

// The softmax that everything is compared with, and the chosen one unless it is the same.
export function rulesShown(state) {
  const chosen = ruleText(state);
  return chosen === "softmax" ? ["softmax"] : ["softmax", chosen];
}

export function scoresOf(state, n) {
  return state.source === "needle" ? needleAt(state.gap, n) : scoresAt(state.row, n, state.alone);
}

// The whole address is decoded once before it reaches us, so what may hold anything is encoded twice.
export function placeOf(state) {
  const twice = (text) => encodeURIComponent(encodeURIComponent(text));
  const own = {
    needle: {row: "needle", gap: state.gap},
    typed: {row: "typed", scores: state.row?.typed?.join(" ")},
    result: {row: "result", name: state.row?.name, ...(state.row?.passing ? scoresInPlace(state.row) : {})},
  }[state.source];
  const all = {...own, n: state.n, t: state.temperature, rule: ruleText(state)};
  if (state.source !== "needle" && !state.alone) all.alone = 0;
  return "playground?" + Object.entries(all).map(([name, value]) => `${name}=${twice(value)}`).join("&");
}

// A row that the page does not offer by itself goes with the address.
function scoresInPlace({n, quantiles}) {
  return {of: n, q: quantiles.map((score) => Number(score.toPrecision(kDigitsInPlace))).join(" ")};
}

function rowInPlace(told) {
  const row = {name: told.get("name") ?? "", n: Number(told.get("of")), quantiles: (told.get("q") ?? "").split(" ").map(Number)};
  row.quantiles.sort((a, b) => a - b);
  return Number.isInteger(row.n) && isRow(row) && row.quantiles.length <= Math.min(row.n, kLargestTyped) ? rowAmong(row) : null;
}

// What of the state a place tells; what is wrong in it is left out, with a sentence in `problem`.
export function stateOfPlace(place, module) {
  const told = new Map();
  for (const part of place.replace(/^playground\??/, "").split("&")) {
    const [name, ...rest] = part.split("=");
    if (name) told.set(name, decoded(rest.join("=")));
  }
  const changes = {...rowOfPlace(told)};
  const number = (name, key, range, whole = false) => {
    const value = Number(told.get(name));
    if (!told.has(name)) return;
    if (!Number.isFinite(value)) changes.problem = `“${told.get(name).slice(0, 40)}” in the address is not a number.`;
    else changes[key] = clamped(whole ? Math.round(value) : value, range);
  };
  number("n", "n", [kLeastRow, kLongest], true);
  number("t", "temperature", kTemperatures);
  number("gap", "gap", kGaps);
  if (told.has("rule")) {
    const problem = module.problemOf(told.get("rule"));
    Object.assign(changes, problem ? {problem} : ruleOfText(told.get("rule"), module));
  }
  return changes;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function rowOfPlace(told) {
  const alone = told.get("alone") !== "0";
  if (told.get("row") === "needle") return {source: "needle", alone: true};
  if (told.get("row") === "typed") {
    const {row, problem} = typedRow(told.get("scores") ?? "");
    return row ? {source: "typed", row, typed: told.get("scores"), n: row.n, alone} : {problem};
  }
  if (told.get("row") !== "result") return {};
  const row = view.rows.find((other) => other.name === told.get("name")) ?? rowInPlace(told);
  return row
    ? {source: "result", row, n: clamped(row.n, [kLeastRow, kLongest]), alone}
    : {problem: "The row that the address names is not among those of this result."};
}
