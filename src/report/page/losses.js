// The page of loss by position.

function lossesLabel() {
  return "loss by position";
}

function showLosses() {
  showTitle("loss by position", "loss by position");
}
