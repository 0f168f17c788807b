// The page of `sharpmax retrieve`.

function retrievalLabel({preset}) {
  return `retrieval, ${preset}`;
}

function showRetrieval(data) {
  readRetrieval(data);
  showTitle("max retrieval", "Max retrieval");
  if (!data.rows.length) {
    document.getElementById("verdict").append(node("p", {}, "These results hold no measurement."));
  } else {
    showOverview(data);
    showTwoByTwo(data);
    showCurves(data);
    showFailure(data);
    showPublished(data);
    showHeatMaps(data);
    showCertificate(data);
    showNumbers(data);
    for (const {arm, seed, n, quantiles} of data.score_rows)
      offerRow({name: `${arm} training, seed ${seed}, ${count(n)} items`, n, quantiles});
  }
}
