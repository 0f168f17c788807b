#include "retrieval/task/settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/in_quotes.h"

namespace sharpmax::retrieval {
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
