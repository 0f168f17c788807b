#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/retrieval_drawings.h"
#include "report/figure/retrieval_rows.h"

namespace sharpmax::report {

std::vector<Figure> retrieval_figures(const nlohmann::ordered_json& results) {
  const RetrievalRows rows(results);
  Gathered gathered;
  if (rows.arms().empty()) return {};
  gathered.add("two-by-two", two_by_two_chart(rows));
  for (const std::string& arm : rows.arms()) {
    const std::string of_arm =
        arm == rows.arms().front() ? "" : std::string(1, '-').append(as_file_name(arm));
    gathered.add("accuracy" + of_arm, accuracy_chart(results, rows, arm));
    gathered.add("entropy" + of_arm, entropy_chart(rows, arm));
  }
  gathered.add("failure", failure_figure(results, rows));
  gathered.add("heat-maps", heat_map_figure(results, rows));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
