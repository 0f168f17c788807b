// Which heads should run under a rule: a greedy search over groups of heads, coarse to fine.
//
// Six blocks of layers, then single layers, then single heads: each group in turn is switched (off if any of
// its heads is on) and stays so where the score improves. The order is fixed, so the same scores give the
// same search.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/transformer/normalizer_table.h"

namespace sharpmax::audit {

class HeadSearch {
 public:
  // `on`: what a head runs under that is switched on, [layer, head] of all; `members`: those that are at the
  // start, whose score is `start`. At most `budget` tables are handed out.
  HeadSearch(model::NormalizerTable on, std::vector<bool> members, double start, std::int64_t budget);

  // The next table to try; none: the search is over. Each must be answered by report() before the next.
  std::optional<model::NormalizerTable> next();
  void report(double score);

  const std::vector<bool>& members() const noexcept { return members_; }
  double best() const noexcept { return best_; }
  // What next() handed out last: "off: layers 0-4".
  const std::string& last() const noexcept { return last_; }

 private:
  struct Group {
    std::string name;
    std::vector<std::size_t> heads;
  };
  void add_layers(std::int64_t first, std::int64_t end);
  model::NormalizerTable table_of(const std::vector<bool>& members) const;

  model::NormalizerTable on_;
  std::vector<bool> members_, tried_;
  std::set<std::vector<bool>> seen_;
  std::vector<Group> groups_;
  std::size_t group_ = 0;
  double best_;
  std::int64_t budget_;
  std::string last_;
};

}  // namespace sharpmax::audit
