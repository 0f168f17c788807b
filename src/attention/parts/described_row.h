// Statistics of a split row that its sums do not hold: counts, places and single weights.
//
// They take one more round, in which the row's weights are final. Every number of it is merged exactly (a maximum, a
// minimum, a count), so no order of shares can be seen in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/parts/share_sums.h"
#include "sharpmax/statistics.h"

namespace sharpmax {

// Which of them are asked for.
struct DetailWishes {
  explicit DetailWishes(const RowStatistics& statistics);

  bool any = false;
  bool peak = false;              // peak weight, if the sums of the row cannot tell it
  std::size_t top = 0;            // number of heaviest keys
  std::span<const double> gaps;   // of gap counts
};

// As sharpmax/statistics.h has them. A row without keys has none; a poisoned row has NaN.
struct RowDetails {
  double score_spread = 0.0;
  double first_weight = 0.0;
  double peak_weight = 0.0;
  std::int64_t peak_key = -1;
  std::int64_t support = 0;
  std::vector<ScoredKey> top;  // heaviest first
  std::vector<std::int64_t> gap_counts;
};

// Of a row that is done, which must outlive it.
class DescribedRow final : public InRounds {
 public:
  DescribedRow(const SplitRow& row, const DetailWishes& wishes);

  bool done() const noexcept override { return done_; }
  // `weights`: final_weights() of the share.
  void visit(const ShareScores& share, std::span<const double> weights, std::vector<double>& numbers) const;
  void merge(SharePart& into, const SharePart& from) const override;
  void resolve(const SharePart& whole) override;

  const SplitRow& row() const noexcept { return row_; }
  const RowDetails& details() const noexcept { return details_; }

 private:
  enum Number : std::size_t { kLeast, kFirst, kSupport, kPeak, kPeakKey, kCounts };
  std::size_t keys_at() const { return kCounts + wishes_.gaps.size(); }
  void count_gaps(const ShareScores& share, std::span<double> counts) const;

  const SplitRow& row_;
  DetailWishes wishes_;
  bool done_ = false;
  RowDetails details_;
};

// Writes what is asked for of row [batch, head, query].
void record_split_row(const RowStatistics& statistics, std::int64_t batch, std::int64_t head, std::int64_t query,
                      const SplitOutcome& outcome, const RowDetails& details);

}  // namespace sharpmax
