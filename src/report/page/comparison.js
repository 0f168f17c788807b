// Several results in one page: what they have in common, side by side.

function showComparison(results) {
  showTitle("compared", `${plural(results.length, "result")}, side by side`);
}
