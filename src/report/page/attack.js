// The page of attacks on the bounds.

function attackLabel() {
  return "attacks on the bounds";
}

function showAttack() {
  showTitle("attacks on the bounds", "attacks on the bounds");
}
