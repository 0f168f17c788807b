#include "report/kind/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharpmax::report {

MeasuredRows::MeasuredRows(const Json& results, Of of) : results_(results), of_(of) {
  for (const Json& row : results.at("summary")) {
    add_once(panels_, panel_of(row));
    add_once(normalizers_, text_at(row, "normalizer"));
    add_once(sizes_, size_at(row, "n"));
  }
  std::sort(sizes_.begin(), sizes_.end());
  looks_ = looks_of(normalizers_);
}

ArmTask MeasuredRows::panel_of(const Json& row) const {
  return {text_at(row, "arm"), of_ == Of::models ? text_at(row, "subtask") : ""};
}

TestedRule MeasuredRows::rule_of(const Json& row) const {
  return {text_at(row, "normalizer"), of_ == Of::models && truth_at(row, "own")};
}

std::vector<TestedRule> MeasuredRows::rules(const ArmTask& panel) const {
  std::vector<TestedRule> found;
  for (const Json& row : results_.at("summary"))
    if (panel_of(row) == panel) add_once(found, rule_of(row));
  return found;
}

const Json* MeasuredRows::row(const ArmTask& panel, const TestedRule& rule, double n) const {
  for (const Json& row : results_.at("summary"))
    if (row.at("n") == n && row.at("arm") == panel.arm && panel_of(row) == panel && rule_of(row) == rule) return &row;
  return nullptr;
}

std::optional<std::string> MeasuredRows::member(std::string_view family) const {
  for (const std::string& name : normalizers_)
    if (family_of(name) == family) return name;
  return std::nullopt;
}

Look MeasuredRows::look(const TestedRule& rule) const {
  const auto found = std::find(normalizers_.begin(), normalizers_.end(), rule.text);
  Look look = looks_[static_cast<std::size_t>(found - normalizers_.begin())];
  if (rule.own && family_of(rule.text) != "softmax") look.dash = kDashed;
  return look;
}

Curve curve_of(const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule, const char* field, Format format) {
  Curve curve{.name = rule.name(), .look = rows.look(rule), .format = format, .code = true};
  for (const double n : rows.sizes())
    if (const Json* row = rows.row(panel, rule, n)) add_point(curve, n, number_at(*row, field));
  return curve;
}

Curve accuracy_curve(const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule) {
  Curve curve = curve_of(rows, panel, rule, "accuracy", kShare);
  for (Point& point : curve.points) {
    const Json& row = *rows.row(panel, rule, point.at);
    point.low = number_at(row, "accuracy_low"), point.high = number_at(row, "accuracy_high");
  }
  return curve;
}

Table right_by_size(const MeasuredRows& rows, const ArmTask& panel, const std::vector<TestedRule>& rules, const std::vector<double>& sizes) {
  Table right{.id = "right", .title = "Right answers", .columns = {{"items"}}};
  for (const double n : sizes) right.columns.push_back({short_count(n), kShare});
  for (const TestedRule& rule : rules) {
    std::vector<Cell> cells{rule.text};
    for (const double n : sizes) cells.push_back(accuracy_cell(rows.row(panel, rule, n)));
    right.rows.push_back(std::move(cells));
  }
  return right;
}

namespace {

struct Outcome {
  const char* field;
  Paint paint;
  const char* name;
};
constexpr Outcome kOutcomes[] = {
    {"hard_right_rule_right", Paint::green, "both right"},
    {"hard_wrong_rule_right", Paint::sky, "only the normalizer right: averaging helped"},
    {"hard_right_rule_wrong", Paint::vermillion, "only hard attention right: dispersion"},
    {"hard_wrong_rule_wrong", Paint::grey, "both wrong: ranking"},
    {"binding", Paint::purple, "both wrong, the right place found: binding"},
};
constexpr std::size_t kRanking = 3, kBinding = 4;  // binding is counted among the answers that both get wrong

struct Outcomes {
  double all = 0.0, of[std::size(kOutcomes)] = {};

  void add(const Json& row, const char* all_of_it) {
    all += row.at(all_of_it).get<double>();
    for (std::size_t k = 0; k < kBinding; ++k) of[k] += row.at(kOutcomes[k].field).get<double>();
    if (!row.contains(kOutcomes[kBinding].field)) return;
    const auto binding = row.at(kOutcomes[kBinding].field).get<double>();
    of[kBinding] += binding, of[kRanking] -= binding;
  }
};

}  // namespace

Bars failure_bars(Bars bars, const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule, const char* all) {
  std::map<double, Outcomes> by_size;
  for (const Json& row : rows.results().at("results"))
    if (rows.panel_of(row) == panel && rows.rule_of(row) == rule) by_size[row.at("n").get<double>()].add(row, all);
  const bool bound = std::any_of(by_size.begin(), by_size.end(), [](const auto& one) { return one.second.of[kBinding] > 0.0; });
  const std::size_t kinds = bound ? std::size(kOutcomes) : kBinding;
  bars.beside = {"right", "dispersion", "ranking"};
  if (bound) bars.beside.push_back("binding");
  for (std::size_t k = 0; k < kinds; ++k) bars.legend.push_back({kOutcomes[k].name, Entry::Sample::box, {kOutcomes[k].paint, ""}});
  for (const auto& [n, counts] : by_size) {
    if (!(counts.all > 0.0)) continue;
    Bar bar{.name = "n = " + count(n)};
    for (std::size_t k = 0; k < kinds; ++k) bar.pieces.push_back({counts.of[k] / counts.all, kOutcomes[k].paint});
    bar.beside.push_back(percent((counts.of[0] + counts.of[1]) / counts.all));
    for (std::size_t k = 2; k < kinds; ++k) bar.beside.push_back(percent(counts.of[k] / counts.all));
    bars.described += bar.name + ":";
    for (std::size_t k = 0; k < bar.beside.size(); ++k) bars.described += fmt::format("{} {} {}", k > 0 ? "," : "", bars.beside[k], bar.beside[k]);
    bars.described += ". ";
    bars.bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace sharpmax::report
