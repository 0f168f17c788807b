#include "retrieval/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/in_quotes.h"
#include "normalizer/definition.h"

namespace sharpmax::retrieval {
namespace {

// "mlp or linear", "none, anywhere or top"
std::string listed(std::span<const std::string_view> words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return list;
}

template <class Word>
void read_word(const Field& field, std::string_view text, std::span<const std::string_view> words, Word& value) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", named(field.name), in_quotes(text),
                                                            listed(words)));
  value = static_cast<Word>(found - words.begin());
}

template <class Value>
void require(bool holds, std::string_view field, const Value& found, std::string_view allowed) {
  if (!holds)
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", named(field), found, allowed));
}

template <class T>
void require_distinct(std::string_view field, const std::vector<T>& values) {
  if (values.empty())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is empty; it must have a value", named(field)));
  if (std::set<T>(values.begin(), values.end()).size() != values.size())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; its values must differ", named(field),
                                                            sharpmax::field_text(values)));
}

// Heads weigh scores, and a head is one.
void require_scores_alone(const AnyNormalizer& normalizer, std::string_view field) {
  if (normalizer.definition().needs_queries_and_keys)
    throw RequestError(ErrorCode::unsupported, fmt::format("{}: {} is not a function of the scores alone, so a head cannot be "
                                                           "trained or tested with it",
                                                           named(field), normalizer.name()));
  check_heads(normalizer, 1, "retrieve");
}

}  // namespace

std::string_view word(Encoder value) { return kEncoders[static_cast<std::size_t>(value)]; }
std::string_view word(Schedule value) { return kSchedules[static_cast<std::size_t>(value)]; }
std::string_view word(Crowding value) { return kCrowdings[static_cast<std::size_t>(value)]; }
std::string_view word(Precision value) { return kPrecisions[static_cast<std::size_t>(value)]; }
void read_field(const Field& field, std::string_view text, Encoder& value) { read_word(field, text, kEncoders, value); }
void read_field(const Field& field, std::string_view text, Schedule& value) { read_word(field, text, kSchedules, value); }
void read_field(const Field& field, std::string_view text, Crowding& value) { read_word(field, text, kCrowdings, value); }
void read_field(const Field& field, std::string_view text, Precision& value) { read_word(field, text, kPrecisions, value); }

std::int64_t sets_at(std::int64_t n, double scale) {
  const double full = n <= 2048 ? 8192 : n <= 16'384 ? 2048 : n <= 131'072 ? 512 : 128;
  return std::max<std::int64_t>(1, std::llround(full * scale));
}

void validate(const TrainingSettings& s) {
  TrainingSettings::each_field(s, [](const Field& field, const auto& value) {
    check_field(field, value);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>)
      require(std::isfinite(value), field.name, value, "a finite number");
  });
  require(s.largest_size >= s.least_size, "largest_size", s.largest_size,
          fmt::format("at least {}, which is {}", named("least_size"), s.least_size));
  require(s.learning_rate > 0.0, "learning_rate", s.learning_rate, "above 0");
  require(s.final_learning_rate > 0.0 && s.final_learning_rate <= s.learning_rate, "final_learning_rate",
          s.final_learning_rate, fmt::format("above 0 and at most {}, which is {}", named("learning_rate"), s.learning_rate));
  require(s.beta1 >= 0.0 && s.beta1 < 1.0, "beta1", s.beta1, "at least 0 and below 1");
  require(s.beta2 >= 0.0 && s.beta2 < 1.0, "beta2", s.beta2, "at least 0 and below 1");
  require(s.epsilon > 0.0, "epsilon", s.epsilon, "above 0");
  require_scores_alone(s.normalizer, "train_normalizer");
  check_backward(s.normalizer, "retrieve");
}

void validate(const RunSettings& run) {
  require_distinct("seed_list", run.seeds);
  for (const Arm& arm : run.arms) validate(arm.training);
  TestSettings::each_field(run.test, [](const Field& field, const auto& value) { check_field(field, value); });
  require_distinct("sizes", run.test.sizes);
  if (run.test.normalizers.empty())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is empty; it must have a value", named("normalizers")));
  for (const AnyNormalizer& normalizer : run.test.normalizers) require_scores_alone(normalizer, "normalizers");
}

// The three runs that have a name.

namespace {

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = from; n <= to; n *= 2) sizes.push_back(n);
  return sizes;
}

// Paper A's setting, as far as it is known: docs/reference/retrieval.md lists our guesses.
Arm paper_arm(std::int64_t steps) {
  Arm arm{.name = "paper"};
  arm.training.steps = steps;
  return arm;
}

// Our recipe: docs/reference/retrieval.md shows what each ingredient does. Sets of at most 16 items crowded below 1
// stand for the top of sets of up to a thousand million; a rule that keeps its rows sharp at any scale of the
// scores gives even the most crowded of them a gradient; and the learning rate falls as far as the resolution
// that is wanted, at a constant rate.
TrainingSettings sharp_training(Encoder encoder, std::int64_t steps) {
  TrainingSettings t;
  t.encoder = encoder;
  t.steps = steps;
  t.normalizer = EntropyTarget{.nats = 1.0};
  t.crowding = Crowding::top;
  t.least_width = 1e-9;
  t.schedule = Schedule::geometric;
  t.final_learning_rate = 1e-9;
  t.beta2 = 0.99;
  t.clip = 1.0;
  t.precision = Precision::float64;  // makes no difference that was seen, and rounding is never the question
  return t;
}

// The same sets for a head that is trained under softmax: what crowding alone gives.
TrainingSettings crowded_softmax_training(std::int64_t steps) {
  TrainingSettings t;
  t.encoder = Encoder::linear;
  t.steps = steps;
  t.crowding = Crowding::top;
  t.least_width = 1e-6;
  t.schedule = Schedule::cosine;
  t.clip = 1.0;
  t.precision = Precision::float64;
  return t;
}

constexpr std::int64_t kPaperSteps = 100'000;

std::vector<AnyNormalizer> every_normalizer() {
  std::vector<AnyNormalizer> all;
  for (const NormalizerInfo& member : family())
    if (!member.needs_queries_and_keys) all.push_back(AnyNormalizer(member.name));
  return all;
}

std::vector<std::uint64_t> first_seeds(std::uint64_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < count; ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace

Arm named_arm(std::string_view name) {
  if (name == "paper") return paper_arm(kPaperSteps);
  if (name == "sharp") return {.name = "sharp", .training = sharp_training(Encoder::linear, 20'000)};
  if (name == "sharp-mlp") return {.name = "sharp-mlp", .training = sharp_training(Encoder::mlp, 40'000)};
  if (name == "crowded-softmax")
    return {.name = "crowded-softmax", .training = crowded_softmax_training(60'000)};
  throw RequestError(ErrorCode::bad_argument,
                     fmt::format("{}: there is no arm {}; it must be paper, sharp, sharp-mlp or crowded-softmax", named("arms"),
                                 in_quotes(name)));
}

RunSettings preset(std::string_view name) {
  const std::vector<AnyNormalizer> few = {Softmax{}, Adaptive{}, EntropyTarget{.nats = 0.1}, Hard{}};
  if (name == "quick")
    return {.preset = "quick",
            .arms = {paper_arm(30'000), named_arm("sharp")},
            .seeds = first_seeds(1),
            .test = {.sizes = doubling(16, 16'384), .normalizers = every_normalizer(), .sets_scale = 0.25}};
  if (name == "paper")
    return {.preset = "paper",
            .arms = {named_arm("paper")},
            .seeds = first_seeds(10),
            .test = {.sizes = doubling(16, 16'384), .normalizers = few}};
  if (name == "sharp") {
    std::vector<std::int64_t> sizes = doubling(16, 16'384);
    sizes.insert(sizes.end(), {131'072, 1'048'576});
    std::vector<AnyNormalizer> constants = few;  // any constant temperature has a size at which it loses the key
    constants.insert(constants.begin() + 1, {Softmax{.beta = 1e3}, Softmax{.beta = 1e6}});
    return {.preset = "sharp",
            .arms = {named_arm("paper"), named_arm("sharp"), named_arm("sharp-mlp"),
                     named_arm("crowded-softmax")},
            .seeds = first_seeds(5),
            .test = {.sizes = sizes, .normalizers = constants}};
  }
  throw RequestError(ErrorCode::bad_argument,
                     fmt::format("{} is {}; it must be quick, paper or sharp", named("preset"), in_quotes(name)));
}

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return value;
  else
    return field_text(value);
}
template <class T>
Json value_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(value_of(value));
  return list;
}
template <class Settings>
Json fields_json(const Settings& settings) {
  Json json = Json::object();
  Settings::each_field(settings,
                       [&](const Field& field, const auto& value) { json[std::string(field.name)] = value_of(value); });
  return json;
}

// One object of which every key must be asked for.
class StrictObject {
 public:
  StrictObject(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail(fmt::format("{} found; expected an object", json.type_name()));
  }

  const Json& at(std::string_view key) {
    asked_.emplace(key);
    const auto found = json_.find(std::string(key));
    if (found == json_.end()) fail(fmt::format("there is no {}", in_quotes(key)));
    return *found;
  }
  std::string path(std::string_view key) const { return fmt::format("{}: {}", where_, key); }

  bool boolean(std::string_view key) { return of_type(key, &Json::is_boolean, "true or false").get<bool>(); }
  double number(std::string_view key) { return of_type(key, &Json::is_number, "a number").get<double>(); }
  std::string text(std::string_view key) { return of_type(key, &Json::is_string, "text").get<std::string>(); }
  const Json& list(std::string_view key) { return of_type(key, &Json::is_array, "a list"); }
  std::int64_t integer(std::string_view key) { return integer(at(key), key); }
  std::int64_t integer(const Json& value, std::string_view key) const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
      fail(key, value, "a whole number");
    return value.get<std::int64_t>();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", where_, what));
  }
  [[noreturn]] void fail(std::string_view key, const Json& found, std::string_view wanted) const {
    const std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    fail(fmt::format("{} is {}; expected {}", key, in_quotes(text), wanted));
  }
  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!asked_.contains(key)) fail(fmt::format("there is no setting {}", in_quotes(key)));
  }

 private:
  const Json& of_type(std::string_view key, bool (Json::*is)() const noexcept, std::string_view wanted) {
    const Json& value = at(key);
    if (!(value.*is)()) fail(key, value, wanted);
    return value;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

void read(StrictObject& object, const Field& field, bool& into) { into = object.boolean(field.name); }
void read(StrictObject& object, const Field& field, std::int64_t& into) { into = object.integer(field.name); }
void read(StrictObject& object, const Field& field, double& into) { into = object.number(field.name); }
template <class Text>
void read(StrictObject& object, const Field& field, Text& into) {
  read_field(field, object.text(field.name), into);
}
void read(StrictObject& object, const Field& field, std::vector<std::int64_t>& into) {
  into.clear();
  for (const Json& number : object.list(field.name)) into.push_back(object.integer(number, field.name));
}
void read(StrictObject& object, const Field& field, std::vector<AnyNormalizer>& into) {
  into.clear();
  for (const Json& text : object.list(field.name)) {
    if (!text.is_string()) object.fail(field.name, text, "text");
    read_field(field, text.get<std::string>(), into.emplace_back(Softmax{}));
  }
}
template <class Settings>
void read_fields(StrictObject object, Settings& settings) {
  Settings::each_field(settings, [&](const Field& field, auto& value) { read(object, field, value); });
  object.finish();
}

// A value that a setting does not take is, in a file, a defect of the file.
template <class Body>
void as_bad_file(std::string_view where, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_file) throw;
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

Json json_of(const TrainingSettings& settings) { return fields_json(settings); }
Json json_of(const TestSettings& settings) { return fields_json(settings); }

Json json_of(const RunSettings& run) {
  Json arms = Json::array();
  for (const Arm& arm : run.arms) arms.push_back({{"name", arm.name}, {"training", json_of(arm.training)}});
  return {{"schema", kRunSchema}, {"preset", run.preset}, {"arms", arms}, {"seeds", run.seeds}, {"test", json_of(run.test)}};
}

TrainingSettings training_from(const Json& json, std::string_view where) {
  TrainingSettings settings;
  as_bad_file(where, [&] {
    read_fields(StrictObject(json, std::string(where)), settings);
    validate(settings);
  });
  return settings;
}

RunSettings run_from(const Json& json, std::string_view where) {
  RunSettings run;
  as_bad_file(where, [&] {
    StrictObject object(json, std::string(where));
    if (const std::string schema = object.text("schema"); schema != kRunSchema)
      object.fail(fmt::format("schema is {}; expected {}", in_quotes(schema), kRunSchema));
    run.preset = object.text("preset");
    for (const Json& entry : object.list("arms")) {
      StrictObject arm(entry, object.path("an arm"));
      run.arms.push_back(
          {.name = arm.text("name"), .training = training_from(arm.at("training"), arm.path("training"))});
      arm.finish();
    }
    for (const Json& seed : object.list("seeds")) {
      if (!seed.is_number_unsigned()) object.fail("a seed", seed, "a whole number, 0 or more");
      run.seeds.push_back(seed.get<std::uint64_t>());
    }
    read_fields(StrictObject(object.at("test"), object.path("test")), run.test);
    object.finish();
    validate(run);
  });
  return run;
}

}  // namespace sharpmax::retrieval
