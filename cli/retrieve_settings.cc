#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/in_quotes.h"
#include "cli/attend.h"
#include "cli/retrieve.h"
#include "retrieval/task/settings_fields.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

using namespace retrieval;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

template <class Number>
Number number_from(const std::string& flag, const std::string& text, const char* kind) {
  Number value{};
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || stop != text.data() + text.size())
    refuse(fmt::format("{}: {} is not {}", flag, in_quotes(text), kind));
  return value;
}

void place(const std::string& flag, const std::string& text, bool& into) {
  if (text != "true" && text != "false")
    refuse(fmt::format("{}: {} is neither true nor false", flag, in_quotes(text)));
  into = text == "true";
}
void place(const std::string& flag, const std::string& text, std::int64_t& into) {
  into = number_from<std::int64_t>(flag, text, "a whole number");
}
void place(const std::string& flag, const std::string& text, double& into) {
  into = number_from<double>(flag, text, "a number");
}
void place(const std::string&, const std::string& text, Encoder& into) { into = encoder_from(text); }
void place(const std::string&, const std::string& text, Schedule& into) { into = schedule_from(text); }
void place(const std::string&, const std::string& text, Crowding& into) { into = crowding_from(text); }
void place(const std::string&, const std::string& text, Precision& into) { into = precision_from(text); }
void place(const std::string&, const std::string& text, AnyNormalizer& into) {
  into = AnyNormalizer::parse(text);
}

std::vector<std::string> pieces_of(const std::string& text, char separator) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return pieces;
}

// The preset's own arm of that name, or the one that has it everywhere.
Arm arm_of(const std::string& name, const RunSettings& chosen) {
  for (const Arm& arm : chosen.arms)
    if (arm.name == name) return arm;
  return named_arm(name);
}

void place_arms(const RetrieveOptions& options, RunSettings& run) {
  if (options.arms.empty()) return;
  std::vector<Arm> arms;
  for (const std::string& name : pieces_of(options.arms, ',')) {
    for (const Arm& arm : arms)
      if (arm.name == name) refuse(fmt::format("--arms: {} is given twice", in_quotes(name)));
    arms.push_back(arm_of(name, run));
  }
  run.arms = std::move(arms);
}

void place_seeds(const RetrieveOptions& options, RunSettings& run) {
  if (options.seeds > 0 && !options.seed_list.empty())
    refuse("--seeds counts seeds, --seed-list names them; give one of the two");
  if (options.seeds > 0) {
    run.seeds.clear();
    for (std::int64_t seed = 0; seed < options.seeds; ++seed)
      run.seeds.push_back(static_cast<std::uint64_t>(seed));
  }
  if (!options.seed_list.empty()) {
    run.seeds.clear();
    for (const std::string& text : pieces_of(options.seed_list, ','))
      run.seeds.push_back(number_from<std::uint64_t>("--seed-list", text, "a whole number, 0 or more"));
  }
}

// Normalizers have commas within: they are separated by semicolons, or each has its own flag.
void place_normalizers(const RetrieveOptions& options, RunSettings& run) {
  if (options.normalizers.empty()) return;
  run.test.normalizers.clear();
  for (const std::string& given : options.normalizers) {
    for (const std::string& text : pieces_of(given, ';')) {
      try {
        AnyNormalizer normalizer = AnyNormalizer::parse(text);
        auto& all = run.test.normalizers;
        if (std::find(all.begin(), all.end(), normalizer) != all.end())
          refuse(fmt::format("--normalizers: {} is given twice", normalizer.text()));
        all.push_back(std::move(normalizer));
      } catch (const Error& error) {
        const bool commas = text.find(',') != std::string::npos;
        throw Error(error.code(), fmt::format("--normalizers: {}{}", error.what(),
                                              commas ? " (normalizers are separated by ';')" : ""));
      }
    }
  }
}

// Who trains with a normalizer wants to see it tested.
void add_training_normalizers(RunSettings& run) {
  for (const Arm& arm : run.arms) {
    auto& all = run.test.normalizers;
    if (std::find(all.begin(), all.end(), arm.training.normalizer) == all.end())
      all.push_back(arm.training.normalizer);
  }
}

}  // namespace

std::string flag_of(const std::string& setting) {
  if (setting == "normalizer") return "--train-normalizer";
  std::string flag = fmt::format("--{}", setting);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

RunSettings settings_of(const RetrieveOptions& options) {
  RunSettings run = preset(options.preset);
  place_arms(options, run);
  for (Arm& arm : run.arms)
    each_field(arm.training, [&](const char* name, auto& value, const char*) {
      const auto given = options.training.find(name);
      if (given != options.training.end()) place(flag_of(name), given->second, value);
    });
  place_seeds(options, run);
  if (!options.sizes.empty()) run.test.sizes = parse_integers(options.sizes, "--sizes");
  place_normalizers(options, run);
  if (options.head.empty()) add_training_normalizers(run);
  if (options.sets_scale != 0.0) run.test.sets_scale = options.sets_scale;
  if (options.heat_map_sets >= 0) run.test.heat_map_sets = options.heat_map_sets;
  if (options.heat_map_items >= 0) run.test.heat_map_items = options.heat_map_items;
  validate(run);
  return run;
}

}  // namespace sharpmax::cli
