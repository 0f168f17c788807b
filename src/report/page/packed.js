// Lists of many numbers are held as floats in base64, those of few strings as places among them
// (src/report/data/fields.h). Six digits come back as they were.

function withNumbers(data) {
  const {attention} = data;
  if (attention) for (const part of ["over_heads", "statistics_over_heads", "drawn"]) attention[part] = withLists(attention[part]);
  return data;
}

function withLists(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (typeof value.float32 === "string") return listsIn(value);
  if (Array.isArray(value.words) && Array.isArray(value.places)) return value.places.map((place) => value.words[place]);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withLists(part)]));
}

function listsIn({float32, width}) {
  const bytes = Uint8Array.from(atob(float32), (letter) => letter.charCodeAt(0));
  const words = new DataView(bytes.buffer);
  const numbers = Array.from({length: bytes.length / 4}, (_, i) => {
    const value = words.getFloat32(4 * i, true);
    return Number.isNaN(value) ? null : Number(value.toPrecision(6));
  });
  if (!width) return numbers;
  return Array.from({length: numbers.length / width}, (_, i) => numbers.slice(i * width, (i + 1) * width));
}
