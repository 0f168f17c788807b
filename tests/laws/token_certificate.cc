// Layer 0 sees tokens: what is certified of it against all pairs of them, and against texts that run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/certificate/certificate.h"
#include "model/transformer/session.h"
#include "support/attention_watch.h"
#include "support/plain_scores.h"
#include "support/tiny_architectures.h"

namespace sharpmax::test {
namespace {

using audit::HeadCertificate;
using model::Token;

class TokenCertificate : public testing::Test {
 protected:
  model::Model open(const TinyArchitecture& tiny, std::uint64_t seed = 1) {
    tiny.write(folder_ / "tiny.gguf", seed);
    return model::Model(folder_ / "tiny.gguf");
  }
  Folder folder_{"token-certificate"};
};

// All pairs of tokens at all offsets of the context.
struct BruteForce {
  double widest = 0.0;  // row
  double torus = 0.0;   // twice the largest sum of |q_f| |k_f|
};

BruteForce brute_force(const model::Model& model, std::int64_t head) {
  const model::Configuration& c = model.configuration();
  const PlainScores plain(model, 0, head);
  std::vector<Row> queries, keys;
  for (std::int64_t token = 0; token < c.vocabulary; ++token) {
    std::vector<float> row(static_cast<std::size_t>(c.width));
    unpack_row(model.weights().embedding, token, row.data());
    Row x(row.begin(), row.end());
    for (double& value : x) value = static_cast<float>(value) * static_cast<float>(c.embedding_scale);
    queries.push_back(plain.query(x));
    keys.push_back(plain.key(x));
  }
  const std::int64_t seen = c.windows[0] > 0 ? std::min(c.windows[0], c.context) : c.context;
  BruteForce found;
  for (std::size_t a = 0; a < queries.size(); ++a) {
    double most = plain.capped(plain.score(queries[a], keys[a], 0)), least = most;
    const std::size_t pairs = queries[a].size() / 2;
    for (std::size_t b = 0; b < keys.size(); ++b) {
      for (std::int64_t t = 1; t < seen; ++t) {
        const double score = plain.capped(plain.score(queries[a], keys[b], t));
        most = std::max(most, score);
        least = std::min(least, score);
      }
      const bool halves = c.rope.pairs == model::RotationPairs::halves;
      double sum = 0.0;
      const Row q = plain.turned(queries[a], 0), k = plain.turned(keys[b], 0);
      for (std::size_t p = 0; p < pairs; ++p) {
        const std::size_t x = halves ? p : 2 * p, y = halves ? p + pairs : 2 * p + 1;
        sum += std::hypot(q[x], q[y]) * std::hypot(k[x], k[y]);
      }
      found.torus = std::max(found.torus, 2.0 * c.attention_scale * sum);
    }
    found.widest = std::max(found.widest, most - least);
  }
  return found;
}

TEST_F(TokenCertificate, OfLayer0IsAboveEveryPairOfTokensAtEveryOffsetAndNear) {
  for (const char* name : {"llama", "qwen2", "gemma", "gemma2"}) {
    SCOPED_TRACE(name);
    const model::Model model = open({.name = name, .heads = 2, .kv_heads = 1});
    const auto certificates = audit::certify_heads(model, {.threads = 1});
    for (std::size_t head = 0; head < 2; ++head) {
      const HeadCertificate& found = certificates[head];
      const BruteForce brute = brute_force(model, static_cast<std::int64_t>(head));
      ASSERT_TRUE(found.vocabulary_spread && found.attained);
      const double torus = audit::capped_spread(brute.torus, model.configuration().attention_cap);
      fmt::print(
          "{} 0.{}: norms {:.3f}, tokens {:.3f} = {:.4f} of all angles = {:.3f} of {:.3f} within the "
          "context, attained {:.3f}\n",
          name, head, found.norm_spread, *found.vocabulary_spread, *found.vocabulary_spread / torus,
          *found.vocabulary_spread / brute.widest, brute.widest, found.attained->spread);
      EXPECT_GE(*found.vocabulary_spread, torus);
      EXPECT_LE(*found.vocabulary_spread, 1.001 * torus);  // float16 and float sums may take this much
      EXPECT_GE(*found.vocabulary_spread, brute.widest);
      EXPECT_LE(found.attained->spread, brute.widest * (1 + 1e-9));
      EXPECT_GE(found.attained->spread, 0.8 * brute.widest);  // 16 of 60 queries are tried
      EXPECT_LE(found.spread(), found.norm_spread);
    }
  }
}

TEST_F(TokenCertificate, TheTextThatWasFoundGivesThePeakThatWasPromised) {
  for (const char* name : {"llama", "qwen2", "gemma", "gemma2"}) {
    SCOPED_TRACE(name);
    const model::Model model = open({.name = name});
    for (const HeadCertificate& head : audit::certify_heads(model, {.threads = 1})) {
      if (!head.attained) continue;
      EXPECT_EQ(head.layer, 0);
      ASSERT_EQ(std::ssize(head.attained->text), head.attained->length);
      SpreadWatch watch(model.configuration());
      model::Session session(model, {.threads = 1});
      session.set_observer(&watch);
      session.feed(head.attained->text);
      EXPECT_NEAR(watch.last_peak[static_cast<std::size_t>(head.head)], head.attained->peak, 1e-4);
      EXPECT_GT(head.attained->peak, 3.0 / static_cast<double>(head.attained->length));
    }
  }
}

// Each token's queries and keys as attend() gets them, against what is said of their size.
class MagnitudeWatch : public model::AttentionObserver {
 public:
  MagnitudeWatch(const model::Model& model, const std::vector<Token>& tokens)
      : model_(model), tokens_(tokens) {
    for (std::int64_t head = 0; head < model.configuration().heads; ++head) {
      const audit::FoldedHead folded = audit::fold_head(model, 0, head);
      queries_.push_back(audit::magnitudes_of(model, folded, folded.query));
      keys_.push_back(audit::magnitudes_of(model, folded, folded.key));
    }
  }
  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    if (block.layer != 0) return;
    const std::int64_t kv_heads = block.request->key.shape[1];
    for (std::int64_t h = 0; h < block.heads; ++h)
      for (std::int64_t t = 0; t < block.tokens; ++t) {
        compare(block.request->query, h, t, queries_[static_cast<std::size_t>(h)]);
        compare(block.request->key, h * kv_heads / block.heads, t, keys_[static_cast<std::size_t>(h)]);
      }
  }
  int below = 0;         // sizes that were promised too small
  double largest = 0.0;  // promised over computed

 private:
  void compare(const AnyTensor<4>& x, std::int64_t head, std::int64_t row,
               const audit::Magnitudes& promised) {
    const auto& rope = model_.configuration().rope;
    const std::int64_t pairs = rope.features / 2;
    const bool halves = rope.pairs == model::RotationPairs::halves;
    for (std::int64_t g = 0; g < promised.groups; ++g) {
      const std::int64_t a = g >= pairs ? g + pairs : halves ? g : 2 * g, b = halves ? g + pairs : 2 * g + 1;
      const double size = g < pairs ? std::hypot(element(x, head, row, a), element(x, head, row, b))
                                    : std::abs(element(x, head, row, a));
      const double most = static_cast<double>(promised.values[static_cast<std::size_t>(
          tokens_[static_cast<std::size_t>(row)] * promised.groups + g)]);
      below += size > most;
      if (size > 1.0) largest = std::max(largest, most / size);
    }
  }
  const model::Model& model_;
  const std::vector<Token>& tokens_;
  std::vector<audit::Magnitudes> queries_, keys_;
};

TEST_F(TokenCertificate, KnowsTheSizeOfWhatTheForwardPassComputes) {
  for (const NamedArchitecture& c : tiny_architectures())
    for (const auto cache : {model::CacheType::float32, model::CacheType::float16}) {
      if (c.tiny.gpt2()) continue;
      SCOPED_TRACE(c.name);
      const model::Model model = open(c.tiny);
      std::vector<Token> tokens(48);
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(i);
      MagnitudeWatch watch(model, tokens);
      model::Session session(model, {.cache = cache, .threads = 1});
      session.set_observer(&watch);
      session.feed(tokens);
      EXPECT_EQ(watch.below, 0);
      EXPECT_GT(watch.largest, 1.0);
      EXPECT_LT(watch.largest, 1.1);
    }
}

}  // namespace
}  // namespace sharpmax::test
