#include "audit/certificate/certificate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/numbers.h"
#include "base/threads.h"
#include "machine/blas.h"
#include "model/product/product.h"
#include "model/transformer/rope.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kTokens = 1024;  // taken through the projection together

void make_unit(const model::Configuration& c, const float* embedding, double* out) {
  const double width = static_cast<double>(c.width);
  double mean = 0.0, squares = 0.0;
  for (std::int64_t i = 0; i < c.width; ++i) mean += static_cast<double>(embedding[i]) / width;
  if (c.norm != model::NormKind::layer) mean = 0.0;
  for (std::int64_t i = 0; i < c.width; ++i) {
    out[i] = static_cast<double>(embedding[i]) - mean;
    squares += out[i] * out[i];
  }
  const double factor = 1.0 / std::sqrt(squares / width + c.epsilon);
  for (std::int64_t i = 0; i < c.width; ++i) out[i] *= factor;
}

}  // namespace

std::vector<double> unit_inputs(const model::Model& model, const std::vector<model::Token>& tokens) {
  const model::Configuration& c = model.configuration();
  std::vector<double> inputs(tokens.size() * to_size(c.width));
  std::vector<float> row(to_size(c.width));
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    unpack_row(model.weights().embedding, tokens[t], row.data());
    bool finite = true;
    for (float& x : row) {
      x *= static_cast<float>(c.embedding_scale);
      finite = finite && std::isfinite(x);
    }
    if (!finite)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: the embedding of token {} is not all finite", model.name(), tokens[t]));
    make_unit(c, row.data(), inputs.data() + t * to_size(c.width));
  }
  return inputs;
}

std::vector<double> project(const FoldedHead& head, const FoldedSide& side,
                            const std::vector<double>& inputs) {
  const auto count = static_cast<std::int64_t>(inputs.size()) / head.width;
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) out.insert(out.end(), side.offset.begin(), side.offset.end());
  gemm(1.0, Matrix<const double>(inputs.data(), count, head.width),
       transpose(Matrix<const double>(side.matrix.data(), head.features, head.width)), 1.0,
       Matrix<double>(out.data(), count, head.features));
  return out;
}

Magnitudes magnitudes_of(const model::Model& model, const FoldedHead& head, const FoldedSide& side) {
  constexpr float kUp = 1.0f + 0x1p-22f;  // more than the rounding to float takes off
  const std::int64_t vocabulary = model.configuration().vocabulary, turned = 2 * head.pairs;
  Magnitudes m{vocabulary, head.pairs + head.features - turned, {}};
  m.values.reserve(to_size(m.count * m.groups));
  for (std::int64_t first = 0; first < vocabulary; first += kTokens) {
    std::vector<model::Token> tokens(to_size(std::min(kTokens, vocabulary - first)));
    std::iota(tokens.begin(), tokens.end(), static_cast<model::Token>(first));
    const std::vector<double> projected = project(head, side, unit_inputs(model, tokens));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const double* const x = projected.data() + t * to_size(head.features);
      const auto add = [&](double size) {
        m.values.push_back(static_cast<float>(size * (1.0 + side.storage_error)) * kUp);
      };
      for (std::int64_t i = 0; i < turned; i += 2)
        add(std::hypot(x[i], x[i + 1]) +
            std::hypot(side.rounding[to_size(i)], side.rounding[to_size(i + 1)]));
      for (std::int64_t i = turned; i < head.features; ++i) add(std::abs(x[i]) + side.rounding[to_size(i)]);
    }
  }
  return m;
}

namespace {

constexpr std::int64_t kKeys = 512;     // tokens tried as keys
constexpr std::int64_t kOffsetsAtOnce = 256;  // of one product
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Tokens with the largest bounds of their scores under this query.
std::vector<model::Token> candidates_of(const Magnitudes& query, const Magnitudes& key, std::int64_t token) {
  std::vector<float> bounds(to_size(key.count));
  gemm(1.0f, Matrix<const float>(key.values.data(), key.count, key.groups),
       Matrix<const float>(query.values.data() + token * query.groups, query.groups, 1), 0.0f,
       Matrix<float>(bounds.data(), key.count, 1));
  std::vector<model::Token> tokens(bounds.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto wanted = static_cast<std::ptrdiff_t>(std::min(kKeys, key.count));
  std::partial_sort(tokens.begin(), tokens.begin() + wanted, tokens.end(),
                    [&](model::Token a, model::Token b) {
                      return std::pair(-bounds[to_size(a)], a) < std::pair(-bounds[to_size(b)], b);
                    });
  tokens.resize(to_size(wanted));
  return tokens;
}

// The query turned for keys `first` .. first + count - 1 tokens before it, [offset, feature].
std::vector<double> turned(const FoldedHead& head, const std::vector<double>& frequencies,
                           const std::vector<double>& query, std::int64_t first, std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t t = first; t < first + count; ++t) {
    out.insert(out.end(), query.begin(), query.end());
    double* const row = out.data() + (t - first) * head.features;
    for (std::int64_t pair = 0; pair < head.pairs; ++pair) {
      const double angle = static_cast<double>(t) * frequencies[to_size(pair)];
      const double x = query[to_size(2 * pair)], y = query[to_size(2 * pair + 1)];
      row[2 * pair] = x * std::cos(angle) - y * std::sin(angle);
      row[2 * pair + 1] = y * std::cos(angle) + x * std::sin(angle);
    }
  }
  return out;
}

double capped(double score, double cap) { return cap > 0 ? cap * std::tanh(score / cap) : score; }

// The best and the worst key at every offset. The token itself is the only one at offset 0.
struct Extremes {
  std::vector<double> most, least;  // [offset]
  std::vector<model::Token> most_token, least_token;
};

void look_at(Extremes& found, double score, model::Token token) {
  if (score > found.most.back()) found.most.back() = score, found.most_token.back() = token;
  if (score < found.least.back()) found.least.back() = score, found.least_token.back() = token;
}

Extremes extremes_of(const model::Model& model, const FoldedHead& head, const std::vector<model::Token>& keys,
                     model::Token token, std::int64_t length) {
  const std::vector<double> query = project(head, head.query, unit_inputs(model, {token}));
  const std::vector<double> rows = project(head, head.key, unit_inputs(model, keys));
  const std::vector<double> own = project(head, head.key, unit_inputs(model, {token}));
  const model::Rope* const rope = model.configuration().rope_of(0, 0);
  const auto frequencies = rope ? model::rope_frequencies(*rope).per_position : std::vector<double>();
  const double scale = model.configuration().attention_scale;
  const auto count = static_cast<std::int64_t>(keys.size());
  Extremes found;
  for (std::int64_t first = 0; first < length; first += kOffsetsAtOnce) {
    const std::int64_t offsets = std::min(kOffsetsAtOnce, length - first);
    const std::vector<double> queries = turned(head, frequencies, query, first, offsets);
    std::vector<double> scores(to_size(offsets * count));
    gemm(scale, Matrix<const double>(queries.data(), offsets, head.features),
         transpose(Matrix<const double>(rows.data(), count, head.features)), 0.0,
         Matrix<double>(scores.data(), offsets, count));
    for (std::int64_t t = 0; t < offsets; ++t) {
      found.most.push_back(-kInfinity), found.least.push_back(kInfinity);
      found.most_token.push_back(token), found.least_token.push_back(token);
      if (first + t == 0) {
        const double dot = std::inner_product(query.begin(), query.end(), own.begin(), 0.0);
        look_at(found, capped(scale * dot, head.cap), token);
        continue;
      }
      for (std::int64_t k = 0; k < count; ++k)
        look_at(found, capped(scores[to_size(t * count + k)], head.cap), keys[to_size(k)]);
    }
  }
  return found;
}

// One key of a row for the peak, the least for all others.
void take_better(AttainedRow& best, const Extremes& e, model::Token token, double beta) {
  const auto high = std::max_element(e.most.begin(), e.most.end()) - e.most.begin();
  const double most = e.most[to_size(high)];
  std::ptrdiff_t low = high == 0 ? 1 : 0;
  double tail = 0.0;
  for (std::ptrdiff_t t = 0; t < std::ssize(e.least); ++t) {
    if (t == high) continue;
    if (e.least[to_size(t)] < e.least[to_size(low)]) low = t;
    tail += std::exp(beta * (e.least[to_size(t)] - most));
  }
  const double spread = most - e.least[to_size(low)], peak = 1.0 / (1.0 + tail);
  if (spread > best.spread) {
    best.spread = spread;
    best.query = token;
    best.high = e.most_token[to_size(high)], best.high_offset = high;
    best.low = e.least_token[to_size(low)], best.low_offset = low;
  }
  if (peak > best.peak) {
    best.peak = peak;
    best.text.assign(e.least_token.rbegin(), e.least_token.rend());
    best.text[best.text.size() - 1 - to_size(high)] = e.most_token[to_size(high)];
  }
}

}  // namespace

AttainedRow attack(const model::Model& model, const FoldedHead& head, const Magnitudes& query,
                   const Magnitudes& key, const Attack& how) {
  AttainedRow best{.length = how.length};
  if (how.length < 2) return best;
  for (const std::int64_t token : how.queries) {
    const std::vector<model::Token> keys = candidates_of(query, key, token);
    const auto name = static_cast<model::Token>(token);
    take_better(best, extremes_of(model, head, keys, name, how.length), name, how.beta);
  }
  return best;
}

namespace {

constexpr std::int64_t kQueriesTried = 16;     // as the query of an attained row
constexpr std::int64_t kLongestRow = 1 << 13;  // of an attained row

// The share of work done, reported by any thread.
class Meter {
 public:
  Meter(double total, std::function<void(double)> progress) : total_(total), progress_(std::move(progress)) {}
  void advance(double work) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    done_ += work;
    progress_(std::min(1.0, done_ / total_));
  }

 private:
  double total_, done_ = 0.0;
  std::function<void(double)> progress_;
  std::mutex mutex_;
};

// Multiplications, roughly.
double norm_work(const model::Configuration& c) {
  const double features = static_cast<double>(c.head_width);
  return 1000.0 * features * features * features;
}
double vocabulary_work(const model::Configuration& c) {
  const double tokens = static_cast<double>(c.vocabulary);
  return tokens * tokens * (static_cast<double>(c.head_width) - 0.5 * static_cast<double>(c.rope.features));
}

void certify_vocabulary(const model::Model& model, const CertificateSettings& settings, HeadCertificate& head,
                        Meter& meter) {
  const FoldedHead folded = fold_head(model, head.layer, head.head);
  const Magnitudes query = magnitudes_of(model, folded, folded.query),
                   key = magnitudes_of(model, folded, folded.key);
  const LargestProduct found =
      largest_product(query, key, kQueriesTried, [&](double work) { meter.advance(work); });
  // The rounding of q . k, relative to the sum of the sizes that `found` bounds.
  const double largest = folded.scale * found.bound * (1.0 + folded.dot_error);
  head.vocabulary_spread = capped_spread(2.0 * largest, folded.cap);
  const std::int64_t seen = head.window > 0 ? head.window : model.configuration().context;
  const std::int64_t length = std::min({seen, model.configuration().context, kLongestRow});
  head.attained = attack(model, folded, query, key, {length, settings.beta, found.queries});
}

}  // namespace

bool bounded_by_vocabulary(const model::Model& model) {
  const model::Configuration& c = model.configuration();
  return c.rope.features > 0 && !model.weights().positions && c.query_key_norm == model::QueryKeyNorm::none;
}

double certificate_work(const model::Model& model, std::int64_t layer) {
  const model::Configuration& c = model.configuration();
  return norm_work(c) + (layer == 0 && bounded_by_vocabulary(model) ? vocabulary_work(c) : 0.0);
}

void check_certifiable(const model::Model& model) {
  const model::Configuration& c = model.configuration();
  if (c.query_growth.beta != 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: queries grow with their position (1 + {} ln(1 + position / {})), so no bound of the "
                            "spread holds at every length",
                            model.name(), c.query_growth.beta, c.query_growth.length));
}

namespace {

HeadCertificate certify_norms(const model::Model& model, std::int64_t layer, std::int64_t index) {
  const model::Configuration& c = model.configuration();
  HeadCertificate head{.layer = layer, .head = index, .window = c.window_of(layer, index)};
  if (c.query_key_norm != model::QueryKeyNorm::none) {
    const NormalizedHead normalized = normalized_head(model, layer, index);
    head.norm_spread = capped_spread(normalized.bound, c.attention_cap);
    head.norm_reached = normalized.reached;
  } else {
    const FoldedHead folded = fold_head(model, layer, index);
    const model::Rope* const rope = c.rope_of(layer, index);
    head.norm_spread = capped_spread(norm_bound(folded), folded.cap);
    head.norm_reached = reached_spread(folded, rope ? *rope : model::Rope{});
  }
  return head;
}

}  // namespace

HeadCertificate certify_head(const model::Model& model, std::int64_t layer, std::int64_t index,
                             const CertificateSettings& settings) {
  HeadCertificate head = certify_norms(model, layer, index);
  Meter silent(1.0, nullptr);
  if (layer == 0 && bounded_by_vocabulary(model)) certify_vocabulary(model, settings, head, silent);
  return head;
}

std::vector<HeadCertificate> certify_heads(const model::Model& model, const CertificateSettings& settings) {
  check_certifiable(model);
  const model::Configuration& c = model.configuration();
  const int threads = threads_for(settings.threads);
  const SerialBlas serial;
  const std::int64_t heads = c.layers * c.heads;
  const bool by_vocabulary = bounded_by_vocabulary(model);
  Meter meter(static_cast<double>(heads) * norm_work(c) +
                  (by_vocabulary ? static_cast<double>(c.heads) * vocabulary_work(c) : 0.0),
              settings.progress);
  std::vector<HeadCertificate> certificates(static_cast<std::size_t>(heads));
  parallel_for(threads, heads, [&](std::int64_t index, int) {
    certificates[static_cast<std::size_t>(index)] = certify_norms(model, index / c.heads, index % c.heads);
    meter.advance(norm_work(c));
  });
  if (!by_vocabulary) return certificates;
  parallel_for(threads, c.heads, [&](std::int64_t head, int) {
    certify_vocabulary(model, settings, certificates[static_cast<std::size_t>(head)], meter);
  });
  return certificates;
}

// Certificates of heads as JSON and back, for runs that are kept in pieces. Numbers are texts: a bound may be infinite.

namespace {

double number_in(const Json& json) {
  const std::string text = json.get<std::string>();
  double value = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::bad_file, fmt::format("a number is '{}'", text));
  return value;
}

std::string number_text(double value) { return fmt::format("{}", value); }

Json attained_json(const AttainedRow& row) {
  return {{"length", row.length},       {"spread", number_text(row.spread)},
          {"peak", number_text(row.peak)}, {"query", row.query},
          {"high", row.high},           {"high_offset", row.high_offset},
          {"low", row.low},             {"low_offset", row.low_offset}};
}

AttainedRow attained_in(const Json& json) {
  AttainedRow row;
  json.at("length").get_to(row.length);
  row.spread = number_in(json.at("spread"));
  row.peak = number_in(json.at("peak"));
  json.at("query").get_to(row.query);
  json.at("high").get_to(row.high);
  json.at("high_offset").get_to(row.high_offset);
  json.at("low").get_to(row.low);
  json.at("low_offset").get_to(row.low_offset);
  return row;
}

}  // namespace

Json to_json(const HeadCertificate& head) {
  Json json = {{"layer", head.layer},
               {"head", head.head},
               {"window", head.window},
               {"norm_spread", number_text(head.norm_spread)},
               {"norm_reached", number_text(head.norm_reached)}};
  if (head.vocabulary_spread) json["vocabulary_spread"] = number_text(*head.vocabulary_spread);
  if (head.attained) json["attained"] = attained_json(*head.attained);
  return json;
}

HeadCertificate certificate_in(const Json& json) {
  HeadCertificate head;
  json.at("layer").get_to(head.layer);
  json.at("head").get_to(head.head);
  json.at("window").get_to(head.window);
  head.norm_spread = number_in(json.at("norm_spread"));
  head.norm_reached = number_in(json.at("norm_reached"));
  if (json.contains("vocabulary_spread")) head.vocabulary_spread = number_in(json.at("vocabulary_spread"));
  if (json.contains("attained")) head.attained = attained_in(json.at("attained"));
  return head;
}

}  // namespace sharpmax::audit
