// The page of what a spread allows.

function boundLabel() {
  return "what a spread allows";
}

function showBound() {
  showTitle("what a spread allows", "what a spread allows");
}
