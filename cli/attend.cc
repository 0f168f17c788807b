#include "cli/attend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/in_quotes.h"
#include "cli/console.h"
#include "cli/table.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Arrays are .npy files of shape [query, feature], [head, query, feature] or\n"
    "[batch, head, query, feature], in float32, float16, bfloat16 (as uint16, with\n"
    "--bf16) or float64 (exact and slow). Key and value heads may be fewer than query\n"
    "heads if they divide them. A mask is bool, true where a query may attend.\n"
    "\n"
    "Examples:\n"
    "  sharpmax attend --demo\n"
    "  sharpmax attend --demo --normalizer softmax --normalizer entropy_target\n"
    "  sharpmax attend --demo -o demo.html\n"
    "  sharpmax attend --query q.npy --key k.npy --value v.npy --causal -o out.npy\n"
    "  sharpmax attend --arrays qkv.npz --normalizer softmax --normalizer entmax15 \\\n"
    "      --statistics -o outputs.npz --statistics-out rows.npz --map 64x64\n"
    "  sharpmax attend --list --json -";

void add_inputs(CLI::App& words, AttendOptions& o) {
  const auto file = [&](const char* flag, std::string& into, const char* what) {
    words.add_option(flag, into, what)->option_text("FILE")->group("Arrays");
  };
  file("--query", o.query, "Queries, .npy");
  file("--key", o.key, "Keys, .npy");
  file("--value", o.value, "Values, .npy");
  file("--mask", o.mask, "Bool mask, broadcast over dimensions of size 1");
  file("--bias", o.bias, "Bias added to the scaled scores; broadcast likewise");
  file("--arrays", o.arrays, "One .npz with arrays query, key, value, and perhaps mask and bias");
  words.add_flag("--bf16", o.bf16, "Read uint16 arrays as bfloat16")->group("Arrays");
}

void add_semantics(CLI::App& words, AttendOptions& o) {
  const auto numbers = [&](const char* flag, std::string& into, const char* shape, const char* what) {
    words.add_option(flag, into, what)->option_text(shape)->group("Attention");
  };
  words
      .add_option("--normalizer", o.normalizers,
                  "Normalizer, as --list names them, e.g. entmax:alpha=1.5; repeatable (default "
                  "softmax)")
      ->option_text("TEXT")
      ->allow_extra_args(false)
      ->group("Attention");
  words.add_flag("--causal", o.causal, "Hide keys after the query's own; the last query sees every key")
      ->group("Attention");
  numbers("--window", o.window, "LEFT,RIGHT", "Number of keys before and after the query's own; -1: no limit");
  words.add_option("--scale", o.scale, "Factor of the scores (default 1/sqrt(feature))")
      ->option_text("X")
      ->group("Attention");
  words
      .add_option("--soft-cap", o.soft_cap,
                  "Soft cap: scores e become X tanh(e / X), before the bias (default 0: none)")
      ->option_text("X")
      ->group("Attention");
  numbers("--key-lengths", o.key_lengths, "N,N...", "Number of keys of each batch entry");
  numbers("--query-lengths", o.query_lengths, "N,N...", "Number of queries of each batch entry");
  numbers("--documents", o.documents, "0,N,N...", "Starts of packed documents, and the end");
  numbers("--key-documents", o.key_documents, "0,N,N...", "Starts for keys, if they differ");
  words.add_option("--threads", o.threads, "Number of threads (default: one per core); results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->group("Attention");
}

void add_results(CLI::App& words, AttendOptions& o) {
  words
      .add_option("-o,--output", o.output,
                  "Write the outputs: .npy for one normalizer, .npz for several; with --demo the report: one "
                  "self-contained HTML page")
      ->option_text("FILE")
      ->group("Results");
  words
      .add_flag("--statistics", o.statistics,
                "Print entropy, peak weight and support per head (the default "
                "when nothing is written)")
      ->group("Results");
  words.add_option("--statistics-out", o.statistics_output, "Write the statistics of every row, .npz")
      ->option_text("FILE")
      ->group("Results");
  words.add_option("--top", o.top, "Number of heaviest keys per row in --statistics-out (default 8)")
      ->option_text("K")
      ->check(CLI::Range(0, 1 << 16))
      ->group("Results");
  words
      .add_option("--gaps", o.gaps,
                  "Gaps to the largest score within which --statistics-out counts keys (default: "
                  "octaves from 1/4 to 32)")
      ->option_text("X,X...")
      ->group("Results");
  words.add_option("--map", o.map, "Blocks of the map of weights in --statistics-out, e.g. 64x64")
      ->option_text("RxC")
      ->group("Results");
  words.add_option("--backward", o.backward, "Gradient of the output, .npy: also run backward")
      ->option_text("FILE")
      ->group("Results");
  words.add_option("--gradients-out", o.gradients_output, "File for the gradients of --backward, .npz")
      ->option_text("FILE")
      ->group("Results");
  add_json_option(words, o.json, "sharpmax.attend/1", "Results");
  add_overwrite_option(words, o.overwrite, "Results");
}

void add_other(CLI::App& words, AttendOptions& o) {
  words.add_flag("--list", o.list, "List the family: formulas, parameters, behavior as n grows")
      ->group("Instead of arrays");
  words.add_flag("--demo", o.demo, "Show one needle among 16 ... 1,048,576 keys")->group("Instead of arrays");
  words
      .add_option("--figures", o.figures,
                  "Directory for the figures of the report of --demo, SVG")
      ->option_text("DIR")
      ->group("Instead of arrays");
  words.add_option("--sizes", o.sizes, "Numbers of keys of --demo")
      ->option_text("N,N...")
      ->group("Instead of arrays");
  words.add_option("--gap", o.gap, "Score of the needle minus the mean of the others in --demo (default 8)")
      ->option_text("X")
      ->group("Instead of arrays");
  words.add_option("--seed", o.seed, "Seed of the keys of --demo (default 1)")
      ->option_text("N")
      ->group("Instead of arrays");
}

template <class Number>
std::vector<Number> parse_list(const std::string& text, const char* flag, const char* kind) {
  std::vector<Number> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    Number number{};
    const auto [stop, failed] = std::from_chars(at, end, number);
    if (failed != std::errc{} || (stop != end && *stop != ',')) {
      throw Error(ErrorCode::bad_argument, fmt::format("{}: {} is not a list of {} with commas between them",
                                                       flag, in_quotes(text), kind));
    }
    numbers.push_back(number);
    if (stop == end) return numbers;
    at = stop + 1;
  }
}

void check_files(const AttendOptions& o) {
  CallFiles call(o.overwrite);
  call.reads("--arrays", o.arrays).reads("--query", o.query).reads("--key", o.key).reads("--value", o.value);
  call.reads("--mask", o.mask).reads("--bias", o.bias).reads("--backward", o.backward);
  call.writes("--json", o.json, results_kind("sharpmax.attend/1"));
  call.writes("-o", o.output, o.output.ends_with(".npz") ? npz_kind() : npy_kind());
  call.writes("--statistics-out", o.statistics_output, npz_kind());
  call.writes("--gradients-out", o.gradients_output, npz_kind());
  call.check();
}

int run(const AttendOptions& options, const CLI::App& words, Call& call) {
  if (options.list && options.demo) {
    throw Error(ErrorCode::bad_argument, "--list and --demo are two different things; give one");
  }
  if (!options.demo) {
    for (const char* flag : {"--sizes", "--gap", "--seed", "--figures"}) {
      if (words.count(flag) > 0)
        throw Error(ErrorCode::bad_argument, fmt::format("{} goes with --demo", flag));
    }
  }
  if (options.list || options.demo) {
    const char* mode = options.list ? "--list" : "--demo";
    for (const CLI::Option* option : words.get_options()) {
      const bool for_arrays = option->get_group() == "Arrays" || option->get_group() == "Results" ||
                              option->get_group() == "Attention";
      const std::string name = option->get_name();
      const bool shared =
          name == "--json" || name == "--overwrite" ||
          (options.demo && (name == "--normalizer" || name == "--threads" || name == "--output"));
      if (for_arrays && !shared && option->count() > 0) {
        throw Error(ErrorCode::bad_argument, fmt::format("{} does not go with {}", name, mode));
      }
    }
  }
  if (options.list) return run_list(options);
  if (options.demo) return run_demo(options, call);
  check_files(options);
  return run_on_arrays(options);
}

}  // namespace

std::vector<std::int64_t> parse_integers(const std::string& text, const char* flag) {
  return parse_list<std::int64_t>(text, flag, "whole numbers");
}

std::vector<double> parse_numbers(const std::string& text, const char* flag) {
  return parse_list<double>(text, flag, "numbers");
}

std::vector<AnyNormalizer> parse_normalizers(const std::vector<std::string>& texts) {
  std::vector<AnyNormalizer> normalizers;
  for (const std::string& text : texts) {
    AnyNormalizer normalizer = AnyNormalizer::parse(text);
    if (std::find(normalizers.begin(), normalizers.end(), normalizer) != normalizers.end()) {
      throw Error(ErrorCode::bad_argument, fmt::format("--normalizer {} is given twice", text));
    }
    normalizers.push_back(std::move(normalizer));
  }
  return normalizers;
}

Command add_attend(CLI::App& program) {
  CLI::App* words = program.add_subcommand(
      "attend",
      "Compute attention over arrays, or show a demonstration. Runs the kernel on .npy or .npz arrays under one or "
      "several normalizers, and reports how sharp every head is.");
  words->footer(kFooter);
  const auto options = std::make_shared<AttendOptions>();
  add_inputs(*words, *options);
  add_semantics(*words, *options);
  add_results(*words, *options);
  add_other(*words, *options);
  mark_common(*words, {"--demo", "--list", "--query", "--key", "--value", "--arrays", "--normalizer", "--causal", "--output",
                       "--statistics", "--statistics-out", "--json"});
  return {words, [options, words](Call& call) { return run(*options, *words, call); }};
}

namespace {

constexpr const char* kSchema = "sharpmax.attend.list/1";

// A number that may also be a word ("auto") is not a number until it is set.
bool is_word(const ParameterInfo& parameter) {
  return !parameter.choices.empty() && parameter.default_value.size() == 1;
}

// A choice is shown by its word, a list of numbers as it is written in text.
std::string default_of(const ParameterInfo& parameter) {
  if (is_word(parameter)) {
    const double value = parameter.default_value[0];
    return std::string(parameter.choices.at(std::isnan(value) ? 0 : static_cast<std::size_t>(value)));
  }
  return fmt::format("{}", fmt::join(parameter.default_value, "/"));
}

Json json_of(const ParameterInfo& parameter) {
  Json value;
  if (is_word(parameter)) {
    value = default_of(parameter);
  } else if (parameter.default_value.size() == 1) {
    value = parameter.default_value[0];
  } else {
    value = parameter.default_value;
  }
  return {{"name", parameter.name},
          {"default", value},
          {"domain", parameter.domain},
          {"learnable", parameter.learnable},
          {"choices", parameter.choices}};
}

Json list_json(const std::vector<NormalizerInfo>& members) {
  Json list = Json::array();
  for (const NormalizerInfo& member : members) {
    Json parameters = Json::array();
    for (const ParameterInfo& parameter : member.parameters) parameters.push_back(json_of(parameter));
    list.push_back({{"name", member.name},
                    {"aliases", member.aliases},
                    {"formula", member.formula},
                    {"parameters", parameters},
                    {"needs_queries_and_keys", member.needs_queries_and_keys},
                    {"peak_as_n_grows", member.peak_as_n_grows}});
  }
  return {{"schema", kSchema}, {"normalizers", list}};
}

std::string described(const ParameterInfo& parameter) {
  const bool also_a_number = is_word(parameter) && std::isnan(parameter.default_value[0]);
  std::string text = fmt::format("{}={}: ", parameter.name, default_of(parameter));
  if (is_word(parameter) && !also_a_number) {
    text += fmt::format("{}", fmt::join(parameter.choices, ", "));
  } else {
    text += parameter.domain;
  }
  return text + (parameter.learnable ? "; learnable" : "");
}

}  // namespace

int run_list(const AttendOptions& options) {
  CallFiles(options.overwrite).writes("--json", options.json, results_kind(kSchema)).check();
  const std::vector<NormalizerInfo> members = family();
  if (!options.json.empty()) deliver(options.json, json_text(list_json(members)));
  if (options.json == "-") return kOk;
  const bool colour = colour_wanted();
  std::string text = wrapped(
                         "e_j is a score, m the row's largest, n the number of unmasked keys. Parameters "
                         "go after the name: softmax:beta=2. One value per head is written 1/2/3.") +
                     "\n";
  for (const NormalizerInfo& member : members) {
    constexpr std::size_t kIndent = 4;
    const auto line = [&](std::string_view words) {
      return "    " + wrapped(words, kScreenWidth - kIndent, 0) + "\n";
    };
    const auto indented = [&](std::string block) {
      for (std::size_t at = block.find('\n'); at + 1 < block.size(); at = block.find('\n', at + 1)) {
        block.insert(at + 1, kIndent, ' ');
      }
      return block;
    };
    text += "\n" + inked(member.name, Ink::bold, colour);
    if (!member.aliases.empty()) text += fmt::format(" (also {})", fmt::join(member.aliases, ", "));
    text += "\n" + indented(line(member.formula));
    for (const ParameterInfo& parameter : member.parameters) text += indented(line(described(parameter)));
    text += inked(indented(line(fmt::format("as n grows: {}", member.peak_as_n_grows))), Ink::dim, colour);
  }
  print(text + closing("", "To see what each does as n grows", "attend --demo"));
  return kOk;
}

}  // namespace sharpmax::cli
