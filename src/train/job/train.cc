#include "sharpmax/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cluster/launch.h"
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

// A process that joins may take all of it from the directory.
bool takes_settings(const TrainRequest& request) { return request.join && request.task.task.empty(); }

void check_request(const TrainRequest& request) {
  if (request.task.task.empty() && !(request.join && !request.directory.empty())) {
    std::string names;
    for (const train::TaskKind* kind : train::task_kinds())
      names += (names.empty() ? "" : ", ") + std::string(kind->name);
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is missing; the tasks are {}", operand("task"), names));
  }
  check_fields(request);
  if ((request.resume || request.join) && request.overwrite)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} and {} are two different things; give one",
                                   flagged(request.resume ? "resume" : "join"), flagged("overwrite")));
}

void check_launched(const TrainRequest& request, const Launch& launch) {
  if (launch.several() && request.overwrite)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is for one process, and {} started {}; remove the directory before",
                                   flagged("overwrite"), launch.launcher, launch.size));
}

// Fields that say how a process works, not what the run is.
bool is_of_settings(const Field& field) {
  constexpr std::array<std::string_view, 6> kOthers = {"threads", "directory", "resume",
                                                       "join",    "overwrite", "checkpoint_seconds"};
  return std::find(kOthers.begin(), kOthers.end(), field.name) == kOthers.end();
}

train::RunSettings settings_in_run(const TrainRequest& request) {
  const std::filesystem::path root = directory_of(request);
  try {
    return train::settings_in(settings_in_directory(root));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not the settings of a run: {}", (root / kSettings).string(), error.what()));
  }
}

train::RunSettings settings_for(const TrainRequest& request) {
  if (!takes_settings(request)) return train::settings_of(request);
  std::string_view given;
  each_given(request, [&](const Field& field, const auto&) {
    if (is_of_settings(field)) given = field.name;
  });
  if (!given.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} without {} goes with no {}: settings are those of the run",
                                   flagged("join"), operand("task"), named(given)));
  return settings_in_run(request);
}

void tell_company(const Launch& launch, const train::RunSettings& settings, const std::string& directory,
                  Listener& listener) {
  if (const std::string unused = unused_tasks_sentence(); !unused.empty()) listener.narrate(unused);
  if (!launch.several() || launch.rank > 0) return;
  listener.narrate(
      fmt::format("{} processes, started by {}, share {}", launch.size, launch.launcher, directory));
  const std::string idle = idle_sentence(launch, train::run_pieces(settings, train::RunFiles(directory)));
  if (!idle.empty()) listener.narrate(idle);
}

// A test at trained sizes says nothing about larger ones, which is what the training is for.
void tell_sizes(const train::RunSettings& settings, Listener& listener) {
  const std::int64_t largest = settings.test.sizes.back(), trained = settings.task.largest_size;
  if (largest <= trained)
    listener.narrate(fmt::format("no tested size is above {}, the largest in training: the test cannot show whether accuracy "
                                 "holds beyond it; give larger ones in {}",
                                 trained, named("sizes")));
}

Existing existing_for(const TrainRequest& request, bool shared) {
  return shared              ? Existing::join
         : request.resume    ? Existing::resume
         : request.overwrite ? Existing::overwrite
                             : Existing::refuse;
}

// Processes that share a run end with the same results.
TrainResult kept(const TrainResult& result, const TrainRequest& request, bool shared, Listener& listener) {
  const std::string text = results_text(to_json(result));
  const auto pause = [&] { listener.on_pause(); };
  if (shared) {
    constexpr std::array<std::string_view, 4> kOfOneProcess = {"command", "created", "training_seconds",
                                                               "testing_seconds"};
    return train_result(agree_on_results(directory_of(request), text, kOfOneProcess, pause));
  }
  keep_results(directory_of(request), text, pause);
  return result;
}

}  // namespace

std::string directory_of(const TrainRequest& request) {
  if (!request.directory.empty()) return request.directory;
  std::string name = std::filesystem::path(request.task.task).stem().string();  // a task may be a file
  std::replace(name.begin(), name.end(), ':', '-');
  return "train-" + name;
}

RunStatus status_of(const TrainRequest& request) {
  const std::filesystem::path root = directory_of(request);
  RunStatus status =
      sharpmax::status_of(root, train::run_pieces(settings_in_run(request), train::RunFiles(root)));
  status.provenance = provenance_of(request.command, command_of("train", request) + " --status");
  return status;
}

TrainResult train_models(const TrainRequest& request, Listener& listener) {
  check_request(request);
  const Launch launched = launch();
  check_launched(request, launched);
  const bool shared = request.join || launched.several();
  const train::RunSettings settings = settings_for(request);
  CallFiles(request.overwrite)
      .writes(named("directory"), results_of(request).string(), results_kind(kTrainSchema))
      .check();
  listener.on_resumption({true, "checkpoints and finished tests are saved", directory_of(request)});
  const train::Directory directory(directory_of(request), settings, existing_for(request, shared));
  tell_company(launched, settings, directory_of(request), listener);
  tell_sizes(settings, listener);
  TrainResult result = train::run(settings, directory,
                                  {.threads = request.threads.value_or(0),
                                   .checkpoint_seconds = request.checkpoint_seconds,
                                   .launch = shared ? launched : Launch{},
                                   .progress = [&](const std::string& line) { listener.on_progress(line); },
                                   .standing =
                                       [&](const std::string& sentence) {
                                         if (request.resume) listener.narrate("resuming: " + sentence);
                                       },
                                   .remark =
                                       [&](const std::string& sentence) {
                                         if (shared) listener.narrate(sentence);
                                       }});
  result.provenance = provenance_of(request.command, command_of("train", request));
  result = kept(result, request, shared, listener);
  listener.on_progress("");
  return result;
}

Json to_json(const TrainResult& result) {
  Json json = header_of(kTrainSchema, result.provenance);
  json["training_seconds"] = result.training_seconds;
  json["testing_seconds"] = result.testing_seconds;
  json["settings"] = train::settings_json(result.settings);
  json["chance"] = result.chance;
  json["subtasks"] = json_of(result.subtasks);
  json["models"] = json_of(result.models);
  json["tables"] = json_of(result.tables);
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
    read_json(results.at("subtasks"), result.subtasks);
    read_json(results.at("models"), result.models);
    read_json(results.at("tables"), result.tables);
    read_json(results.at("summary"), result.summary);
    read_json(results.at("results"), result.results);
    return result;
  });
}

}  // namespace sharpmax
