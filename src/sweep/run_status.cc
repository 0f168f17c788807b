#include "sweep/run_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "storage/files.h"
#include "sweep/run_directory.h"

namespace sharpmax {

RunStatus status_of(const std::filesystem::path& root, const PiecesByKind& pieces) {
  const Claims claims(root / kClaims);
  RunStatus status{.directory = root.string(), .finished = std::filesystem::exists(root / "results.json")};
  for (const auto& [kind, all] : pieces) {
    PieceCount count{.kind = kind, .total = static_cast<std::int64_t>(all.size())};
    for (const Piece& piece : all) {
      const auto holder = claims.holder(piece.name);  // first: a piece that is done meanwhile is done
      if (std::filesystem::exists(piece.file)) {
        ++count.done;
      } else if (holder) {
        ++count.at_work;
        status.at_work.push_back({piece.name, holder->host, holder->process, holder->since});
      }
    }
    status.pieces.push_back(std::move(count));
  }
  return status;
}

std::string idle_sentence(const Launch& launch, const PiecesByKind& pieces) {
  const auto& [first_kind, first] = pieces.front();
  const auto& [last_kind, last] = pieces.back();
  const auto size = static_cast<std::size_t>(launch.size);
  if (size <= first.size()) return "";
  if (size <= last.size())
    return fmt::format("there are {} {} to train: {} of {} processes have nothing to do until the tests", first.size(),
                       first_kind, size - first.size(), size);
  return fmt::format("there are {} {} to train and {} {}: {} of {} processes have nothing to do", first.size(),
                     first_kind, last.size(), last_kind, size - std::max(first.size(), last.size()), size);
}

std::string no_locks_sentence(const std::filesystem::path& root) {
  return fmt::format("the file system of {} refuses locks, so processes may do the same piece twice; the results are the same",
                     root.string());
}

Json settings_in_directory(const std::filesystem::path& root) {
  const std::filesystem::path file = root / kSettings;
  if (!std::filesystem::exists(file))
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} holds no run ({} is missing); begin one there, or give another {}", root.string(),
                                   kSettings, named("directory")));
  return parse_json(read_text(file), file.string());
}

Json to_json(const RunStatus& status) {
  Json json = header_of(kRunStatusSchema, status.provenance);
  RunStatus::each_member(status, internal::Writer{json});
  return json;
}

RunStatus run_status(const Json& json) {
  return read_results(json, kRunStatusSchema, [](const Json& results) {
    RunStatus status{.provenance = provenance_in(results)};
    RunStatus::each_member(status, internal::Reader{results});
    return status;
  });
}

std::string text_of(const RunStatus& status) {
  std::string text = fmt::format("{}: {}\n", status.directory,
                                 status.finished ? "finished, the results are in results.json" : "not finished");
  for (const PieceCount& count : status.pieces)
    text += fmt::format("{:>9} {} {}, {} being worked on, {} left\n",
                        fmt::format("{} of {}", grouped(count.done), grouped(count.total)), count.kind,
                        "done", grouped(count.at_work), grouped(count.total - count.done - count.at_work));
  for (const PieceAtWork& piece : status.at_work)
    text += fmt::format("  {}: {}\n", piece.piece,
                        piece.host.empty()
                            ? "by a process that could not write its name"
                            : fmt::format("process {} on {}, since {}", piece.process, piece.host, piece.since));
  return text;
}

}  // namespace sharpmax
