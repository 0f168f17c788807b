#include "audit/certificate/certificate.h"

#include <algorithm>
#include <mutex>

#include "audit/certificate/norm_bound.h"
#include "audit/certificate/vocabulary.h"
#include "base/threads.h"
#include "machine/blas.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kQueriesTried = 16;     // as the query of an attained row
constexpr std::int64_t kLongestRow = 1 << 13;  // of an attained row

// The share of work done, told by any thread.
class Meter {
 public:
  Meter(double total, const std::function<void(double)>& progress) : total_(total), progress_(progress) {}
  void advance(double work) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    done_ += work;
    progress_(std::min(1.0, done_ / total_));
  }

 private:
  double total_, done_ = 0.0;
  const std::function<void(double)>& progress_;
  std::mutex mutex_;
};

bool tokens_are_all_that_enters(const model::Model& model) {
  return model.configuration().rope.features > 0 && !model.weights().positions;
}

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

std::vector<HeadCertificate> certify_heads(const model::Model& model, const CertificateSettings& settings) {
  const model::Configuration& c = model.configuration();
  const int threads = threads_for(settings.threads);
  const SerialBlas serial;
  const std::int64_t heads = c.layers * c.heads;
  const bool by_vocabulary = tokens_are_all_that_enters(model);
  Meter meter(static_cast<double>(heads) * norm_work(c) +
                  (by_vocabulary ? static_cast<double>(c.heads) * vocabulary_work(c) : 0.0),
              settings.progress);
  std::vector<HeadCertificate> certificates(static_cast<std::size_t>(heads));
  parallel_for(threads, heads, [&](std::int64_t index, int) {
    HeadCertificate& head = certificates[static_cast<std::size_t>(index)];
    head.layer = index / c.heads;
    head.head = index % c.heads;
    head.window = c.windows[static_cast<std::size_t>(head.layer)];
    const FoldedHead folded = fold_head(model, head.layer, head.head);
    head.norm_spread = capped_spread(norm_bound(folded), folded.cap);
    head.norm_reached = reached_spread(folded, c.rope);
    meter.advance(norm_work(c));
  });
  if (!by_vocabulary) return certificates;
  parallel_for(threads, c.heads, [&](std::int64_t head, int) {
    certify_vocabulary(model, settings, certificates[static_cast<std::size_t>(head)], meter);
  });
  return certificates;
}

}  // namespace sharpmax::audit
