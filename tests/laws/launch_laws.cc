// Laws of launches: who started a process, told from the environment alone.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cluster/launch.h"
#include "sharpmax/error.h"

namespace sharpmax::test {
namespace {

using LaunchEnvironment = std::map<std::string, std::string>;

Launch launch_in(const LaunchEnvironment& environment) {
  return launch_of([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

struct LaunchCase {
  LaunchEnvironment environment;
  std::string launcher;
  int rank, size;
};

TEST(Launches, AreKnownByTheirEnvironment) {
  const LaunchCase cases[] = {
      {{}, "", 0, 1},
      {{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "8"}}, "mpirun", 2, 8},
      {{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}, "mpirun", 0, 3},
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "torchrun", 1, 2},
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}, "", 0, 1},  // words that anybody may use
      {{{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "64"}, {"SLURM_STEP_ID", "0"}}, "srun", 5, 64},
      // A batch script is one process, and so is a task of an array.
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_ARRAY_TASK_ID", "3"}}, "", 0, 1},
      // mpirun within a step of one task: the innermost counts.
      {{{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "1"},
        {"SLURM_STEP_ID", "0"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "4"}},
       "mpirun", 1, 4},
  };
  for (const LaunchCase& one : cases) {
    const Launch found = launch_in(one.environment);
    EXPECT_EQ(found.launcher, one.launcher);
    EXPECT_EQ(found.rank, one.rank) << one.launcher;
    EXPECT_EQ(found.size, one.size) << one.launcher;
    EXPECT_EQ(found.several(), one.size > 1);
  }
}

TEST(Launches, OfABatchScriptWithoutStepsReportTheTasksThatNobodyUses) {
  const auto sentence = [](const std::map<std::string, std::string>& environment) {
    return unused_tasks_sentence_of([&](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_NE(sentence({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).find("Slurm has 4 tasks"), std::string::npos);
  EXPECT_EQ(sentence({}), "");
  EXPECT_EQ(sentence({{"SLURM_NTASKS", "1"}}), "");
  EXPECT_EQ(sentence({{"SLURM_NTASKS", "many"}}), "");
  EXPECT_EQ(sentence({{"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}), "");
  EXPECT_EQ(sentence({{"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "");
}

TEST(Launches, WithNumbersThatMakeNoSenseAreRefused) {
  for (const auto& [rank, size] : {std::pair("4", "4"), {"-1", "4"}, {"x", "4"}, {"0", "0"}, {"0", "4 "}, {"", "1"}}) {
    try {
      launch_in({{"PMI_RANK", rank}, {"PMI_SIZE", size}});
      FAIL() << rank << " of " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_argument);
      EXPECT_NE(std::string(error.what()).find("PMI_"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
