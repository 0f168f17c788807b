// The page of one needle among more and more keys.

function demoLabel() {
  return "one needle among more and more keys";
}

function showDemo() {
  showTitle("one needle among more and more keys", "one needle among more and more keys");
}
