// The axes of a chart: what they span, their lines and their numbers.

function rangeOfSizes(sizes) {
  const edge = Math.max(1.12, (sizes.at(-1) / sizes[0]) ** 0.015);
  return [sizes[0] / edge, sizes.at(-1) * edge];
}

function rangeOfValues({curves, bottom, least, top}) {
  const highest = () => Math.max(1e-3, ...curves.flatMap((c) => [...c.points.values()].map((p) => p.value ?? 0)));
  return [bottom ?? least ?? 0, top ?? 1.05 * highest()];
}

function sizeAxis(across, sizes) {
  return {
    stroke: paint("quiet"),
    font: kFont,
    labelFont: kFont,
    label: across.label,
    labelSize: 20,
    size: 36,
    gap: 10,
    grid: {stroke: paint("line"), width: 1},
    ticks: {show: false},
    splits: () => across.ticks ?? sizes,
    filter: (u, splits) => splits,
    values: (u, splits) => {
      let next = Infinity;
      return splits
        .map((n) => [n, u.valToPos(n, "x")])
        .reverse()
        .map(([n, at]) => {
          if (next - at < kLeastTickGap) return "";
          next = at;
          return (across.tick ?? shortCount)(n);
        })
        .reverse();
    },
  };
}

function valueAxis(label, inPercent) {
  const axis = {
    stroke: paint("quiet"),
    font: kFont,
    labelFont: kFont,
    label,
    labelSize: 20,
    size: 48,
    gap: 6,
    grid: {stroke: paint("line"), width: 1},
    ticks: {show: false},
  };
  if (inPercent) {
    axis.splits = () => [0, 0.2, 0.4, 0.6, 0.8, 1];
    axis.values = (u, splits) => splits.map((share) => Math.round(100 * share) + kNarrowSpace + "%");
  }
  return axis;
}

// A power of ten at each line.
function decadeAxis(label, bottom, top) {
  const decades = decadesBetween(bottom, top);
  return {
    ...valueAxis(label),
    size: 56,
    splits: () => decades,
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map(powerOfTen),
  };
}

function decadesBetween(bottom, top) {
  const decades = [];
  for (let e = Math.ceil(Math.log10(bottom) - 1e-9); e <= Math.log10(top) + 1e-9; ++e) decades.push(10 ** e);
  return decades;
}

// Powers of ten around every value above 0 of the curves.
function decadesAround(curves) {
  const values = curves.flatMap((c) => [...c.points.values()].map((p) => p.value)).filter((value) => value > 0);
  const bottom = 10 ** Math.floor(Math.log10(Math.min(...values, 1e300)));
  if (!values.length) return {bottom: 0.1, top: 1};
  return {bottom, top: Math.max(10 * bottom, 10 ** Math.ceil(Math.log10(Math.max(...values))))};
}
