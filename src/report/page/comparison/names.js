// What several results are called beside each other.

import {distinct, fileName} from "../frame/words.js";
import {kKinds} from "../kinds/kinds.js";

// Of every result {number, label, name, short}: label is what its kind calls it; name has what its settings have and
// others of that label have not; short is what tells it from others of its kind.
export function namesOf(results) {
  const labels = results.map((data) => kKinds.get(data.schema).label(data));
  return results.map((data, i) => {
    const label = labels[i];
    const number = i + 1;
    const apart = whatDiffers(data, results.filter((_, j) => labels[j] === label));
    const own = whatDiffers(data, results.filter(({schema}) => schema === data.schema));
    return {number, label, name: `${number}: ${[label, apart].filter(Boolean).join(", ")}`, short: `${number}: ${own || label}`};
  });
}

// Settings that tell more come first; those that a reader could not use are left out.
const kTelling = ["preset", "file", "normalizer", "normalizers", "rope_scaling", "rope_base", "text", "task", "length", "seeds", "normalizers.default"];
const kUntelling = /(^|\.)(fingerprint|checksum|sha256|layers|heads|kv_heads|head_width|width|vocabulary)(\.|$)/;
const kLongestSetting = 40;

function whatDiffers(data, alike) {
  const told = alike.map(settingsOf);
  const mine = settingsOf(data);
  const differing = [...mine.keys()].filter((key) => distinct(told.map((one) => one.get(key))).length > 1);
  const short = differing.filter((key) => mine.get(key).length <= kLongestSetting);
  const rank = (key) => (kTelling.indexOf(key) + kTelling.length + 1) % (kTelling.length + 1);
  const words = short.sort((a, b) => rank(a) - rank(b)).map((key) => settingWords(key, mine.get(key)));
  if (words.length) return words.slice(0, 2).join(", ");
  const dates = distinct(alike.map(({created}) => created));
  return dates.length > 1 && data.created ? String(data.created) : "";
}

function settingWords(key, value) {
  return ["preset", "normalizer", "file", "text"].includes(key) ? fileName(value) : `${key.replaceAll(/[_.]/g, " ")} ${value}`;
}

// Name to text, of all that a run was told; names within the model are as short as those of the run.
function settingsOf(data) {
  const found = new Map();
  const read = (value, name) => {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) found.set(name, value.join(" "));
    else if (typeof value === "object") for (const [key, inner] of Object.entries(value)) read(inner, name ? `${name}.${key}` : key);
    else found.set(name, String(value));
  };
  for (const [key, value] of Object.entries(data.settings ?? {})) read(value, key === "model" ? "" : key);
  for (const key of ["spread", "beta", "peak", "seed", "preset", "rope_scaling", "rope_base"]) read(data[key], key);
  for (const key of [...found.keys()]) if (kUntelling.test(key)) found.delete(key);
  return found;
}
