#include "cluster/launch.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* sign;  // set too if it is this launcher; null: rank and size are signs enough
};

// RANK and WORLD_SIZE are common words: they count beside an address to meet at.
constexpr std::array<Launcher, 4> kLaunchers = {{
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"torchrun", "RANK", "WORLD_SIZE", "MASTER_ADDR"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", nullptr},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
}};

int number_in(const char* name, const char* text, int least, int most) {
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stopped, problem] = std::from_chars(text, end, number);
  if (problem != std::errc() || stopped != end || number < least || number > most)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the environment variable {} is {}; it must be a whole number from {} to {}", name,
                            in_quotes(text), least, most));
  return number;
}

}  // namespace

Launch launch_of(const std::function<const char*(const char*)>& value) {
  constexpr int kMost = 1 << 24;
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = value(launcher.rank);
    const char* const size = value(launcher.size);
    if (!rank || !size || (launcher.sign && !value(launcher.sign))) continue;
    const int count = number_in(launcher.size, size, 1, kMost);
    return {launcher.name, number_in(launcher.rank, rank, 0, count - 1), count};
  }
  return {};
}

std::string unused_tasks_sentence_of(const std::function<const char*(const char*)>& value) {
  const char* const tasks = value("SLURM_NTASKS");
  if (!tasks || value("SLURM_STEP_ID") || !launch_of(value).launcher.empty()) return "";
  int count = 0;
  std::from_chars(tasks, tasks + std::strlen(tasks), count);  // text that is no number says nothing
  if (count <= 1) return "";
  return fmt::format("Slurm has {} tasks for this job, and this is one process; start it with srun to use them all", count);
}

namespace {

const char* in_environment(const char* name) { return std::getenv(name); }

}  // namespace

Launch launch() { return launch_of(in_environment); }

std::string unused_tasks_sentence() { return unused_tasks_sentence_of(in_environment); }

}  // namespace sharpmax
