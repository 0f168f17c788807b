#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/data/fields.h"
#include "report/data/page_data.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostHeads = 1 << 20;  // of a model: files may claim anything

struct Shape {
  std::int64_t layers = 0, heads = 0;
};

Shape shape_of(const Json& model) {
  const Shape shape{model.at("layers").get<std::int64_t>(), model.at("heads").get<std::int64_t>()};
  if (shape.layers < 1 || shape.heads < 1 || shape.layers > kMostHeads || shape.heads > kMostHeads ||
      shape.layers * shape.heads > kMostHeads)
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: the model has {} layers of {} heads", shape.layers, shape.heads));
  return shape;
}

// Which normalizer every head has, layer by layer: {"names": [text, ...], "of": [place among them, ...]}.
class NormalizerMap {
 public:
  NormalizerMap(const Json& table, Shape shape)
      : shape_(shape),
        of_(static_cast<std::size_t>(shape.layers * shape.heads), place_of(table.at("default"))) {
    if (table.contains("layers"))
      for (const Json& entry : table.at("layers"))
        for (std::int64_t head = 0; head < shape_.heads; ++head) set(entry, head);
    for (const Json& entry : table.at("heads")) set(entry, entry.at("head").get<std::int64_t>());
  }

  Json take() { return {{"names", std::move(names_)}, {"of", std::move(of_)}}; }

 private:
  std::size_t place_of(const Json& normalizer) {
    const auto& name = normalizer.get_ref<const std::string&>();
    const auto place =
        static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    if (place == names_.size()) names_.push_back(name);
    return place;
  }

  void set(const Json& entry, std::int64_t head) {
    const auto layer = entry.at("layer").get<std::int64_t>();
    if (layer < 0 || layer >= shape_.layers || head < 0 || head >= shape_.heads)
      throw Error(
          ErrorCode::bad_argument,
          fmt::format("report: a table of normalizers has head {}.{}; the model has {} layers of {} heads",
                      layer, head, shape_.layers, shape_.heads));
    of_[static_cast<std::size_t>(layer * shape_.heads + head)] = place_of(entry.at("normalizer"));
  }

  Shape shape_;
  std::vector<std::string> names_;  // before of_, which its making fills
  std::vector<std::size_t> of_;
};

Json change_of(const Json& change) {
  return Fields(change).sizes({"to"}).numbers({"from", "tokens", "plain", "change", "low", "high"}).take();
}

Json flips_of(const Json& flips) {
  return Fields(flips).numbers({"questions", "plain", "rule", "up", "down", "p"}).take();
}

Json comparison_of(const Json& comparison) {
  Json kept{{"text", change_of(comparison.at("text"))}, {"task", flips_of(comparison.at("task"))}};
  kept["by_position"] = Json::array();
  for (const Json& change : comparison.at("by_position")) kept["by_position"].push_back(change_of(change));
  kept["by_length"] = Json::array();
  for (const Json& flips : comparison.at("by_length")) {
    Json line{{"length", nullptr}};  // of a file of questions
    if (!flips.at("length").is_null()) line = Fields(flips).sizes({"length"}).take();
    line.update(flips_of(flips));
    kept["by_length"].push_back(std::move(line));
  }
  return kept;
}

Json trial_of(const Json& trial, Shape shape, bool judged) {
  Json kept = Fields(trial).texts({"rule", "rope_scaling"}).truths({"searched"}).numbers({"heads"}).take();
  kept["map"] = NormalizerMap(trial.at("normalizers"), shape).take();
  if (!judged) return kept;
  kept.update(Fields(trial).numbers({"score"}).texts({"llama_cpp"}).take());
  const Json& against = trial.at("against_nothing");
  kept["tuning"] = comparison_of(against.at("tuning"));
  if (against.contains("held_out")) kept["held_out"] = comparison_of(against.at("held_out"));
  return kept;
}

Json answer_of(const Json& answer) {
  Json kept = Fields(answer)
                  .texts({"verdict", "chosen", "use", "rope_scaling", "llama_cpp"})
                  .truths({"leave_it"})
                  .take();
  if (answer.contains("finding"))
    kept["finding"] =
        Fields(answer.at("finding"))
            .truths({"better", "loss_falls", "loss_rises", "task_gains", "task_loses", "loss_allowed"})
            .take();
  return kept;
}

Json survey_of(const Json& survey, Shape shape) {
  const auto heads = static_cast<std::size_t>(shape.layers * shape.heads);
  Json kept = Json::object();
  for (const char* name : {"kind", "entropy_slope"}) {
    const Json& list = survey.at(name);
    if (list.size() != heads)
      throw Error(
          ErrorCode::bad_argument,
          fmt::format("report: the survey tells {} of {} heads; the model has {}", name, list.size(), heads));
    for (const Json& value : list) {
      if (std::string_view(name) == "kind")
        value.get_ref<const std::string&>();
      else if (!value.is_null())
        static_cast<void>(value.get<double>());
    }
    kept[name] = list;
  }
  return kept;
}

// Steps of the search that were not chosen, the last first.
void drop_steps(Json& data, std::size_t room, const std::string& chosen) {
  std::size_t taken = size_of(data), dropped = 0;
  Json& trials = data["trials"];
  for (std::size_t i = trials.size(); i-- > 1 && taken > room;) {
    if (!trials[i]["searched"].get<bool>() || trials[i]["rule"].get<std::string>() == chosen) continue;
    taken -= std::min(taken, size_of(trials[i]) + 1);
    trials.erase(i);
    ++dropped;
  }
  if (dropped > 0) data["left_out"].push_back(fmt::format("{} steps of the search", dropped));
}

// What the reader misses least goes first.
void make_room(Json& data, std::size_t room) {
  Json& trials = data["trials"];
  const std::string chosen = data.contains("answer") && data["answer"]["chosen"].is_string()
                                 ? data["answer"]["chosen"].get<std::string>()
                                 : "";
  const auto drop = [&](const char* what, const auto& erase) {
    if (size_of(data) <= room) return;
    for (Json& trial : trials) erase(trial);
    data["left_out"].push_back(what);
  };
  const auto is_chosen = [&](const Json& trial) { return trial.at("rule").get<std::string>() == chosen; };
  drop("losses by position on the part to choose by", [](Json& trial) {
    if (trial.contains("tuning")) trial["tuning"].erase("by_position");
  });
  drop("which heads the steps of the search changed", [&](Json& trial) {
    if (trial["searched"].get<bool>() && !is_chosen(trial)) trial.erase("map");
  });
  drop("held-out losses by position of rules that were not chosen", [&](Json& trial) {
    if (trial.contains("held_out") && !is_chosen(trial)) trial["held_out"].erase("by_position");
  });
  drop("which heads the other rules changed", [&](Json& trial) {
    if (!is_chosen(trial)) trial.erase("map");
  });
  if (size_of(data) > room && data.contains("survey")) {
    data.erase("survey");
    data["left_out"].push_back("kinds of heads");
  }
  drop_steps(data, room, chosen);
}

}  // namespace

Json fix_data(const Json& results, std::size_t room) {
  Json data = Fields(results).origin().truths({"complete"}).take();
  Json left_out = Json::array();
  data["settings"] = settings_within(results.at("settings"), room / 4, left_out);
  const Json& settings = results.at("settings");
  data["settings"].update(Fields(settings)
                              .texts({"text", "task", "for"})
                              .numbers({"tokens", "length", "seed", "allow", "budget"})
                              .take());
  data["left_out"] = std::move(left_out);
  const Shape shape = shape_of(settings.at("model"));
  const bool judged = results.at("complete").get<bool>();
  if (judged) {
    data["answer"] = answer_of(results.at("answer"));
    data["survey"] = survey_of(results.at("survey"), shape);
  }
  data["trials"] = Json::array();
  for (const Json& trial : results.at("trials"))
    data["trials"].push_back(trial_of(trial, shape, judged && !data["trials"].empty()));
  make_room(data, room);
  return data;
}

}  // namespace sharpmax::report
