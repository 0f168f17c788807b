// What the pages of the smaller kinds of results share: rows of a table, bars, notes on what was left out, how numbers
// were made.

import {scrolling} from "../export/download.js";
import {chips, definitions, node, section} from "../frame/dom.js";
import {decimal, family, kNone, plural, setting} from "../frame/words.js";
import {lineSample} from "./looks.js";
import {sortable} from "./sortable.js";

// Tables are kept as {columns, rows} so that names are not repeated; here is one object for each row. A column that was
// left out is missing from every one.
export function rowObjects({columns, rows}) {
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

// A column of a sortable table that shows a picture of its neighbour.
export const kNoCsv = {csv: []};

// Columns of a sortable table, [title, value, format, field, more], without those whose field was left out of the page.
export function columnsThere(table, columns) {
  return columns
    .filter(([, , , field]) => !field || table.columns.includes(field))
    .map(([title, value, format, , more]) => [title, value, format, ...(more ? [more] : [])]);
}

export function leftOutNote(place, {left_out: leftOut}) {
  if (!leftOut?.length) return;
  const names = leftOut.join(", ").replaceAll("_", " ");
  place.append(node("p", {class: "note"}, `Left out to keep this file small: ${names}.`));
}

export function showAllNumbers(data, columns, rows, words = "A heading sorts by its column.") {
  const place = section("numbers", "All numbers", words);
  place.append(scrolling("All numbers", sortable("all-rows", columns, rows), "tall"));
  leftOutNote(place, data);
}

// Which normalizers are drawn: a chip for each, those beyond a few behind a summary. wanted: a Set.
export function normalizerChips(names, looks, wanted, changed) {
  const entry = (name) => ({
    text: name,
    checked: wanted.has(name),
    mark: lineSample(looks.get(name)),
    changed: (on) => {
      on ? wanted.add(name) : wanted.delete(name);
      changed();
    },
  });
  const others = names.filter((name) => !wanted.has(name));
  const controls = node("div", {class: "controls"});
  controls.append(chips("checkbox", "Normalizers", names.filter((name) => wanted.has(name)).map(entry)));
  if (others.length)
    controls.append(
      node(
        "details",
        {},
        node("summary", {}, plural(others.length, "more normalizer")),
        chips("checkbox", "Others", others.map(entry)),
      ),
    );
  return controls;
}

// The few that a chart begins with: all of a few, else the members of the family that the story is about.
export function wantedAtFirst(names, story) {
  const few = names.filter((name) => names.length <= 6 || story.includes(family(name)));
  return new Set(few.length ? few : names.slice(0, 4));
}

// A bar from one share of its place to another; line: where a rule stands, a share too.
export function shareBar(from, to, colour, line = null) {
  const least = 0.6; // of a hundred: a point can be seen too
  const clip = (share) => 100 * Math.min(1, Math.max(0, share));
  const fill = node("span", {class: "fill"});
  fill.style.left = Math.min(100 - least, clip(from)) + "%";
  fill.style.width = Math.max(least, clip(to) - clip(from)) + "%";
  fill.style.background = `var(--${colour})`;
  const bar = node("div", {class: "share-bar", "aria-hidden": "true"}, fill);
  if (line !== null) {
    const rule = node("span", {class: "line"});
    rule.style.left = clip(line) + "%";
    bar.append(rule);
  }
  return bar;
}

// A value of the settings, whatever it is.
function settingText(value) {
  if (value === null || value === undefined) return kNone;
  if (Array.isArray(value)) return value.map(settingText).join(", ");
  if (typeof value !== "object") return setting(value);
  return Object.entries(value)
    .map(([name, part]) => `${name.replaceAll("_", " ")} ${settingText(part)}`)
    .join("; ");
}

// What a command was told stands among its results where it has no settings of their own.
function isTold(key, value) {
  const apart = ["schema", "sharpmax", "command", "created", "seconds", "verdict", "complete", "likeliest_right"];
  return !apart.includes(key) && (value === null || typeof value === "number" || typeof value === "string");
}

// How it was made: command, version, date, seed, what was told, and the model with its checksum.
export function showPlainProvenance(data) {
  const place = section("provenance", "How these numbers were made");
  if (data.command) place.append(node("pre", {}, node("code", {}, data.command)));
  const {model: ofSettings, ...told} = data.settings ?? {};
  const model = data.model ?? ofSettings;
  const name = (key) => (key === "file" ? "model" : key.replaceAll("_", " "));
  const entries = (object) => Object.entries(object ?? {}).map(([key, value]) => [name(key), settingText(value)]);
  place.append(
    definitions([
      ["sharpmax", data.sharpmax ?? kNone],
      ...(data.created ? [["date", data.created]] : []),
      ...(data.seconds ? [["time taken", `${decimal(data.seconds, 1)} s`]] : []),
      ...entries(Object.fromEntries(Object.entries(data).filter(([key, value]) => isTold(key, value)))),
      ...entries(told),
      ...entries(model),
    ]),
  );
}
