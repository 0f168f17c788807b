#include "retrieval/task/settings_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/in_quotes.h"
#include "retrieval/task/settings_fields.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kRunSchema = "sharpmax.retrieval.run/1";

Json value_of(bool value) { return value; }
Json value_of(std::int64_t value) { return value; }
Json value_of(double value) { return value; }
Json value_of(const AnyNormalizer& value) { return value.text(); }
template <class Word>
Json value_of(Word value) {
  return word(value);
}

// One object of which every key must be asked for.
class StrictObject {
 public:
  StrictObject(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail(fmt::format("{} found; wanted an object", json.type_name()));
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
    fail(fmt::format("{} is {}; wanted {}", key, in_quotes(text), wanted));
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

void read(StrictObject& object, const char* key, bool& into) { into = object.boolean(key); }
void read(StrictObject& object, const char* key, std::int64_t& into) { into = object.integer(key); }
void read(StrictObject& object, const char* key, double& into) { into = object.number(key); }
void read(StrictObject& object, const char* key, Encoder& into) { into = encoder_from(object.text(key)); }
void read(StrictObject& object, const char* key, Schedule& into) { into = schedule_from(object.text(key)); }
void read(StrictObject& object, const char* key, Crowding& into) { into = crowding_from(object.text(key)); }
void read(StrictObject& object, const char* key, Precision& into) { into = precision_from(object.text(key)); }
void read(StrictObject& object, const char* key, AnyNormalizer& into) {
  into = AnyNormalizer::parse(object.text(key));
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

std::string difference(const Json& there, const Json& here, const std::string& path) {
  if (there == here) return "";
  if (there.is_object() && here.is_object()) {
    for (const auto& [key, value] : here.items()) {
      const std::string at = path.empty() ? key : path + "." + key;
      if (!there.contains(key)) return fmt::format("{} is given here only", at);
      if (const std::string found = difference(there[key], value, at); !found.empty()) return found;
    }
  }
  if (there.is_array() && here.is_array() && there.size() == here.size()) {
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::string at = fmt::format("{}.{}", path, i);
      if (const std::string found = difference(there[i], here[i], at); !found.empty()) return found;
    }
  }
  return fmt::format("{} is {} there, {} here", path, there.dump(), here.dump());
}

TestSettings test_from(const Json& json, std::string where) {
  StrictObject object(json, std::move(where));
  TestSettings test;
  for (const Json& n : object.list("sizes")) test.sizes.push_back(object.integer(n, "a size"));
  for (const Json& text : object.list("normalizers")) {
    if (!text.is_string()) object.fail("a normalizer", text, "text");
    test.normalizers.push_back(AnyNormalizer::parse(text.get<std::string>()));
  }
  test.sets_scale = object.number("sets_scale");
  test.heat_map_sets = object.integer("heat_map_sets");
  test.heat_map_items = object.integer("heat_map_items");
  object.finish();
  return test;
}

}  // namespace

Json json_of(const TrainingSettings& settings) {
  Json json = Json::object();
  each_field(settings,
             [&](const char* name, const auto& value, const char*) { json[name] = value_of(value); });
  return json;
}

Json json_of(const RunSettings& run) {
  Json arms = Json::array();
  for (const Arm& arm : run.arms) arms.push_back({{"name", arm.name}, {"training", json_of(arm.training)}});
  Json normalizers = Json::array();
  for (const AnyNormalizer& normalizer : run.test.normalizers) normalizers.push_back(normalizer.text());
  return {{"schema", kRunSchema},
          {"preset", run.preset},
          {"arms", arms},
          {"seeds", run.seeds},
          {"test",
           {{"sizes", run.test.sizes},
            {"normalizers", normalizers},
            {"sets_scale", run.test.sets_scale},
            {"heat_map_sets", run.test.heat_map_sets},
            {"heat_map_items", run.test.heat_map_items}}}};
}

TrainingSettings training_from(const Json& json, std::string_view where) {
  TrainingSettings settings;
  as_bad_file(where, [&] {
    StrictObject object(json, std::string(where));
    each_field(settings, [&](const char* name, auto& value, const char*) { read(object, name, value); });
    object.finish();
    validate(settings);
  });
  return settings;
}

RunSettings run_from(const Json& json, std::string_view where) {
  RunSettings run;
  as_bad_file(where, [&] {
    StrictObject object(json, std::string(where));
    if (const std::string schema = object.text("schema"); schema != kRunSchema)
      object.fail(fmt::format("schema is {}; wanted {}", in_quotes(schema), kRunSchema));
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
    run.test = test_from(object.at("test"), object.path("test"));
    object.finish();
    validate(run);
  });
  return run;
}

Json parse_json(std::string_view text, std::string_view where) {
  std::vector<std::set<std::string>> keys;  // of every object that is open
  const auto watch = [&](int, nlohmann::detail::parse_event_t event, Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: {} is there twice", where, in_quotes(parsed.get<std::string>())));
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: at byte {}: not JSON from here on", where, error.byte));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: a number is too large", where));
  }
}

std::string first_difference(const Json& there, const Json& here) { return difference(there, here, ""); }

}  // namespace sharpmax::retrieval
