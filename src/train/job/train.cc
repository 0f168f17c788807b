#include "sharpmax/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "storage/files.h"
#include "train/run/run.h"
#include "train/task/task.h"

namespace sharpmax {
namespace {

std::filesystem::path results_of(const TrainRequest& request) {
  return std::filesystem::path(directory_of(request)) / "results.json";
}

void check_request(const TrainRequest& request) {
  if (request.task.task.empty()) {
    std::string names;
    for (const train::TaskKind* kind : train::task_kinds())
      names += (names.empty() ? "" : ", ") + std::string(kind->name);
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is missing; the tasks are {}", operand("task"), names));
  }
  check_fields(request);
  if (request.resume && request.overwrite)
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} and {} are two different things; give one",
                                                            flagged("resume"), flagged("overwrite")));
}

}  // namespace

std::string directory_of(const TrainRequest& request) {
  if (!request.directory.empty()) return request.directory;
  std::string name = std::filesystem::path(request.task.task).stem().string();  // a task may be a file
  std::replace(name.begin(), name.end(), ':', '-');
  return "train-" + name;
}

TrainResult train_models(const TrainRequest& request, Listener& listener) {
  check_request(request);
  const train::RunSettings settings = train::settings_of(request);
  CallFiles(request.overwrite)
      .writes(named("directory"), results_of(request).string(), results_kind(kTrainSchema))
      .check();
  listener.on_resumption({true, "checkpoints and finished tests are saved", directory_of(request)});
  const train::Directory directory(directory_of(request), settings,
                                   request.resume      ? Existing::resume
                                   : request.overwrite ? Existing::overwrite
                                                       : Existing::refuse);
  TrainResult result = train::run(settings, directory,
                                  {.threads = request.threads.value_or(0),
                                   .checkpoint_seconds = request.checkpoint_seconds,
                                   .progress = [&](const std::string& line) { listener.on_progress(line); },
                                   .standing =
                                       [&](const std::string& sentence) {
                                         if (request.resume) listener.narrate("resuming: " + sentence);
                                       }});
  result.provenance = provenance_of(request.command, command_of("train", request));
  write_text(results_of(request), results_text(to_json(result)));
  listener.on_progress("");
  return result;
}

Json to_json(const TrainResult& result) {
  Json json = header_of(kTrainSchema, result.provenance);
  json["training_seconds"] = result.training_seconds;
  json["testing_seconds"] = result.testing_seconds;
  json["settings"] = train::settings_json(result.settings);
  json["chance"] = result.chance;
  json["models"] = json_of(result.models);
  json["summary"] = json_of(result.summary);
  json["results"] = json_of(result.results);
  return json;
}

TrainResult train_result(const Json& json) {
  return read_results(json, kTrainSchema, [](const Json& results) {
    TrainResult result{.provenance = provenance_in(results)};
    read_json(results.at("training_seconds"), result.training_seconds);
    read_json(results.at("testing_seconds"), result.testing_seconds);
    result.settings = train::settings_in(results.at("settings"));
    read_json(results.at("chance"), result.chance);
    read_json(results.at("models"), result.models);
    read_json(results.at("summary"), result.summary);
    read_json(results.at("results"), result.results);
    return result;
  });
}

}  // namespace sharpmax
