// The kinds of results, by their schema.

import {showPlainProvenance} from "../drawing/kind_parts.js";
import {auditLabel, showAudit, showAuditProvenance} from "../explorer/audit.js";
import {showRetrievalProvenance} from "../retrieval/provenance.js";
import {retrievalLabel, showRetrieval} from "../retrieval/retrieval.js";
import {boundLabel, showBound} from "./bound.js";
import {boundModelLabel, showBoundModel} from "./bound_model.js";
import {demoLabel, showDemo} from "./demo.js";
import {fixLabel, showFix} from "./fix.js";
import {lossesLabel, showLosses} from "./losses.js";

// label: what a result is called beside others. show: all but how it was made, which comes last.
export const kKinds = new Map([
  ["sharpmax.retrieval/1", {label: retrievalLabel, show: showRetrieval, provenance: showRetrievalProvenance}],
  ["sharpmax.audit/1", {label: auditLabel, show: showAudit, provenance: showAuditProvenance}],
  ["sharpmax.attend.demo/1", {label: demoLabel, show: showDemo, provenance: showPlainProvenance}],
  ["sharpmax.bound.spread/1", {label: boundLabel, show: showBound, provenance: showPlainProvenance}],
  ["sharpmax.bound.model/1", {label: boundModelLabel, show: showBoundModel, provenance: showPlainProvenance}],
  ["sharpmax.fix/1", {label: fixLabel, show: showFix, provenance: showPlainProvenance}],
  ["sharpmax.perplexity/1", {label: lossesLabel, show: showLosses, provenance: showPlainProvenance}],
]);
