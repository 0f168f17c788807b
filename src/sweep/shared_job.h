// A job on a model, kept in a directory in pieces that any number of processes share.
//
//   run.json      verb, fields of the request, what the results depend on, pieces, and places: paths of the inputs
//   pieces/       one file per piece, written whole
//   results.json  when all pieces are done
//
// A process that joins takes from run.json what it was not told. Paths may differ between machines: what is read is
// compared by checksums, and results name the inputs as the first process did.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cluster/launch.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "sharpmax/sweep.h"
#include "sweep/run_directory.h"
#include "sweep/run_status.h"

namespace sharpmax {

// How the fields of a request take part: most are compared, some name inputs, some are each process's own.
enum class FieldPart { compared, place, own };
FieldPart part_of(const Field& field);

// Fields of a request as run.json has them.
struct SharedFields {
  Json compared = Json::object();  // name: text, or a list of texts
  Json places = Json::object();    // name: {"named": as it was given, "at": absolute path, or the contents}
};
Json place_json(const Field& field, const std::string& value);

// What a job is, for its directory.
struct SharedContent {
  std::string verb;  // "audit"
  SharedFields fields;
  Json measured;       // what the results depend on, without paths
  PiecesByKind pieces;  // files within the directory
  std::string blas;    // blas_description()
};

struct SharedWish {
  Sharing sharing;
  bool resume = false, overwrite = false;
};

// The file of a piece, within the directory of its run.
std::filesystem::path piece_file(const std::string& name);

class SharedJob {
 public:
  // Makes the directory fit, or throws as RunDirectory does. Reports the company, idle processes and what was done before.
  SharedJob(const SharedContent& content, const SharedWish& wish, Listener& listener);

  // How the process that began the run named an input; `otherwise` if it was not given there.
  std::string named_place(const std::string& field, const std::string& otherwise) const;

  // work(i) writes the file of pieces[i], here, for every piece that nobody else does. Returns when all are done. With
  // several threads, each takes pieces of its own, and work() is called by all of them.
  void carry_out(const std::vector<Piece>& pieces, const std::function<void(std::size_t)>& work, int threads = 1);

  // Writes results.json, or agrees with the others on it. Returns its contents.
  Json keep(const Json& results);

  std::filesystem::path path_of(const Piece& piece) const { return directory_.root() / piece.file; }
  // "3 of 12 pieces are done"
  std::string standing() const;

 private:
  void tell_company(const SharedContent& content, const SharedWish& wish) const;
  void wait(std::size_t left, bool worked);

  Listener& listener_;
  Launch launch_;
  bool shared_;
  RunDirectory directory_;
  PiecesByKind pieces_;
  Json places_;
  bool told_locks_ = false, told_idle_ = false;
};

// The status of the job in a directory. Needs neither model nor text. Throws RequestError if it holds none of this verb.
RunStatus shared_status(std::string_view verb, const Sharing& sharing, const std::string& command);

// Refuses fields that do not go together: `resume` and `join` without a directory, two ways to treat an existing run.
void check_sharing(const SharedWish& wish, const std::string& json);
// For jobs without a directory: says it if a launcher started several processes, each of which does everything.
void tell_unshared(const Sharing& sharing, Listener& listener);

// run.json of a directory. Throws RequestError if it is of another verb.
Json shared_settings(std::string_view verb, const std::string& directory);

template <class Request>
SharedFields shared_fields(const Request& request) {
  SharedFields fields;
  Request::each_field(request, [&](const Field& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const std::string name(field.name), text = field_text(value);
    const FieldPart part = part_of(field);
    if (part == FieldPart::own) return;
    if (part == FieldPart::place) {
      if (!text.empty()) fields.places[name] = place_json(field, text);
    } else if constexpr (std::is_same_v<Value, Texts>) {
      fields.compared[name] = static_cast<const std::vector<std::string>&>(value);  // texts may hold any separator
    } else {
      fields.compared[name] = text;
    }
  });
  return fields;
}

// The request with the fields of the run that it joins, except those that were given. Throws Error{bad_file}, and
// RequestError if there is no run and no model to begin one with.
template <class Request>
Request joined(const Request& request, std::string_view verb) {
  const std::string& directory = request.sharing.directory;
  const bool begins = !std::filesystem::exists(std::filesystem::path(directory) / kSettings);
  if (!request.sharing.join || directory.empty() || (begins && !request.model.model.empty())) return request;
  const Json settings = shared_settings(verb, directory);
  std::set<std::string, std::less<>> given;
  each_given(request, [&](const Field& field, const auto&) {
    given.emplace(field.name);
    if (field.name == "text") given.emplace("text_string");
    if (field.name == "text_string") given.emplace("text");
  });
  Request whole = request;
  try {
    Request::each_field(whole, [&](const Field& field, auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      const std::string name(field.name);
      const FieldPart part = part_of(field);
      if (part == FieldPart::own || given.contains(field.name)) return;
      const Json& from = settings.at(part == FieldPart::place ? "places" : "fields");
      if (!from.contains(name)) return;
      if constexpr (std::is_same_v<Value, Texts>) {
        value.clear();
        for (const Json& text : from.at(name)) value.push_back(text.get<std::string>());
      } else {
        const std::string text = (part == FieldPart::place ? from.at(name).at("at") : from.at(name)).template get<std::string>();
        if (!text.empty()) read_field(field, text, value);
      }
    });
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file,
                std::string(kSettings) + " of " + directory + ": not the settings of a run: " + error.what());
  }
  return whole;
}

}  // namespace sharpmax
