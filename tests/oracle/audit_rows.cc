// What an audit keeps of rows, against the weights of the same rows written out in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "audit/measure/reading.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

using audit::KeptRows;

constexpr std::int64_t kTokens = 90;

// A score of the request that a block is about, in double.
double score_of(const model::AttentionBlock& block, std::int64_t head, std::int64_t query, std::int64_t key) {
  const AttentionRequest& r = *block.request;
  const std::int64_t group = r.query.shape[1] / r.key.shape[1];
  const auto* q = static_cast<const float*>(r.query.data);
  const auto* k = static_cast<const float*>(r.key.data);
  double dot = 0;
  for (std::int64_t i = 0; i < r.query.shape[3]; ++i)
    dot += static_cast<double>(q[head * r.query.strides[1] + query * r.query.strides[2] + i]) *
           k[head / group * r.key.strides[1] + key * r.key.strides[2] + i];
  return dot * *r.scale;
}

// The fields of a row, from its weights under softmax.
std::map<RowField, double> written_out(const std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  const double least = *std::min_element(scores.begin(), scores.end());
  std::vector<double> w;
  double sum = 0;
  for (const double e : scores) sum += w.emplace_back(std::exp(e - top));
  double entropy = 0, outside_entropy = 0, peak = 0, outside_peak = 0;
  std::size_t outside_key = 0;
  const double outside = sum - w[0];
  for (std::size_t j = 0; j < w.size(); ++j) {
    entropy -= w[j] / sum * std::log(w[j] / sum);
    peak = std::max(peak, w[j] / sum);
    if (j == 0) continue;
    outside_entropy -= w[j] / outside * std::log(w[j] / outside);
    if (w[j] / outside > outside_peak) {
      outside_peak = w[j] / outside;
      outside_key = j;
    }
  }
  std::vector<std::size_t> order(w.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return w[a] > w[b]; });
  double near = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(audit::kTopKeys, order.size()); ++i)
    if (order[i] > 0 && w.size() - 1 - order[i] < audit::kNear) near += w[order[i]] / outside;
  return {{RowField::keys, static_cast<double>(w.size())},
          {RowField::entropy, entropy},
          {RowField::peak, peak},
          {RowField::first, w[0] / sum},
          {RowField::peak_outside, outside_peak},
          {RowField::entropy_outside, outside_entropy},
          {RowField::support, static_cast<double>(w.size())},
          {RowField::spread, top - least},
          {RowField::distance_outside, static_cast<double>(w.size() - 1 - outside_key)},
          {RowField::near_outside, near},
          {RowField::mass, 1.0}};
}

// Passes everything on to a RowWatch and checks what it kept of each block.
class CheckedWatch final : public model::AttentionObserver {
 public:
  explicit CheckedWatch(audit::RowWatch& watch) : watch_(watch) {}
  const RowStatistics* wanted(const model::AttentionBlock& block) override { return watch_.wanted(block); }
  void seen(const model::AttentionBlock& block) override {
    watch_.seen(block);
    const KeptRows& kept = watch_.kept(0);
    for (std::size_t i = 0; i < kept.positions.size(); ++i) {
      const std::int64_t position = kept.positions[i], query = position - block.position;
      if (query < 0 || query >= block.tokens) continue;
      for (std::int64_t head = 0; head < block.heads; ++head) check(block, head, query, position, i);
    }
  }
  int checked() const { return checked_; }

 private:
  void check(const model::AttentionBlock& block, std::int64_t head, std::int64_t query, std::int64_t position,
             std::size_t i) {
    std::vector<double> scores;
    for (std::int64_t key = 0; key <= position; ++key) scores.push_back(score_of(block, head, query, key));
    const float* const found = watch_.kept(0).row(4, block.layer, block.first_head + head, i);
    for (const auto& [field, wanted] : written_out(scores)) {
      EXPECT_NEAR(found[static_cast<std::size_t>(field)], wanted, 1e-4 * (1 + std::abs(wanted)))
          << kFieldNames[static_cast<std::size_t>(field)] << " of layer " << block.layer << ", head "
          << block.first_head + head << ", position " << position;
      ++checked_;
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    for (std::size_t g = 0; g < kGapOctaves.size(); ++g) {
      // A key within rounding of the edge may count or not.
      const auto within = [&](double gap) {
        return std::count_if(scores.begin(), scores.end(), [&](double e) { return top - e <= gap; });
      };
      EXPECT_GE(found[kPlainFields + g], within(kGapOctaves[g] - 1e-4));
      EXPECT_LE(found[kPlainFields + g], within(kGapOctaves[g] + 1e-4));
    }
  }

  audit::RowWatch& watch_;
  int checked_ = 0;
};

// ln of the sum of exp(score) of every head, in the last row of a block.
struct LogPartitions final : model::AttentionObserver {
  std::vector<double> log_partition;
  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    for (std::int64_t head = 0; head < block.heads; ++head) {
      double sum = 0;
      for (std::int64_t key = 0; key < block.position + block.tokens; ++key)
        sum += std::exp(score_of(block, head, block.tokens - 1, key));
      log_partition.push_back(std::log(sum));
    }
  }
};

std::vector<model::Token> audited_tokens() {
  Random random(3);
  std::vector<model::Token> tokens;
  for (std::int64_t i = 0; i < kTokens; ++i) tokens.push_back(static_cast<model::Token>(random.size(0, 96)));
  return tokens;
}

TEST(AuditRows, AreWhatTheWeightsWrittenOutSay) {
  const Folder folder{"audit-rows"};
  // A sharp head among flat ones.
  TinyModel{.context = 128, .sharpened_layer = 1, .sharpened_head = 2, .sharpened_by = 8}.write(folder /
                                                                                                "m.gguf");
  const model::Model model(folder / "m.gguf");
  for (const std::int64_t block : {7, 64}) {
    model::SessionSettings settings;
    settings.block = block;
    model::Session session(model, settings);
    audit::RowWatch watch(model.configuration(), block, {{1, 5, 40, 63, 64, 89}});
    CheckedWatch checked(watch);
    session.set_observer(&checked);
    session.feed(audited_tokens());
    EXPECT_EQ(checked.checked(), 6 * 2 * 4 * 11) << "block " << block;
  }
}

// What a sink takes is missing from the mass; the rest of a row is of the weights over it, as softmax has them.
TEST(AuditRows, MassIsWhatASinkLeaves) {
  const Folder folder{"audit-rows-sink"};
  TinyModel{.layers = 1, .context = 128}.write(folder / "m.gguf");
  const model::Model model(folder / "m.gguf");
  const std::vector<double> c = {0.0, 0.5, 20.0, 3000.0};
  const auto rows_under = [&](const AnyNormalizer& normalizer) {
    model::SessionSettings settings;
    settings.normalizers.emplace(1, 4, normalizer);
    model::Session session(model, settings);
    audit::RowWatch watch(model.configuration(), session.block(), {{5, 40, 89}});
    const model::Watching watching(session, watch);
    session.feed(audited_tokens());
    return watch.take(0);
  };
  const KeptRows plain = rows_under(Softmax{}), sunk = rows_under(Sink{.c = c});
  const auto at = [](const KeptRows& rows, std::int64_t head, std::size_t i, RowField field) {
    return rows.row(4, 0, head, i)[static_cast<std::size_t>(field)];
  };
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(at(sunk, 0, i, RowField::mass), 1.0, 1e-6);
    for (std::int64_t head = 1; head < 4; ++head) {
      // Z / (c + Z), and peak = exp(largest) / Z: of no more keys than there are, so Z >= exp(largest) >= Z / n.
      const double mass = at(sunk, head, i, RowField::mass);
      EXPECT_GT(mass, 0.0);
      EXPECT_LT(mass, 1.0);
      EXPECT_NEAR(at(sunk, head, i, RowField::peak), at(plain, head, i, RowField::peak), 1e-5);
      EXPECT_NEAR(at(sunk, head, i, RowField::entropy), at(plain, head, i, RowField::entropy), 1e-4);
    }
  }
  // A row by itself: the mass of head 2 at the last position, from its log-partition.
  LogPartitions probe;
  model::SessionSettings settings;
  settings.normalizers.emplace(1, 4, Sink{.c = c});
  model::Session session(model, settings);
  const model::Watching watching(session, probe);
  session.feed(audited_tokens());
  for (std::int64_t head = 0; head < 4; ++head) {
    const double sum = std::exp(probe.log_partition[static_cast<std::size_t>(head)]);
    EXPECT_NEAR(at(sunk, head, 2, RowField::mass), sum / (sum + c[static_cast<std::size_t>(head)]), 1e-5);
  }
}

}  // namespace
}  // namespace sharpmax::test
