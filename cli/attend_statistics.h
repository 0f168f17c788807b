// The statistics of one call: room for them, their summary per head, their names in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/table.h"
#include "sharpmax/attention.h"
#include "storage/npy.h"

namespace sharpmax::cli {

struct StatisticsWishes {
  bool every_row = false;  // top keys, gap counts, column mass, map: only if they will be written
  std::int64_t top = 8;
  std::vector<double> gaps;
  std::int64_t map_rows = 0, map_columns = 0;  // 0: no map
};

struct Summary {
  double mean = 0, median = 0, min = 0, max = 0;
};

class StatisticsArrays {
 public:
  StatisticsArrays(const AttentionRequest& request, const StatisticsWishes& wishes);

  const RowStatistics& views() const noexcept { return views_; }
  std::vector<NamedNpyView> named_views(const std::string& prefix) const;
  // One object per head, over the rows of every batch entry that have a key and no NaN.
  Json summary_json() const;
  std::string summary_table(bool colour) const;

 private:
  struct Head {
    std::int64_t rows = 0, masked = 0, poisoned = 0;
    Summary entropy, peak_weight, effective_support, support, mass, temperature;
  };
  Head summarise(std::int64_t head) const;

  StatisticsWishes wishes_;
  std::int64_t batches_, heads_, queries_;
  std::vector<std::vector<double>> doubles_;  // never resized once a view looks at them
  std::vector<std::vector<std::int64_t>> integers_;
  RowStatistics views_;
};

}  // namespace sharpmax::cli
