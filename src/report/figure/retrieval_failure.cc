#include <fmt/format.h>

#include <map>

#include "report/figure/drawing/bars.h"
#include "report/figure/drawing/words.h"
#include "report/figure/retrieval_drawings.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Outcome {
  const char* field;
  Paint paint;
  const char* name;
};
constexpr Outcome kOutcomes[] = {
    {"hard_right_rule_right", Paint::green, "both right"},
    {"hard_wrong_rule_right", Paint::sky, "only the rule right: averaging helped"},
    {"hard_right_rule_wrong", Paint::vermillion, "only hard attention right: dispersion"},
    {"hard_wrong_rule_wrong", Paint::grey, "both wrong: ranking"},
};

// Counts of sets at each size, over the seeds.
struct Counts {
  double sets = 0.0;
  double of[std::size(kOutcomes)] = {};
};

std::map<double, Counts> counted(const Json& results, const std::string& arm, const std::string& normalizer) {
  std::map<double, Counts> by_size;
  for (const Json& row : results.at("results")) {
    if (row.at("arm") != arm || row.at("normalizer") != normalizer) continue;
    Counts& counts = by_size[row.at("n").get<double>()];
    counts.sets += row.at("sets").get<double>();
    for (std::size_t k = 0; k < std::size(kOutcomes); ++k)
      counts.of[k] += row.at(kOutcomes[k].field).get<double>();
  }
  return by_size;
}

}  // namespace

std::string failure_figure(const Json& results, const RetrievalRows& rows) {
  const std::string arm = rows.paper_arm().value_or(rows.arms().front());
  const std::string normalizer = rows.member("softmax").value_or(rows.normalizers().front());
  Bars bars{.title = fmt::format("Why it fails: {}, {} training", normalizer, arm),
            .subtitle =
                "Hard attention puts all weight on the largest score. Where it is right and the rule is "
                "wrong, weight "
                "was dispersed; where both are wrong, the scores rank a wrong item first.",
            .described = {},
            .legend = {},
            .across = share_axis("share of sets"),
            .beside = {"right", "dispersion", "ranking"},
            .bars = {},
            .mark = {}};
  for (const Outcome& outcome : kOutcomes)
    bars.legend.push_back({outcome.name, Entry::Sample::box, {outcome.paint, ""}});
  for (const auto& [n, counts] : counted(results, arm, normalizer)) {
    if (!(counts.sets > 0.0)) continue;
    Bar bar{.name = "n = " + count(n), .pieces = {}, .beside = {}, .low = {}, .high = {}};
    for (std::size_t k = 0; k < std::size(kOutcomes); ++k)
      bar.pieces.push_back({counts.of[k] / counts.sets, kOutcomes[k].paint});
    bar.beside = {percent((counts.of[0] + counts.of[1]) / counts.sets), percent(counts.of[2] / counts.sets),
                  percent(counts.of[3] / counts.sets)};
    bars.described += fmt::format("{}: right {}, dispersion {}, ranking {}. ", bar.name, bar.beside[0],
                                  bar.beside[1], bar.beside[2]);
    bars.bars.push_back(std::move(bar));
  }
  return drawn(bars);
}

}  // namespace sharpmax::report
