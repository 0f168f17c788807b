// `sharpmax bound`: what no row of scores can do, given how far scores spread.
#include "cli/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/in_quotes.h"
#include "cli/attend.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/table.h"
#include "normalizer/definition.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Paper A measured spreads of 5.69 on average in Gemma 2B, 14.78 at most.\n"
    "\n"
    "Examples:\n"
    "  sharpmax bound --spread 5.69 --n 16384 --normalizer all\n"
    "  sharpmax bound --spread 5.69 --n 128,8192,1e6 --peak 0.5 \\\n"
    "      --normalizer softmax --normalizer ssmax:s=0.4 -o bounds.html\n"
    "  sharpmax bound MODEL                 what the weights of a model prove\n"
    "  sharpmax bound --attack              does any input break a bound?";

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

// 16384 or 1e6: a whole number of keys.
double keys_in(std::string_view word) {
  double n = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(n))
    refuse(fmt::format("--n: {} is not a number", in_quotes(word)));
  if (!(n >= 1.0) || n != std::floor(n) || n > theory::kMostKeys)
    refuse(fmt::format("--n: {} is not a whole number of keys from 1 to 1e300", in_quotes(word)));
  return n;
}

std::vector<double> sizes_in(std::string_view text) {
  constexpr std::size_t kMostSizes = 64;
  std::vector<double> sizes;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    sizes.push_back(keys_in(text.substr(0, comma)));
    if (comma == text.size()) break;
    text.remove_prefix(comma + 1);
  }
  if (sizes.size() > kMostSizes)
    refuse(
        fmt::format("--n: {} numbers of keys were given; at most {} were wanted", sizes.size(), kMostSizes));
  return sizes;
}

std::vector<AnyNormalizer> normalizers_of(const BoundOptions& o) {
  if (!o.normalizers.empty() && o.normalizers != std::vector<std::string>{"all"}) {
    std::vector<AnyNormalizer> chosen = parse_normalizers(o.normalizers);
    for (const AnyNormalizer& normalizer : chosen) {
      try {
        check_heads(normalizer, 1, "bound");
      } catch (const Error&) {
        refuse(fmt::format("--normalizer {}: a bound is of one head; one value of each parameter was wanted",
                           normalizer.text()));
      }
    }
    return chosen;
  }
  std::vector<AnyNormalizer> members;
  for (const NormalizerInfo& member : family()) members.emplace_back(member.name);
  return members;
}

BoundResults asked(const BoundOptions& o) {
  if (!o.spread) refuse("bound: no spread was given; --spread X was wanted, or a MODEL");
  if (!(*o.spread >= 0.0) || !std::isfinite(*o.spread))
    refuse(fmt::format("--spread: {} was given; a number of 0 or more was wanted", *o.spread));
  if (!(o.beta > 0.0) || !std::isfinite(o.beta))
    refuse(fmt::format("--beta: {} was given; a number above 0 was wanted", o.beta));
  if (o.level && !std::isfinite(*o.level))
    refuse(fmt::format("--level: {} was given; a finite number was wanted", *o.level));
  if (o.peak && !(*o.peak > 0.0 && *o.peak < 1.0))
    refuse(fmt::format("--peak: {} was given; a weight above 0 and below 1 was wanted", *o.peak));
  const double low = o.level.value_or(-0.5 * *o.spread);
  const BoundResults results{.spread = *o.spread,
                             .beta = o.beta,
                             .scores = {o.beta * low, o.beta * (low + *o.spread)},
                             .peak = o.peak,
                             .sizes = sizes_in(o.sizes.empty() ? "16384" : o.sizes)};
  if (!std::isfinite(results.scores.spread())) refuse("--spread times --beta is beyond what a double holds");
  return results;
}

NormalizerBounds bounds_of(const AnyNormalizer& normalizer, const BoundResults& asked) {
  NormalizerBounds bounds{.normalizer = normalizer.text()};
  try {
    for (const double n : asked.sizes)
      bounds.ranges.push_back(theory::peak_range(normalizer, n, asked.scores));
    if (asked.peak) bounds.loss = theory::peak_loss(normalizer, *asked.peak, asked.scores);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    bounds = {.normalizer = normalizer.text(), .refused = error.what()};
  }
  return bounds;
}

}  // namespace

void check_files(const BoundOptions& o, const char* schema) {
  CallFiles call(o.overwrite);
  call.reads_model(o.model.model);
  call.writes("--json", o.json, results_kind(schema));
  declare_report_files(call, o.report);
  call.check();
  check_report_files(o.report);
}

namespace {

int run_model(const BoundOptions& o) {
  if (o.spread || o.level || !o.sizes.empty() || !o.normalizers.empty() || o.attack)
    refuse(
        "with a MODEL spreads are what is looked for, under softmax; of the options of a given spread "
        "--peak, --beta, --json, -o and --figures go with it");
  BoundModelOptions asked = o.model;
  asked.peak = o.peak.value_or(asked.peak);
  asked.beta = o.beta;
  asked.json = o.json;
  asked.report = o.report;
  check_files(o, kBoundModelSchema);
  return bound_model(asked);
}

int run(const BoundOptions& o) {
  if (!o.model.model.empty()) return run_model(o);
  if (o.model.all || o.model.threads || !o.model.rope_scaling.empty() || o.model.rope_base)
    refuse("--all, --rope-scaling, --rope-base and --threads go with a MODEL; none was given");
  if (o.attack) {
    if (o.spread || o.level || o.peak || o.beta != 1.0 || !o.sizes.empty() || !o.normalizers.empty())
      refuse(
          "--attack tries every bound as it stands; of the other options only --seed, --json, -o and "
          "--figures "
          "go with it");
    return run_attacks(o);
  }
  BoundResults results = asked(o);
  check_files(o, "sharpmax.bound.spread/1");
  for (const AnyNormalizer& normalizer : normalizers_of(o))
    results.normalizers.push_back(bounds_of(normalizer, results));
  if (results.normalizers.size() == 1 && !results.normalizers[0].refused.empty())
    refuse(results.normalizers[0].refused);
  const Json json = to_json(results);
  if (!o.json.empty() && o.json != "-") write_text(o.json, json.dump(1) + "\n");
  write_report_files(o.report, json);
  hand_over([&] { return json; });
  if (o.json == "-")
    print(json_text(json));
  else
    print(report_of(results, colour_wanted()));
  return kOk;
}

}  // namespace

Command add_bound(CLI::App& program) {
  const auto options = std::make_shared<BoundOptions>();
  BoundOptions& o = *options;
  CLI::App* words =
      program.add_subcommand("bound", "How sharp attention can be at all: bounds, not measurements");
  words->footer(kFooter);
  add_bound_model_options(*words, o.model);
  words->add_option("--spread", o.spread, "How far the scores of a row may lie apart")->option_text("X");
  words->add_option("--n", o.sizes, "Numbers of keys (default 16384)")
      ->option_text("N,N...")
      ->default_str("");
  words->add_option("--normalizer", o.normalizers, "Which; may be given again (default all)")
      ->option_text("TEXT")
      ->allow_extra_args(false);
  words->add_option("--peak", o.peak, "Also: at which n is this weight lost, up to which is it sure?")
      ->option_text("W");
  words->add_option("--beta", o.beta, "Scores are multiplied by it first: 1 / temperature (default 1)")
      ->option_text("X");
  words
      ->add_option("--level", o.level,
                   "The lowest score there may be, for normalizers that change when all scores move together "
                   "(default: minus half the spread)")
      ->option_text("X");
  add_json_option(*words, o.json, "sharpmax.bound.spread/1", "Results");
  add_report_files(*words, o.report);
  add_overwrite_option(*words, o.overwrite, "Results");
  CLI::Option* attack =
      words->add_flag("--attack", o.attack, "Instead: try to break every bound, and tell how near it came")
          ->group("Attack");
  words->add_option("--seed", o.seed, "Where the attack begins (default 1)")
      ->option_text("N")
      ->needs(attack)
      ->group("Attack");
  return {words, [options] { return run(*options); }};
}

}  // namespace sharpmax::cli
