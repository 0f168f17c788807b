// One row of scores to play with. A row is {name, n, quantiles}: n scores, whose quantiles from the least to the largest
// are told evenly, all of them or some.

// A row of the results that is shown may be played with.
function offerRow(row) {
  view.rows.push(row);
}

// The row that the playground shows now.
function useRow(row) {
  view.rows.current = row;
}

function showPlayground() {}
