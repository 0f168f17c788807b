#include "sweep/shared_job.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "base/numbers.h"
#include "base/threads.h"
#include "job/call_files.h"
#include "job/saved_results.h"
#include "storage/files.h"
#include "sweep/deal.h"

namespace sharpmax {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPieces = "pieces";

[[noreturn]] void refuse_sharing(const std::string& sentence) {
  throw RequestError(ErrorCode::bad_argument, sentence);
}

Json pieces_json(const PiecesByKind& pieces) {
  Json kinds = Json::array();
  for (const auto& [kind, all] : pieces) {
    Json list = Json::array();
    for (const Piece& piece : all)
      list.push_back({{"name", piece.name}, {"file", piece.file.generic_string()}, {"cost", piece.cost}});
    kinds.push_back({{"kind", kind}, {"pieces", std::move(list)}});
  }
  return kinds;
}

PiecesByKind pieces_in(const Json& settings, const fs::path& root) {
  PiecesByKind pieces;
  for (const Json& kind : settings.at("pieces")) {
    std::vector<Piece> all;
    for (const Json& piece : kind.at("pieces"))
      all.push_back({.name = piece.at("name").get<std::string>(),
                     .cost = piece.at("cost").get<double>(),
                     .file = root / piece.at("file").get<std::string>()});
    pieces.emplace_back(kind.at("kind").get<std::string>(), std::move(all));
  }
  return pieces;
}

RunContent run_content(const SharedContent& content) {
  const Json settings = {{"verb", content.verb},
                         {"fields", content.fields.compared},
                         {"measured", content.measured},
                         {"places", content.fields.places},
                         {"pieces", pieces_json(content.pieces)}};
  return {.settings = Json::parse(results_text(settings)),  // a path may have bytes that are not text
          .folders = {kPieces},
          .engine = engine_of(content.blas),
          .not_compared = {"places", "pieces"}};
}

Existing existing_for(const SharedWish& wish, bool shared) {
  return shared           ? Existing::join
         : wish.resume    ? Existing::resume
         : wish.overwrite ? Existing::overwrite
                          : Existing::refuse;
}

}  // namespace

FieldPart part_of(const Field& field) {
  constexpr std::array<std::string_view, 8> kOwn = {"threads",  "resume",   "join",     "overwrite",
                                                    "by_layer", "together", "patience", "checkpoint_seconds"};
  if (field.kind == Field::Kind::output || std::find(kOwn.begin(), kOwn.end(), field.name) != kOwn.end())
    return FieldPart::own;
  const bool place = field.name == "model" || field.kind == Field::Kind::input || field.kind == Field::Kind::table ||
                     field.kind == Field::Kind::memory;
  return place ? FieldPart::place : FieldPart::compared;
}

Json place_json(const Field& field, const std::string& value) {
  const bool contents = field.kind == Field::Kind::memory || (field.kind == Field::Kind::table && value.starts_with('{'));
  if (contents) return {{"named", "-"}, {"at", value}};
  std::error_code failed;
  const fs::path at = fs::absolute(value, failed);
  return {{"named", value}, {"at", failed ? value : at.string()}};
}

fs::path piece_file(const std::string& name) { return fs::path(kPieces) / name; }

void check_sharing(const SharedWish& wish, const std::string& json) {
  const bool kept = !wish.sharing.directory.empty();
  if (wish.sharing.join && !kept) refuse_sharing(fmt::format("{} goes with {}", flagged("join"), given("directory", "DIR")));
  if (wish.resume && !kept && !is_file(json))
    refuse_sharing(fmt::format("{} goes with {} or {}", flagged("resume"), given("json", "FILE"), given("directory", "DIR")));
  if (!kept || !wish.overwrite) return;
  if (wish.sharing.join || wish.resume)
    refuse_sharing(fmt::format("{} and {} are two different things; give one", flagged(wish.resume ? "resume" : "join"),
                               flagged("overwrite")));
  if (const Launch by = launch(); by.several())
    refuse_sharing(fmt::format("{} is for one process, and {} started {}; remove the directory before", flagged("overwrite"),
                               by.launcher, by.size));
}

void tell_unshared(const Sharing& sharing, Listener& listener) {
  const Launch by = launch();
  if (sharing.directory.empty() && by.several() && by.rank == 0)
    listener.narrate(fmt::format("{} started {} processes, and each does the whole job; with {} they share it", by.launcher,
                                 by.size, given("directory", "DIR")));
}

Json shared_settings(std::string_view verb, const std::string& directory) {
  Json settings = settings_in_directory(directory);
  const auto found = settings.find("verb");
  if (found == settings.end() || *found != verb)
    refuse_sharing(fmt::format("{} holds a run of {}, not of {}; choose another {}", directory,
                               found == settings.end() ? "another command" : found->dump(), verb, named("directory")));
  return settings;
}

RunStatus shared_status(std::string_view verb, const Sharing& sharing, const std::string& command) {
  if (sharing.directory.empty())
    refuse_sharing(fmt::format("{} goes with {}", flagged("status"), given("directory", "DIR")));
  const fs::path root = sharing.directory;
  try {
    RunStatus status = status_of(root, pieces_in(shared_settings(verb, sharing.directory), root));
    const std::string otherwise = fmt::format("sharpmax {} --directory {} --status", verb, quoted_word(root.string()));
    status.provenance = provenance_of(command, otherwise);
    return status;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: not the settings of a run: {}", (root / kSettings).string(), error.what()));
  }
}

SharedJob::SharedJob(const SharedContent& content, const SharedWish& wish, Listener& listener)
    : listener_(listener),
      launch_(launch()),
      shared_(wish.sharing.join || launch_.several()),
      directory_(wish.sharing.directory, run_content(content), existing_for(wish, shared_)),
      pieces_(content.pieces),
      places_(shared_settings(content.verb, wish.sharing.directory).at("places")) {
  listener.on_resumption(
      {true, fmt::format("finished {} are saved", content.pieces.front().first), wish.sharing.directory});
  tell_company(content, wish);
  if (wish.resume && !shared_) listener.narrate("resuming: " + standing());
}

void SharedJob::tell_company(const SharedContent& content, const SharedWish& wish) const {
  if (const std::string unused = unused_tasks_sentence(); !unused.empty()) listener_.narrate(unused);
  if (!launch_.several() || launch_.rank > 0) return;
  listener_.narrate(fmt::format("{} processes, started by {}, share {}", launch_.size, launch_.launcher,
                                wish.sharing.directory));
  const auto& [kind, pieces] = content.pieces.front();
  const auto size = static_cast<std::size_t>(launch_.size);
  if (size > pieces.size())
    listener_.narrate(fmt::format("there are {} {}: {} of {} processes have nothing to do", pieces.size(), kind,
                                  size - pieces.size(), size));
}

std::string SharedJob::standing() const {
  std::string words;
  for (const auto& [kind, all] : pieces_) {
    const auto done = std::count_if(all.begin(), all.end(), [&](const Piece& piece) { return fs::exists(path_of(piece)); });
    words += fmt::format("{}{} of {} {}", words.empty() ? "" : ", ", grouped(done),
                         grouped(static_cast<std::int64_t>(all.size())), kind);
  }
  return words + " are done";
}

std::string SharedJob::named_place(const std::string& field, const std::string& otherwise) const {
  const auto place = places_.find(field);
  return place == places_.end() ? otherwise : place->value("named", otherwise);
}

void SharedJob::wait(std::size_t left, bool worked) {
  if (shared_ && !worked && !std::exchange(told_idle_, true))
    listener_.narrate(fmt::format("other processes are at work on all {} pieces that are left; this one waits for them", left));
  listener_.proceed(fmt::format("waiting for other processes: {} pieces left", grouped(static_cast<std::int64_t>(left))));
  wait_for_others();
}

void SharedJob::carry_out(const std::vector<Piece>& pieces, const std::function<void(std::size_t)>& work, int threads) {
  std::vector<Piece> placed = pieces;
  for (Piece& piece : placed) piece.file = path_of(piece);
  Deal deal(directory_.claims(), placed, shared_ ? launch_ : Launch{});
  std::atomic<bool> worked = false;
  const auto take = [&] {
    while (const std::optional<Deal::Taken> taken = deal.next()) {
      worked = true;
      work(taken->index);
    }
  };
  for (;;) {
    if (threads > 1)
      parallel_for(threads, threads, [&](std::int64_t, int) { take(); });
    else
      take();  // not within a loop: the work has loops of its own
    if (shared_ && !directory_.claims().locks_kept() && !std::exchange(told_locks_, true))
      listener_.narrate(no_locks_sentence(directory_.root()));
    const std::size_t left = deal.left();
    if (left == 0) return;
    wait(left, worked);
  }
}

Json SharedJob::keep(const Json& results) {
  const std::string text = results_text(results);
  const auto pause = [&] { listener_.on_pause(); };
  if (!shared_) {
    keep_results(directory_.root(), text, pause);
    return results;
  }
  constexpr std::array<std::string_view, 3> kOfOneProcess = {"command", "created", "seconds"};
  return agree_on_results(directory_.root(), text, kOfOneProcess, pause);
}

}  // namespace sharpmax
