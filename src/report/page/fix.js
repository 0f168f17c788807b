// The page of rules tried on a model.

function fixLabel() {
  return "rules tried on a model";
}

function showFix() {
  showTitle("rules tried on a model", "rules tried on a model");
}
