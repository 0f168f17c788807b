// The directory of a run: whose it is, and whether its settings are those of this call.
//
//   run.json    the settings; written first
//   engine.json version, instruction set and BLAS of the processes: other ones would leave other last bits
//   FOLDER/     pieces of the run, each written whole; *.partial is what a killed process was writing
//   claims/     the process at work on each piece: claims.h. Gone when the run is finished
//
// One process begins, resumes or overwrites a run; any number join it while it or others work.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpmax/job.h"
#include "sweep/claims.h"

namespace sharpmax {

inline constexpr const char* kSettings = "run.json";
inline constexpr const char* kEngine = "engine.json";
inline constexpr const char* kClaims = "claims";
inline constexpr const char* kResults = "results.json";

// What to do where a run is already. join: work on it with others; begin it if there is none.
enum class Existing { refuse, resume, overwrite, join };

struct RunContent {
  Json settings;
  std::vector<std::string> folders;
  // Throws Error{bad_file} for settings in a file that are none. Null: any JSON.
  std::function<void(const Json& found, const std::string& file)> check = {};
  Json engine = {};  // see engine_of()
  std::vector<std::string> not_compared = {};  // members of the settings in which processes may differ
};

// What the last bits of results depend on. blas: its description, for runs that use it.
Json engine_of(const std::string& blas);

class RunDirectory {
 public:
  // Makes the directory fit for this run, or throws: {bad_argument} where a run is already and `existing` does not say what
  // to do, or where its settings or its engine differ; {bad_file}, {io}. Locks it as long as this lives: alone while it
  // settles, then together with processes that join.
  RunDirectory(const std::filesystem::path& root, const RunContent& content, Existing existing);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& root() const noexcept { return root_; }
  const Claims& claims() const noexcept { return claims_; }

 private:
  void open();
  void lock_alone();
  void lock_with_others();
  void settle(const RunContent& content, Existing existing) const;
  void settle_with_others(const RunContent& content) const;

  std::filesystem::path root_;
  Claims claims_;
  int descriptor_ = -1;
};

// Writes the results of a run that this process began or resumed, and removes the claims that nobody has. pause: called
// while another process writes; may throw.
void keep_results(const std::filesystem::path& root, std::string_view text, const std::function<void()>& pause);

// The results of a run that this process joined. The first to come writes them as `text`; whoever finds the same
// written, apart from the members of `of_one_process`, keeps the file. Returns the contents of the file.
Json agree_on_results(const std::filesystem::path& root, std::string_view text,
                      std::span<const std::string_view> of_one_process, const std::function<void()>& pause);

}  // namespace sharpmax
