// `sharpmax bound MODEL`: from the weights alone, what no input can do to any head.
#include "cli/bound_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "storage/files.h"
#include "theory/dispersion.h"

namespace sharpmax::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestText = 1e6;  // tokens: as long as the contexts on offer

void check(const BoundModelOptions& o) {
  if (!(o.peak > 0 && o.peak < 1))
    throw Error(ErrorCode::bad_argument,
                fmt::format("--peak {}: a share between 0 and 1 was wanted", o.peak));
  if (!(o.beta > 0) || !std::isfinite(o.beta))
    throw Error(ErrorCode::bad_argument, fmt::format("--beta {}: a number above 0 was wanted", o.beta));
}

}  // namespace

double BoundModelRun::horizon() const {
  return std::max(kLongestText, static_cast<double>(model->configuration().context));
}

double BoundModelRun::log_length(const audit::HeadCertificate& head) const {
  const double spread = head.spread();
  return std::isfinite(spread) ? theory::log_sharp_length(spread, options.peak, options.beta) : spread;
}

bool BoundModelRun::useful(const audit::HeadCertificate& head) const {
  const double most = head.window > 0 ? static_cast<double>(head.window) : horizon();
  return log_length(head) < std::log(most);
}

void add_bound_model_options(CLI::App& words, BoundModelOptions& o) {
  constexpr const char* kModel = "Model";
  words.add_option("MODEL", o.model, "Bounds of every head, from the weights of this GGUF file or folder");
  words.add_flag("--all", o.all, "Show every head (default: the surest, and one line a layer)")
      ->group(kModel);
  words.add_option("--rope-scaling", o.rope_scaling, "none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR")
      ->option_text("HOW")
      ->group(kModel);
  words.add_option("--rope-base", o.rope_base, "Of the rotation's frequencies (default: the file's)")
      ->option_text("X")
      ->group(kModel);
  words.add_option("--threads", o.threads, "How many (default: OpenMP's); the results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->group(kModel);
}

int bound_model(const BoundModelOptions& o) {
  check(o);
  cannot_resume("bound has no --resume, and the bounds found so far are lost");
  const model::Model model =
      open_model({.model = o.model, .rope_scaling = o.rope_scaling, .rope_base = o.rope_base});
  BoundModelRun run{.options = o, .model = &model, .sha256 = model_checksum(model.file())};
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  {
    Progress progress(Progress::Elsewhere::lines);
    audit::CertificateSettings settings{.beta = o.beta, .threads = o.threads};
    settings.progress = [&](double share) {
      progress.show(fmt::format("{:.0f} % of the bounds, {} left", 100.0 * share,
                                duration(seconds() * (1.0 - share) / std::max(share, 1e-9))));
    };
    run.heads = audit::certify_heads(model, settings);
  }
  run.seconds = seconds();
  const Json results = to_json(run);
  hand_over([&] { return results; });
  const std::string json = results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_report_files(o.report, results);
  if (o.json == "-") {
    print(json);
    return kOk;
  }
  if (!o.json.empty()) write_text(o.json, json);
  print(report_of(run, colour_wanted()));
  return kOk;
}

}  // namespace sharpmax::cli
