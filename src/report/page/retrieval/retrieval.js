// The page of `sharpmax retrieve`.

import {node} from "../frame/dom.js";
import {offerRow} from "../frame/rows.js";
import {showTitle} from "../frame/view.js";
import {count} from "../frame/words.js";
import {showCurves} from "./curves.js";
import {showFailure} from "./failure.js";
import {showRetrievalHeatMaps} from "./heat_maps.js";
import {showOverview} from "./overview.js";
import {showCertificate} from "./provenance.js";
import {readRetrieval} from "./results.js";
import {showNumbers, showPublished} from "./tables.js";
import {showTwoByTwo} from "./two_by_two.js";

export function retrievalLabel({preset}) {
  return `retrieval, ${preset}`;
}

export function showRetrieval(data) {
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
    showRetrievalHeatMaps(data);
    showCertificate(data);
    showNumbers(data);
    for (const {arm, seed, n, quantiles} of data.score_rows)
      offerRow({name: `${arm} training, seed ${seed}, ${count(n)} items`, n, quantiles});
  }
}
