// Rows whose keys lie on several ranks: shares scored where they are, rounds over them, the same output everywhere.
#include "sharpmax/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "attention/door/split_call.h"
#include "attention/door/validate.h"
#include "attention/parts/described_row.h"
#include "base/numbers.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

constexpr const char* kForwardDoor = "attend_split";

void check_forward(const AttentionRequest& own, std::int64_t keys, const KeyRun& run, const AnyNormalizer& normalizer,
                   const AnyMutableTensor<4>& out, const RowStatistics* statistics) {
  if (keys < 0)
    throw Error(ErrorCode::bad_argument, fmt::format("attend_split: the number of keys is {}; it must be at least 0", keys));
  check_own_keys(kForwardDoor, own, keys, run, normalizer);
  const Extents<4> wanted{own.query.shape[0], own.query.shape[1], own.query.shape[2], own.value.shape[3]};
  if (out.shape != wanted)
    throw Error(ErrorCode::bad_argument, fmt::format("attend_split: out has shape {}; it must be {}", shape_text(out.shape),
                                                     shape_text(wanted)));
  if (statistics == nullptr) return;
  if (statistics->map.present())
    throw Error(ErrorCode::unsupported,
                "attend_split: statistics.map is not available over ranks; ask for column_mass of each rank's own keys");
  std::vector<NamedView> outputs;
  check_statistics(kForwardDoor, *statistics,
                   {own.query.shape[0], own.query.shape[1], own.query.shape[2], run.size()}, outputs);
}

// Which statistics are asked for, in words: all ranks must ask for the same.
std::string wanted_text(const RowStatistics* statistics) {
  if (statistics == nullptr) return "";
  std::string text;
  each_row_statistic([&](const auto& statistic) {
    if ((statistics->*statistic.view).present()) text += fmt::format(", {}", statistic.name());
  });
  if (statistics->top_keys.present()) text += fmt::format(", {} top_keys", statistics->top_keys.shape[3]);
  if (statistics->gap_counts.present()) text += fmt::format(", gap_counts of {}", fmt::join(statistics->gaps, " "));
  if (statistics->column_mass.present()) text += ", column_mass";
  return text;
}

// visit(element) for all elements of a view, last index fastest.
template <class T, std::size_t Rank, class Visit>
void for_each_element(const TensorView<T, Rank>& view, const Visit& visit) {
  Extents<Rank> at{};
  if (std::any_of(view.shape.begin(), view.shape.end(), [](std::int64_t size) { return size == 0; })) return;
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < Rank; ++i) offset += at[i] * view.strides[i];
    visit(view.data[offset]);
    std::size_t i = Rank;
    while (i > 0 && ++at[i - 1] == view.shape[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

// visit(element) for every number that statistics have of rows.
template <class Visit>
void for_each_number_of_rows(const RowStatistics& statistics, const Visit& visit) {
  const auto all_of = [&](const auto& view) {
    if (view.present()) for_each_element(view, visit);
  };
  each_row_statistic([&](const auto& statistic) { all_of(statistics.*statistic.view); });
  all_of(statistics.top_keys);
  all_of(statistics.top_weights);
  all_of(statistics.gap_counts);
}

void share_statistics(Group& group, int owner, const RowStatistics& statistics) {
  Group::Bytes bytes;
  for_each_number_of_rows(statistics, [&](const auto& number) {
    const auto* const from = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), from, from + sizeof number);
  });
  const Group::Bytes all = group.broadcast(bytes, owner);
  const std::byte* at = all.data();
  for_each_number_of_rows(statistics, [&](auto& number) {
    std::memcpy(&number, at, sizeof number);
    at += sizeof number;
  });
}

// One share: the rank that has it attends, and all get the output.
void attend_in_one_place(const AttentionRequest& own, const AnyNormalizer& normalizer, Group& group, const AnyMutableTensor<4>& out,
                         const RowStatistics* statistics, const Execution& execution) {
  const int owner = group.size() - 1;
  if (group.rank() == owner) {
    const auto attend_as = [&]<class T>(T) {
      Tensor<T, 4> result(out.shape);
      attend(own, normalizer, result, statistics, execution);
      std::vector<double> row(to_size(out.shape[3]));
      for (RowIndex at{}; at.batch < out.shape[0]; ++at.batch)
        for (at.head = 0; at.head < out.shape[1]; ++at.head)
          for (at.row = 0; at.row < out.shape[2]; ++at.row) {
            read_row(AnyTensor<4>(result), at, row);
            write_row(out, at, row);
          }
    };
    if (own.query.dtype == DType::float64)
      attend_as(double{});
    else
      attend_as(float{});
  }
  share_rows(group, owner, out);
  if (statistics != nullptr) share_statistics(group, owner, *statistics);
}

void write_outputs(const SplitBlock& block, const AnyMutableTensor<4>& out) {
  std::vector<double> values(to_size(out.shape[3]));
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    const SplitOutcome& outcome = block.split[i]->outcome();
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = outcome.scale * (outcome.sum.empty() ? 0.0 : outcome.sum[c]);
    write_row(out, block.rows[i].at, values);
  }
}

// One more round for statistics that the sums of a row do not hold.
void describe_block(SplitCall& call, const SplitBlock& block, const RowStatistics& statistics) {
  const DetailWishes wishes(statistics);
  std::vector<std::unique_ptr<DescribedRow>> described;
  std::vector<InRounds*> rows;
  for (const std::unique_ptr<SplitRow>& row : block.split) {
    described.push_back(std::make_unique<DescribedRow>(*row, wishes));
    rows.push_back(described.back().get());
  }
  call.run_rounds_of(rows, block, [&](ShareScorer& scorer, std::size_t row, const ShareScores& share, SharePart& part) {
    const std::span<double> weights = scorer.exact_weights();
    block.split[row]->final_weights(share, weights);
    described[row]->visit(share, weights, part.numbers);
    if (!statistics.column_mass.present()) return;
    const RowIndex& at = block.rows[row].at;
    for (std::size_t i = 0; i < weights.size(); ++i)
      statistics.column_mass(at.batch, at.head, scorer.first_key() - call.run().begin + static_cast<std::int64_t>(i)) += weights[i];
  });
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    const RowIndex& at = block.rows[i].at;
    record_split_row(statistics, at.batch, at.head, at.row, block.split[i]->outcome(), described[i]->details());
  }
}

}  // namespace

KeyRun keys_of_rank(std::int64_t keys, int rank, int size) {
  const ShareRun shares = shares_of_rank(shares_of(keys), rank, size);
  return {std::min(shares.begin * kShareKeys, keys), std::min(shares.end * kShareKeys, keys)};
}

void attend_split(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                  AnyMutableTensor<4> out, const RowStatistics* statistics, const Execution& execution) {
  const KeyRun run = keys_of_rank(std::max<std::int64_t>(keys, 0), group.rank(), group.size());
  check_together(group, kForwardDoor, call_text(own, keys, normalizer) + wanted_text(statistics),
                 [&] { check_forward(own, keys, run, normalizer, out, statistics); });
  choose_target();
  if (keys <= kShareKeys) return attend_in_one_place(own, normalizer, group, out, statistics, execution);
  if (statistics != nullptr && statistics->column_mass.present())
    for_each_element(statistics->column_mass, [](double& mass) { mass = 0.0; });
  SplitCall call(own, keys, normalizer, group, threads_for(execution.threads));
  call.for_each_block(statistics != nullptr, [&](SplitBlock& block) {
    write_outputs(block, out);
    if (statistics != nullptr) describe_block(call, block, *statistics);
  });
}

}  // namespace sharpmax
