// Rows that were measured for every arm, normalizer and size, by `sharpmax retrieve` and `sharpmax train`; and what both show of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/kind/kinds.h"
#include "report/view/looks.h"

namespace sharpmax::report {

// A normalizer as it was tested; that of the training has values of its own, so it is told from its namesake.
struct TestedRule {
  std::string text;
  bool own;

  TestedRule(std::string given, bool of_training = false) : text(std::move(given)), own(of_training) {}  // NOLINT: a text is a rule
  bool operator==(const TestedRule&) const = default;
  std::string name() const { return text + (own ? " (own)" : ""); }
  std::string short_name() const { return family_of(text) + (own ? " (own)" : ""); }
};

// One arm, and of a mixture one of its tasks.
struct ArmTask {
  std::string arm, subtask;

  ArmTask(std::string name, std::string part = {}) : arm(std::move(name)), subtask(std::move(part)) {}  // NOLINT: an arm is a panel
  bool operator==(const ArmTask&) const = default;
  std::string name() const { return subtask.empty() ? arm : arm + ", " + subtask; }
};

class MeasuredRows {
 public:
  // Rows of models name a task of a mixture, and say whether the normalizer is the training's own.
  enum class Of { heads, models };
  MeasuredRows(const Json& results, Of of);

  const Json& results() const { return results_; }
  const std::vector<ArmTask>& panels() const { return panels_; }
  const std::vector<std::string>& normalizers() const { return normalizers_; }
  const std::vector<double>& sizes() const { return sizes_; }

  ArmTask panel_of(const Json& row) const;
  TestedRule rule_of(const Json& row) const;
  std::vector<TestedRule> rules(const ArmTask& panel) const;
  // Null where none was measured.
  const Json* row(const ArmTask& panel, const TestedRule& rule, double n) const;
  // The first normalizer of this family.
  std::optional<std::string> member(std::string_view family) const;
  // Own normalizers are dashed, since a member of the family may be drawn beside them.
  Look look(const TestedRule& rule) const;

 private:
  const Json& results_;
  Of of_;
  std::vector<ArmTask> panels_;
  std::vector<std::string> normalizers_;
  std::vector<double> sizes_;
  std::vector<Look> looks_;
};

inline std::string share_of(const Json& row, const char* name) { return formatted(kShare, number_at(row, name)); }

// A curve of one field over the sizes; that of the accuracy has its intervals.
Curve curve_of(const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule, const char* field, Format format);
Curve accuracy_curve(const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule);
// A line per normalizer, a column per size; a cell is empty where nothing was measured.
Table right_by_size(const MeasuredRows& rows, const ArmTask& panel, const std::vector<TestedRule>& rules, const std::vector<double>& sizes);
inline Cell accuracy_cell(const Json* row) { return row ? Cell(number_at(*row, "accuracy")) : Cell(); }

// Which sets, or answers, were lost to dispersion and which to ranking, by size: a bar for each, with the legend. Hard attention tells
// them apart. all: the field that counts them.
Bars failure_bars(Bars begun, const MeasuredRows& rows, const ArmTask& panel, const TestedRule& rule, const char* all);

// Of max retrieval.
class RetrievalRows : public MeasuredRows {
 public:
  explicit RetrievalRows(const Json& results) : MeasuredRows(results, Of::heads) {}

  std::vector<std::string> arms() const;

  // Those that are drawn where there are many.
  std::vector<std::string> main_normalizers() const;
  // The arm that stands for paper A, and the one that stands for us.
  std::optional<std::string> paper_arm() const;
  std::optional<std::string> our_arm() const;
  double chance() const;
  double largest_trained() const;
};

// Two sections: what no input can do, and all numbers. Throws Error{bad_argument} if the summary has a row that was not measured.
std::vector<Section> retrieval_numbers(const Json& results);

// Every normalizer has a curve; those beyond a few are not drawn at first.
Chart accuracy_chart(const RetrievalRows& rows, const std::string& arm);
Chart entropy_chart(const RetrievalRows& rows, const std::string& arm);
// Without curves where the results do not hold all four.
Chart two_by_two_chart(const RetrievalRows& rows);
// Paper A's figure 2: one panel per size, one line of panels for each arm and normalizer. Those that the story is about are on paper too.
HeatMaps heat_maps_of(const RetrievalRows& rows);

}  // namespace sharpmax::report
