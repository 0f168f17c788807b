// What watching costs: the same tokens read plainly, with the rows that an audit keeps watched, and with
// every row watched, in turn. The predictions after the last token are compared before anything is timed.
//
//   audit_cost MODEL TEXT [TOKENS [REPEATS]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "audit/measure/reading.h"
#include "base/threads.h"
#include "model/transformer/session.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::audit {
namespace {

using Positions = std::vector<std::vector<std::int64_t>>;

class Contest {
 public:
  Contest(const model::Model& model, std::vector<model::Token> tokens)
      : model_(model), tokens_(std::move(tokens)), session_(model, {.capacity = size()}) {}

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

  // Seconds; the logits after the last token stay in `logits`.
  double read(const Positions& watched, std::vector<float>& logits) {
    RowWatch watch(model_.configuration(), session_.block(), watched);
    session_.rewind(0);
    session_.set_observer(watched.empty() ? nullptr : &watch);
    const auto start = std::chrono::steady_clock::now();
    const auto last = session_.feed_for_last(tokens_);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    logits.assign(last.begin(), last.end());
    session_.set_observer(nullptr);
    return seconds;
  }

 private:
  const model::Model& model_;
  std::vector<model::Token> tokens_;
  model::Session session_;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

int run(int argc, char** argv) {
  if (argc < 3) throw Error(ErrorCode::bad_argument, "audit_cost MODEL TEXT [TOKENS [REPEATS]]");
  const std::int64_t count = argc > 3 ? std::atoll(argv[3]) : 8192;
  const int repeats = argc > 4 ? std::atoi(argv[4]) : 5;
  const model::Model model{argv[1]};
  std::vector<model::Token> tokens =
      model.tokenizer().encode(read_text(argv[2]), model::SpecialText::as_text);
  if (static_cast<std::int64_t>(tokens.size()) < count || count < 64 || repeats < 1)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; TOKENS from 64 to that and REPEATS from 1 were expected",
                            tokens.size()));
  tokens.resize(static_cast<std::size_t>(count));
  Contest contest(model, std::move(tokens));
  Positions kept, every(1);
  for (const std::int64_t length : default_lengths(count)) kept.push_back(rows_near(length));
  every[0].resize(static_cast<std::size_t>(count));
  std::iota(every[0].begin(), every[0].end(), 0);

  std::vector<float> plain, other;
  std::vector<double> seconds, with_kept, with_every;
  for (int i = 0; i < repeats; ++i) {
    seconds.push_back(contest.read({}, plain));
    const auto [low, high] = std::minmax_element(plain.begin(), plain.end());
    const auto compare = [&, range = static_cast<double>(*high) - *low](const Positions& watched) {
      const double taken = contest.read(watched, other);
      if (const double off = largest_difference(plain, other); !(off <= 1e-4 * range))
        throw Error(ErrorCode::bad_argument,
                    fmt::format("watching changed a logit by {} of a range of {}", off, range));
      return taken / seconds.back();
    };
    with_kept.push_back(compare(kept));
    with_every.push_back(compare(every));
  }
  fmt::print(
      "{{\"tokens\": {}, \"threads\": {}, \"repeats\": {}, \"plain_seconds\": {:.3f}, \"kept_rows\": {:.4f}, "
      "\"every_row\": {:.4f}}}\n",
      count, threads_for(0), repeats, median_of(seconds), median_of(with_kept), median_of(with_every));
  return 0;
}

}  // namespace
}  // namespace sharpmax::audit

int main(int argc, char** argv) {
  try {
    return sharpmax::audit::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "audit_cost: {}\n", error.what());
    return 1;
  }
}
