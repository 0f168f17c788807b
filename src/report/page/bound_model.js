// The page of what the weights prove.

function boundModelLabel() {
  return "what the weights prove";
}

function showBoundModel() {
  showTitle("what the weights prove", "what the weights prove");
}
