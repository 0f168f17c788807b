// audit_model(): what every head of a model does on a text, at several lengths, and where it goes blunt.
//
// Excerpts of the text are read once each, to the longest length; rows of attention in the last quarter of every length are
// kept on the way, and everything in the result is computed from them. "Outside" leaves the first token out, on which many
// heads put their weight: weights outside are those of the other keys, divided by their sum.
//
// analysis.h and probe.h have the two other forms of an audit. All three write schema sharpmax.audit/1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/model.h"
#include "sharpmax/statistics.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

inline constexpr const char* kAuditSchema = "sharpmax.audit/1";
// Beside the file of the results: the rows that were kept, from which a resumed audit goes on.
inline constexpr const char* kRowsEnding = ".rows.npz";

inline constexpr std::int64_t kLeastLength = 16;      // tokens
inline constexpr std::int64_t kSketchTokens = 512;    // by default
inline constexpr std::int64_t kSketchMap = 48;        // cells of a map each way, or as many as there are tokens if fewer
inline constexpr std::int64_t kSketchKeys = 5;        // of a row, the heaviest
inline constexpr std::int64_t kSketchQuantiles = 65;  // of the scores of the last row

struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};
// "3.5": layer 3, head 5, both counted from 0. Throws RequestError, which names the field `head`.
HeadPlace parse_head(std::string_view text, std::int64_t layers, std::int64_t heads);

// Kind of a head, from what it did on one text: another text may make it another kind.
enum class HeadKind {
  sink,        // most weight lies on the first token
  local,       // of the rest, most lies on the last few tokens
  sharp,       // picks: the largest weight outside stays large as the text grows
  dispersing,  // its entropy outside grows with ln n
  mixed,       // none of these
};
inline constexpr std::array kHeadKinds = {HeadKind::sink, HeadKind::local, HeadKind::sharp, HeadKind::dispersing,
                                          HeadKind::mixed};
std::string_view name_of(HeadKind kind);

// Rules that decide the kind of a head.
struct Thresholds {
  double blunt = 0.1;       // a head is blunt if its typical peak outside is below
  double sink = 0.5;        // sink: typical weight of the first token above
  double local = 0.5;       // local: typical weight near, outside, above
  double sharp = 0.3;       // sharp: typical peak outside above
  double dispersing = 0.5;  // dispersing: slope of the entropy outside against ln n above, or blunt

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("blunt", self.blunt);
    visit("sink", self.sink);
    visit("local", self.local);
    visit("sharp", self.sharp);
    visit("dispersing", self.dispersing);
  }
};

// Numbers of a head that its kind depends on.
struct KindSigns {
  double first = 0;         // weight of the first token
  double near_outside = 0;  // of the weight outside, the part within 32 tokens
  double peak_outside = 0;
  double entropy_slope = 0;  // against ln n; 0 if only one length is known
  bool operator==(const KindSigns&) const = default;
};

// Statistics of one row of attention. Not-a-number if almost no weight lies outside.
enum class RowField : std::size_t {
  keys,              // n, unmasked
  entropy,           // nats
  peak,              // the largest weight
  first,             // the weight of the first token
  peak_outside,      // the largest weight outside
  entropy_outside,   // nats
  support,           // keys with weight > 0
  spread,            // largest minus least score
  distance_outside,  // tokens from the query back to the heaviest key outside
  near_outside,      // of the weight outside, what the heaviest eight keys carry within 32 tokens
  mass,              // sum of the weights; 1 less what goes to a sink of the normalizer. The others are of weights over it
  gaps,              // and the next seven: keys within kGapOctaves[i] of the largest score
};
inline constexpr std::size_t kPlainFields = static_cast<std::size_t>(RowField::gaps);
inline constexpr std::array<std::string_view, kPlainFields> kFieldNames = {
    "keys",   "entropy",          "peak",        "first", "peak_outside", "entropy_outside", "support",
    "spread", "distance_outside", "near_outside", "mass"};

// One statistic of one head at one length, over rows; not-a-number if no row has a value.
struct FieldSummary {
  double median = 0, lower_quartile = 0, upper_quartile = 0;
  // 95 % of the median, from the order of the medians of runs of eight tokens, since neighbors are not independent;
  // docs/reference/audit.md has the reason for eight. Not-a-number below six runs.
  double low = 0, high = 0;
};

// One head at one length.
struct HeadSummary {
  std::array<FieldSummary, kPlainFields> fields;
  std::array<double, kGapOctaves.size()> gap_counts{};  // medians
  // The largest weight that softmax allows among so many keys whose scores lie within the median spread; not-a-number
  // under other normalizers.
  double peak_bound = 0;

  const FieldSummary& operator[](RowField field) const { return fields[static_cast<std::size_t>(field)]; }
};

// Length at which the median peak outside falls below the threshold.
struct Blunting {
  enum class How {
    from_start,    // below already at the shortest length
    measured,      // between two measured lengths
    forecast,      // past the longest
    not_foreseen,  // not within kFarthest tokens by the forecast
    unknown,       // nothing lies outside
  };
  How how = How::unknown;
  double length = 0;  // measured: a straight line between neighbors in logarithms; forecast: a damped power law
};
std::string_view name_of(Blunting::How how);
inline constexpr double kFarthest = 1 << 20;

struct HeadFindings {
  HeadPlace place;
  HeadKind kind = HeadKind::mixed;
  double entropy_slope = 0, entropy_slope_outside = 0;  // against ln n
  double peak_slope = 0;                                // of ln peak outside against ln n
  Blunting blunting;
  std::vector<HeadSummary> at;  // by length
};

// Error of forecasts from the lengths up to `from` at length `to`: medians and 90th percentiles, over heads, of the factor
// exp|ln forecast - ln measured|.
struct ForecastErrors {
  std::int64_t from = 0, to = 0;
  std::int64_t heads = 0;  // with values at both
  double damping = 0;      // chosen on lengths up to `from` alone
  double ours = 0, ours_90 = 0;
  double no_change = 0, no_change_90 = 0;
  double power_law = 0, power_law_90 = 0;
};

// What the heads of some layers do, at every length.
struct TypicalHead {
  std::array<std::vector<double>, kPlainFields> median_over_heads;  // of the heads' medians, by length
  std::vector<std::int64_t> blunt_heads;                            // how many, by length

  const std::vector<double>& typical(RowField field) const {
    return median_over_heads[static_cast<std::size_t>(field)];
  }
};
// Layers that see a window, or everything, apart: only the latter can disperse.
struct LayerKind : TypicalHead {
  std::string name;  // "window" or "full"
  std::int64_t layers = 0;
};

struct Findings : TypicalHead {
  std::vector<double> lengths;
  std::int64_t trained = 0;  // the model's own context
  std::int64_t layers = 0, heads = 0, excerpts = 0;
  Thresholds thresholds;
  std::vector<HeadFindings> by_head;      // [layer, head]
  std::vector<LayerKind> layer_kinds;     // two, or none if all layers are alike
  double damping = 0;                     // of forecasts past the longest length
  std::vector<ForecastErrors> forecasts;  // between lengths that were measured

  // Whether weights of some head do not sum to one.
  bool loses_mass() const;
  std::int64_t count(HeadKind kind) const;
};

// One head on one short excerpt. Weights are as attend() used them: under normalizers whose weights sum to one, so does every
// row of a map.
struct HeadSketch {
  // [row, column]: over the queries of block r the mean of the weight that lies on the keys of block c. Block i of S holds
  // tokens ceil(i n / S) to ceil((i + 1) n / S) - 1.
  std::vector<double> map;
  // [row, kSketchKeys], heaviest first; a row with fewer keys ends in key -1 and weight 0.
  std::vector<std::int64_t> top_keys;
  std::vector<double> top_weights;
  // Of the last query: the number of keys that it sees, and kSketchQuantiles quantiles of their scores, evenly spaced from
  // the least to the largest, as the normalizer gets them.
  std::int64_t keys = 0;
  std::vector<double> scores;
};

struct Sketches {
  std::vector<std::string> tokens;  // texts of the excerpt's tokens
  std::int64_t map_size = 0;
  std::vector<std::int64_t> rows;  // positions of the queries, ascending
  std::int64_t heads_per_layer = 0;
  std::vector<HeadSketch> heads;  // [layer, head]
};

// Choices of an audit: its reading and its measurements.
struct AuditChoices {
  TextRequest text;
  std::vector<std::int64_t> lengths;  // empty: 64, 128, ... to the context, at most 8192
  std::int64_t excerpts = 4;
  double threshold = Thresholds{}.blunt;
  std::int64_t sketch = kSketchTokens;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    constexpr std::string_view kWhat = "What to measure";
    TextRequest::each_field(self.text, visit);
    visit(common({"lengths", "N,N...", kWhat,
                  "Lengths in tokens, with commas (default: 64, 128, ... to the context, at most 8192)",
                  range(kLeastLength, 1 << 30)}),
          self.lengths);
    visit({"excerpts", "N", kWhat, "Number of parts of the text to read, at most", range(1, 1 << 20)}, self.excerpts);
    visit({"threshold", "P", kWhat, "Median peak weight below which a head counts as blunt", range(1e-9, 1)},
          self.threshold);
    visit({"sketch", "N", kWhat, "Length of the excerpt for the maps of every head; 0 leaves them out", range(0, 1 << 16)},
          self.sketch);
  }
};

struct AuditRequest : AuditChoices {
  ModelRequest model;
  Saving saving;
  Sharing sharing;
  ReadingOrder order;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, visit);
    AuditChoices::each_field(self, visit);
    Saving::each_field(self.saving, visit);
    Sharing::each_field(self.sharing, visit);
    ReadingOrder::each_field(self.order, visit);
  }
};

// What the results depend on. An audit is resumed under another threshold or sketch too: the kept rows do not depend on them.
// `tokens`, `lengths` and `excerpts` are those that were read.
struct AuditSettings : AuditChoices {
  ModelSettings model;
  std::vector<std::int64_t> starts;  // of the excerpts, in tokens of the text
  std::int64_t block = 0;

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("model", self.model);
    visit.fields(self);
    visit("starts", self.starts);
    visit("block", self.block);
  }
};

struct AuditResult {
  Provenance provenance;
  AuditSettings settings;
  bool complete = false;
  std::string verdict;               // two sentences about the findings
  std::optional<Findings> findings;  // none until every excerpt was read to one length
  std::optional<Sketches> sketches;
};

// Throws Error, and Interrupted if the listener does; the lengths that were read are then beside `saving.json`, or the
// excerpts in the directory of `sharing`.
AuditResult audit_model(const AuditRequest& request, Listener& listener = nobody());

// How far the audit in `sharing.directory` is. Throws RequestError if there is none.
RunStatus status_of(const AuditRequest& request);

Json to_json(const AuditResult& result);     // numbers of findings and sketches have six digits
AuditResult audit_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
