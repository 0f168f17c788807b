// Elements are made here and nowhere else. Text reaches the page as text nodes only, so whatever a string of the
// results holds is shown, never run.

// Characters that cannot be seen or that turn the writing direction are shown as escapes.
export function shown(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

// node("td", {class: "words", "data-value": 3}, "text", otherNode)
export function node(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(shown(child)))));
  return made;
}

// What the page carries is gzip in base64, in elements that do nothing.
export function carried(id) {
  return document.getElementById(id).textContent.trim();
}

export async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// A new part of the page, below those that there are: its heading and what it is about, in words and nodes.
export function section(id, title, ...words) {
  const made = node("section", {id}, node("h2", {}, title));
  if (words.length) made.append(node("p", {}, ...words));
  document.getElementById("main").append(made);
  return made;
}

// A normalizer in its text form; it may break after the colon.
export function rule(name) {
  const [head, ...rest] = String(name).split(":");
  return node("span", {class: "rule"}, head, ...rest.flatMap((part) => [":", node("wbr"), part]));
}

// A labelled drop-down; choices are strings.
export function choice(label, choices, chosen, changed) {
  const select = node("select");
  for (const [index, text] of choices.entries()) select.append(node("option", {value: index}, text));
  select.value = String(choices.indexOf(chosen));
  select.addEventListener("change", () => changed(choices[Number(select.value)]));
  return node("label", {class: "choice"}, label, select);
}

// Radio buttons or check boxes in a row; entries are {text, checked, mark (a node), changed}.
export function chips(type, title, entries) {
  const group = node("fieldset", {}, node("legend", {}, title));
  const name = "chips-" + document.querySelectorAll("fieldset").length + "-" + title.length;
  for (const entry of entries) {
    const input = node("input", {type, name});
    input.checked = entry.checked;
    input.addEventListener("change", () => entry.changed(input.checked));
    group.append(node("label", {class: "chip"}, input, ...(entry.mark ? [entry.mark] : []), rule(entry.text)));
  }
  return group;
}

export function definitions(pairs) {
  return node("dl", {}, ...pairs.flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value)]));
}
