// Rows of scores that the results offer to the playground. A row is {name, n, quantiles}: n scores, whose quantiles from the least to the
// largest are told evenly, all of them or some.

import {view} from "./view.js";

// A row of the results that is shown may be played with.
export function offerRow(row) {
  if (isRow(row)) view.rows.push(row);
}

// The row that the playground shows now.
export function useRow(wanted) {
  if (!isRow(wanted)) return;
  const row = rowAmong(wanted);
  view.rows.current = row;
  view.rows.used?.(row);
}

// That row as it is offered; offered only while this view lasts if it was not.
export function rowAmong(wanted) {
  const known = view.rows.find((row) => row.name === wanted.name);
  if (known) return known;
  const row = {...wanted, passing: true};
  view.rows.push(row);
  return row;
}

export function isRow(row) {
  const {n, quantiles} = row ?? {};
  return n >= 1 && quantiles?.length >= 1 && quantiles.every((score) => typeof score === "number" && Number.isFinite(score));
}
