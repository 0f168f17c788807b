#include "model/job/model_request.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "cluster/launched_group.h"
#include "job/json_members.h"
#include "machine/blas.h"
#include "machine/machine_limits.h"
#include "model/file/model_file.h"
#include "model/tokenizer/utf8.h"
#include "model/transformer/normalizer_table.h"
#include "storage/files.h"

namespace sharpmax::model {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

CacheType cache_type(const std::string& name) {
  return name == "float16" ? CacheType::float16 : CacheType::float32;
}

Products products_of(const std::string& name) { return name == "int16" ? Products::int16 : Products::float32; }

// A model that does not run here is a file that is not what was expected, as one that is broken.
Model opened(const std::string& path) {
  try {
    return Model(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) throw Error(ErrorCode::bad_file, error.what());
    throw;
  }
}

std::optional<NormalizerTable> table_of(const Model& model, const ModelRequest& request) {
  const Configuration& c = model.configuration();
  if (request.normalizers.starts_with('{'))
    return parse_normalizer_table(request.normalizers, "normalizers", model.own_normalizers());
  if (!request.normalizers.empty())
    return parse_normalizer_table(read_text(request.normalizers), request.normalizers, model.own_normalizers());
  if (request.normalizer.empty()) return std::nullopt;
  return NormalizerTable(c.layers, c.heads, AnyNormalizer::parse(request.normalizer));
}

void note_untrained(const Configuration& c, std::int64_t tokens, Listener& listener) {
  if (tokens <= c.context || c.local || c.rope.scaling.kind != RopeScaling::Kind::none) return;
  const double factor = static_cast<double>(tokens) / static_cast<double>(c.context);
  listener.narrate(fmt::format("note: {} tokens are more than the {} that the model was trained on; {} may serve it better",
                               grouped(tokens), grouped(c.context),
                               named("rope_scaling", fmt::format("ntk:{:.3g}", factor))));
}

// A model that was not trained with softmax never loses its normalizer in silence.
void note_replaced(const Model& model, const std::optional<NormalizerTable>& table, Listener& listener) {
  if (model.trained_with_softmax() || !table) return;
  const NormalizerTable& own = model.own_normalizers();
  std::int64_t replaced = 0;
  for (std::int64_t layer = 0; layer < own.layers(); ++layer)
    for (std::int64_t head = 0; head < own.heads(); ++head)
      replaced += table->at(layer, head) == own.at(layer, head) ? 0 : 1;
  if (replaced == 0) return;
  listener.narrate(fmt::format("note: every head of this model was trained with a sink of its own; {} of {} heads run under "
                               "another normalizer here",
                               grouped(replaced), grouped(own.layers() * own.heads())));
}

void check_together(const ModelRequest& request) {
  if (!request.normalizer.empty() && !request.normalizers.empty())
    refuse(fmt::format("{} excludes {}", named("normalizers"), named("normalizer")));
}

}  // namespace

Model open_model(const ModelRequest& request) {
  check_together(request);
  if (request.model.empty())
    refuse(fmt::format("no model was given; {} must be a file or a folder (`make model` fetches a small one)", named("model")));
  Model model = opened(request.model);
  const Configuration& c = model.configuration();
  if ((!request.rope_scaling.empty() || request.rope_base) && c.rope.features == 0)
    refuse(fmt::format("{} and {}: a {} model has learned positions, not rotary ones", named("rope_scaling"),
                       named("rope_base"), c.architecture));
  if (!request.rope_scaling.empty()) model.set_rope(parse_rope_scaling(request.rope_scaling, c.context));
  if (request.rope_base) {
    if (!(*request.rope_base > 1) || !std::isfinite(*request.rope_base))
      refuse(fmt::format("{} must be above 1", named("rope_base")));
    model.set_rope_base(*request.rope_base);
  }
  return model;
}

std::shared_ptr<const Model> shared_model(const ModelRequest& request) {
  check_together(request);
  return request.opened ? request.opened : std::make_shared<const Model>(open_model(request));
}

std::int64_t context_of(const Model& model, const ModelRequest& request) {
  const Configuration& c = model.configuration();
  const std::int64_t context = request.context.value_or(c.context);
  if (context > c.context && c.rope.features == 0)
    refuse(fmt::format("{}: a {} model has learned {} positions and has none beyond",
                       named("context", std::to_string(context)), c.architecture, c.context));
  return context;
}

SessionSettings session_settings(const Model& model, const ModelRequest& request, std::int64_t tokens, Listener& listener) {
  SessionSettings settings;
  settings.capacity = tokens;
  settings.cache = cache_type(request.cache);
  settings.products = products_of(request.products);
  settings.threads = request.threads.value_or(0);
  settings.block = request.block;
  settings.normalizers = table_of(model, request);
  note_replaced(model, settings.normalizers, listener);
  settings.on_layer = [&listener] { listener.on_pause(); };
  return settings;
}

namespace {

// what: "keys and values"; bytes: nothing if they cannot be counted.
void check_fits(const std::string& what, std::optional<std::uint64_t> bytes, std::int64_t tokens, const std::string& type) {
  const double wanted = bytes ? static_cast<double>(*bytes) : std::numeric_limits<double>::infinity();
  const auto there = available_memory();
  if (!there || wanted <= static_cast<double>(*there)) return;
  constexpr double kGigabyte = 1e9;
  throw RequestError(ErrorCode::memory,
                     fmt::format("not enough memory: {} of {} tokens take {:.1f} GB in {}, and {:.1f} GB are "
                                 "free; a smaller {}{} takes less",
                                 what, grouped(tokens), wanted / kGigabyte, type, static_cast<double>(*there) / kGigabyte,
                                 named("context"), type == "float32" ? " or " + named("cache", "float16") : ""));
}

}  // namespace

void check_memory(const Configuration& c, std::int64_t tokens, const std::string& type) {
  check_fits("keys and values", cache_bytes(c, tokens, cache_type(type)), tokens, type);
}

void check_room(const Model& model, const ModelRequest& request, std::int64_t tokens, Listener& listener) {
  check_memory(model.configuration(), tokens, request.cache);
  note_untrained(model.configuration(), tokens, listener);
}

std::unique_ptr<Session> open_session(const Model& model, const ModelRequest& request, std::int64_t tokens,
                                      Listener& listener) {
  check_room(model, request, tokens, listener);
  return std::make_unique<Session>(model, session_settings(model, request, tokens, listener));
}

std::unique_ptr<LayerPass> open_layer_pass(const Model& model, const ModelRequest& request, std::int64_t tokens,
                                           Listener& listener, Group* group) {
  const auto bytes = layer_pass_bytes(model.configuration(), tokens, cache_type(request.cache));
  check_fits("features, and keys and values of one layer,", bytes, tokens, request.cache);
  note_untrained(model.configuration(), tokens, listener);
  return std::make_unique<LayerPass>(model, session_settings(model, request, tokens, listener), group);
}

std::unique_ptr<Group> reading_group(const ReadingOrder& order, const std::string& settings, Listener& listener) {
  if (!order.together) return nullptr;
  const Launch by = launch();
  std::unique_ptr<Group> group = launched_group(by, order.patience);
  if (!by.several()) return group;
  agree_on_call(*group, settings + blas_description());
  if (by.rank == 0)
    listener.narrate(fmt::format("{} processes, started by {}, read every text together, layer by layer", by.size, by.launcher));
  return group;
}

void check_reading(const ReadingOrder& order, const std::string& directory) {
  if (order.together && !directory.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} and {} are two ways to share a job; give one", flagged("together"), given("directory", "DIR")));
}

std::filesystem::path state_file(const Saving& saving, const ReadingOrder& order) {
  if (saving.json.empty() || !by_layer(order)) return {};
  const std::filesystem::path file = saving.json + ".state.npz";
  if (!saving.resume) remove_state(file);
  return file;
}

void remove_state(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!file.empty()) std::filesystem::remove(file, ignored);
}

bool only_helps(const ReadingOrder& order) { return order.together && launch().rank > 0; }

std::string checksum_of(const ModelFile& file, Listener& listener) {
  constexpr double kPatience = 1.0;  // seconds
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  std::string digest = checksum_of(file, [&](std::uint64_t done, std::uint64_t whole) {
    listener.on_pause();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds <= kPatience) return;
    told = true;
    listener.proceed("checksum of the model: " +
                         share_left(static_cast<double>(done), static_cast<double>(whole), seconds));
  });
  if (told) listener.on_progress("");
  return digest;
}

ModelSettings settings_of(const Model& model, const ModelRequest& request, Listener& listener) {
  const Configuration& c = model.configuration();
  ModelSettings settings{.file = model.name(),
                         .sha256 = checksum_of(model.file(), listener),
                         .architecture = c.architecture,
                         .layers = c.layers,
                         .heads = c.heads,
                         .kv_heads = c.kv_heads,
                         .head_width = c.head_width,
                         .width = c.width,
                         .vocabulary = c.vocabulary,
                         .trained_context = c.context,
                         .cache = request.cache};
  if (products_of(request.products) != Products::float32) settings.products = request.products;
  if (!model.trained_with_softmax()) settings.trained_with = "sink";
  if (request.normalizers.empty() && request.normalizer.empty() && !model.trained_with_softmax())
    settings.normalizers = own_table_json(model.own_normalizers()).dump();
  else if (request.normalizers.empty())
    settings.normalizer = AnyNormalizer::parse(request.normalizer.empty() ? "softmax" : request.normalizer).text();
  else
    settings.normalizers = to_json(*table_of(model, request)).dump();
  settings.rope_scaling = request.rope_scaling;
  settings.rope_base = request.rope_base;
  return settings;
}

}  // namespace sharpmax::model

namespace sharpmax {

Model::Model(const ModelRequest& request)
    : path_(request.model), model_(model::shared_model(request)) {}

std::int64_t Model::layers() const noexcept { return model_->configuration().layers; }
std::int64_t Model::heads() const noexcept { return model_->configuration().heads; }
std::int64_t Model::context() const noexcept { return model_->configuration().context; }
std::int64_t Model::vocabulary() const noexcept { return model_->configuration().vocabulary; }
const std::string& Model::architecture() const noexcept { return model_->configuration().architecture; }

ModelRequest Model::request() const {
  ModelRequest request;
  request.model = path_;
  request.opened = model_;
  return request;
}

}  // namespace sharpmax
namespace sharpmax::model {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;

void check_utf8(std::string_view text, const std::string& name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: byte {} (0x{:02x}) is not UTF-8; the text must be in UTF-8", name, at,
                              static_cast<unsigned char>(text[at])));
    at += length;
  }
}

// A text given in the place of its path: a file of that name would be unusual, and is missing.
void check_is_a_path(const std::string& path) {
  constexpr std::size_t kLongestName = 255, kShown = 40;
  const bool like_prose = path.size() > kLongestName || path.find_first_of(" \n") != std::string::npos;
  std::error_code ignored;
  if (!like_prose || path == "-" || std::filesystem::exists(path, ignored)) return;
  throw RequestError(ErrorCode::io, fmt::format("{}: there is no file {}; it takes a path, and the text itself goes into {}",
                                                named("text"), in_quotes(path.substr(0, kShown)), named("text_string")));
}

}  // namespace

std::string text_of(const TextRequest& request) {
  if (request.text.empty() && !request.text_string)
    throw RequestError(ErrorCode::bad_argument, fmt::format("no text was given; {} must name one", given("text", "FILE")));
  if (request.text_string && text_name(request) != "-")
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} and {} were both given; give one of them", named("text"),
                                                            named("text_string")));
  if (!request.text_string) check_is_a_path(request.text);
  std::string text = request.text_string ? *request.text_string : read_text(request.text);
  check_utf8(text, request.text_string ? "the text" : request.text);
  return text;
}

std::vector<Token> tokens_of(const Model& model, const TextRequest& request, std::int64_t least) {
  const std::string text = text_of(request);
  const auto special = request.special ? SpecialText::as_tokens : SpecialText::as_text;
  std::vector<Token> tokens = model.tokenizer().encode(text, special);
  if (request.tokens) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(*request.tokens)));
  if (static_cast<std::int64_t>(tokens.size()) < least)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; it must have at least {}", tokens.size(), least));
  return tokens;
}

std::string text_name(const TextRequest& request) {
  return request.text.empty() && request.text_string ? "-" : request.text;
}

TextRequest text_settings(const TextRequest& request, std::int64_t tokens) {
  return {.text = text_name(request), .text_string = {}, .tokens = tokens, .special = request.special};
}

std::int64_t tokens_before_text(const Model& model) {
  const auto& ends = model.tokenizer().ends();
  return ends.add_begin && ends.begin ? 1 : 0;
}

std::vector<Token> with_beginning(const Model& model, std::span<const Token> text) {
  std::vector<Token> all;
  if (tokens_before_text(model) > 0) all.push_back(*model.tokenizer().ends().begin);
  all.insert(all.end(), text.begin(), text.end());
  return all;
}

std::string token_text(const Model& model, Token token) {
  try {
    const std::string bytes = model.tokenizer().bytes_of(token);
    return bytes.empty() ? std::string(model.tokenizer().text_of(token)) : bytes;  // control tokens have none
  } catch (const Error&) {  // it has none, or one that we do not know
    return std::to_string(token);
  }
}

Json without_paths(Json settings) {
  if (const auto model = settings.find("model"); model != settings.end() && model->is_object()) model->erase("file");
  for (const char* const path : {"text", "task"}) settings.erase(path);
  return settings;
}

std::uint64_t fingerprint_of(std::span<const Token> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Token token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * kPrime;
  return hash;
}

std::uint64_t fingerprint_with(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace sharpmax::model
