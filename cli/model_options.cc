#include "cli/model_options.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "cli/table.h"
#include "machine/available_memory.h"
#include "model/file/model_file.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr std::int64_t kLargestContext = std::int64_t{1} << 30;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

model::CacheType cache_type(const std::string& name) {
  return name == "float16" ? model::CacheType::float16 : model::CacheType::float32;
}

// A model that does not run here is a file that is not what was wanted, as one that is broken.
model::Model opened(const std::string& path) {
  try {
    return model::Model(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) throw Error(ErrorCode::bad_file, error.what());
    throw;
  }
}

std::optional<model::NormalizerTable> table_of(const model::Model& model, const ModelOptions& o) {
  const model::Configuration& c = model.configuration();
  if (!o.normalizers.empty())
    return model::parse_normalizer_table(read_text(o.normalizers), o.normalizers, c.layers, c.heads);
  if (o.normalizer.empty()) return std::nullopt;
  return model::NormalizerTable(c.layers, c.heads, AnyNormalizer::parse(o.normalizer));
}

void note_untrained(const model::Configuration& c, std::int64_t tokens) {
  if (tokens <= c.context || c.rope.scaling.kind != model::RopeScaling::Kind::none) return;
  narrate(fmt::format(
      "note: {} tokens are more than the {} that the model was trained on; --rope-scaling ntk:{:.3g} "
      "may serve it better",
      grouped(tokens), grouped(c.context), static_cast<double>(tokens) / static_cast<double>(c.context)));
}

}  // namespace

void add_model_options(CLI::App& words, ModelOptions& o) {
  constexpr const char *kAttention = "Attention", *kPositions = "Positions", *kMachine = "Machine";
  words.add_option("MODEL", o.model, "A .gguf file, a .safetensors file, or a folder with config.json");
  words
      .add_option("--normalizer", o.normalizer,
                  "For every head (default softmax); `sharpmax attend --list` has them")
      ->option_text("NAME")
      ->group(kAttention);
  words
      .add_option("--normalizers", o.normalizers, "A table by layer and head, schema sharpmax.normalizers/1")
      ->option_text("FILE")
      ->group(kAttention)
      ->excludes("--normalizer");
  words.add_option("--context", o.context, "Tokens that fit (default: what the model was trained on)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, kLargestContext))
      ->group(kPositions);
  words.add_option("--rope-scaling", o.rope_scaling, "none, linear:FACTOR, ntk:FACTOR or yarn:FACTOR")
      ->option_text("HOW")
      ->group(kPositions);
  words.add_option("--rope-base", o.rope_base, "Of the rotation's frequencies (default: the file's)")
      ->option_text("X")
      ->group(kPositions);
  words
      .add_option("--cache", o.cache,
                  "Keys and values in float32 (default) or float16, which is half as large")
      ->option_text("TYPE")
      ->check(CLI::IsMember({"float32", "float16"}))
      ->group(kMachine);
  words.add_option("--block", o.block, "Tokens of a prompt that go through a layer together (default 512)")
      ->option_text("N")
      ->check(CLI::Range(1, 1 << 20))
      ->group(kMachine);
  words.add_option("--threads", o.threads, "How many (default: OpenMP's); the results do not depend on it")
      ->option_text("N")
      ->check(CLI::Range(1, 4096))
      ->group(kMachine);
}

model::Model open_model(const ModelOptions& o) {
  if (o.model.empty()) refuse("no model was given; `make model` fetches a small one");
  model::Model model = opened(o.model);
  const model::Configuration& c = model.configuration();
  if ((!o.rope_scaling.empty() || o.rope_base) && c.rope.features == 0)
    refuse(fmt::format("--rope-scaling and --rope-base: a {} model has learned positions, not rotary ones",
                       c.architecture));
  if (!o.rope_scaling.empty()) model.set_rope(model::parse_rope_scaling(o.rope_scaling, c.context));
  if (o.rope_base) {
    if (!(*o.rope_base > 1) || !std::isfinite(*o.rope_base)) refuse("--rope-base must be above 1");
    model.set_rope_base(*o.rope_base);
  }
  return model;
}

std::int64_t context_of(const model::Model& model, const ModelOptions& o) {
  const model::Configuration& c = model.configuration();
  const std::int64_t context = o.context.value_or(c.context);
  if (context > c.context && c.rope.features == 0)
    refuse(fmt::format("--context {}: a {} model has learned {} positions and has none beyond", context,
                       c.architecture, c.context));
  return context;
}

void check_memory(const model::Configuration& c, std::int64_t tokens, const std::string& type) {
  const auto bytes = model::cache_bytes(c, tokens, cache_type(type));
  const double wanted = bytes ? static_cast<double>(*bytes) : std::numeric_limits<double>::infinity();
  const auto there = available_memory();
  if (!there || wanted <= static_cast<double>(*there)) return;
  constexpr double kGigabyte = 1e9;
  throw MemoryLimit(
      fmt::format("not enough memory: keys and values of {} tokens take {:.1f} GB in {}, and {:.1f} GB are "
                  "free; a smaller --context{} takes less",
                  grouped(tokens), wanted / kGigabyte, type, static_cast<double>(*there) / kGigabyte,
                  type == "float32" ? " or --cache float16" : ""));
}

std::unique_ptr<model::Session> open_session(const model::Model& model, const ModelOptions& o,
                                             std::int64_t tokens) {
  check_memory(model.configuration(), tokens, o.cache);
  note_untrained(model.configuration(), tokens);
  model::SessionSettings settings;
  settings.capacity = tokens;
  settings.cache = cache_type(o.cache);
  settings.threads = o.threads;
  if (o.block) settings.block = *o.block;
  settings.normalizers = table_of(model, o);
  settings.on_layer = pause;
  return std::make_unique<model::Session>(model, settings);
}

std::string model_checksum(const model::ModelFile& file) {
  constexpr double kPatience = 1.0;  // seconds
  Progress progress(Progress::Elsewhere::lines);
  const auto start = std::chrono::steady_clock::now();
  return model::checksum_of(file, [&](std::uint64_t done, std::uint64_t whole) {
    pause();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double share = static_cast<double>(done) / static_cast<double>(whole);
    if (seconds > kPatience)
      progress.show(fmt::format("checksum of the model: {:.0f} %, {} left", 100.0 * share,
                                duration(seconds * (1.0 - share) / share)));
  });
}

Json model_json(const model::Model& model, const ModelOptions& o) {
  const model::Configuration& c = model.configuration();
  Json json{{"file", model.name()},
            {"sha256", model_checksum(model.file())},
            {"architecture", c.architecture},
            {"layers", c.layers},
            {"heads", c.heads},
            {"kv_heads", c.kv_heads},
            {"head_width", c.head_width},
            {"width", c.width},
            {"vocabulary", c.vocabulary},
            {"trained_context", c.context}};
  json["cache"] = o.cache;
  if (o.normalizers.empty()) {
    json["normalizer"] = AnyNormalizer::parse(o.normalizer.empty() ? "softmax" : o.normalizer).text();
  } else {
    json["normalizers"] = model::to_json(*table_of(model, o));
  }
  json["rope_scaling"] = o.rope_scaling.empty() ? Json() : Json(o.rope_scaling);
  json["rope_base"] = o.rope_base ? Json(*o.rope_base) : Json();
  return json;
}

}  // namespace sharpmax::cli
