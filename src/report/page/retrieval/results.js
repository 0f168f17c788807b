// The measured rows, and the few questions that every section asks of them.

import {looksOf} from "../drawing/looks.js";
import {distinct, family} from "../frame/words.js";

export function readRetrieval(data) {
  const {columns, rows} = data.table;
  data.rows = rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  data.armNames = distinct(data.rows.map((row) => row.arm));
  data.normalizers = distinct(data.rows.map((row) => row.normalizer));
  data.sizes = distinct(data.rows.map((row) => row.n)).sort((a, b) => a - b);
  data.looks = looksOf(data.normalizers);
}

export function member(data, name) {
  return data.normalizers.find((normalizer) => family(normalizer) === name);
}

export function rowAt(data, arm, normalizer, n) {
  return data.rows.find((row) => row.arm === arm && row.normalizer === normalizer && row.n === n);
}

export function rowsOf(data, arm, normalizer) {
  return data.rows.filter((row) => row.arm === arm && row.normalizer === normalizer).sort((a, b) => a.n - b.n);
}

export function chance(data) {
  return 1 / (data.arms[0]?.training.classes ?? 10);
}

// The arm that stands for paper A, and the one that stands for us; undefined where a run has none.
export function paperArm(data) {
  return data.armNames.find((arm) => arm === "paper");
}

export function ourArm(data) {
  return data.armNames.find((arm) => arm.startsWith("sharp")) ?? data.armNames.find((arm) => arm !== "paper");
}
