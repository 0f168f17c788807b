// What processes of mpirun spend on working together; one JSON object per line, from rank 0. Driven by compare.py.
//
//   scaling_rounds network         message times between ranks 0 and 1: latency and bandwidth
//   scaling_rounds fold ROWS       one softmax round of so many rows, ours and by MPI_Allreduce with an operation of its own
//   scaling_rounds round BYTES     one gather of a group
//   scaling_rounds compute TEXT    attend_split over 262,144 keys and 8 rows: CPU seconds of the slowest rank
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "attention/parts/split_row.h"
#include "cluster/launched_group.h"
#include "sharpmax/split.h"

namespace sharpmax {
namespace {

constexpr int kRepeats = 201;
constexpr std::int64_t kValueFeatures = 64;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Median seconds of one call, of the slowest rank, all of which begin together.
template <class Prepare, class Call>
double seconds_of(const Prepare& prepare, const Call& call) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    call();
    seconds.push_back(MPI_Wtime() - began);
  }
  double mine = median(seconds), slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double message_seconds(int rank, std::size_t bytes) {
  std::vector<char> buffer(bytes);
  const auto count = static_cast<int>(bytes);
  return seconds_of([] {}, [&] {
    if (rank == 0) {
      MPI_Send(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }) / 2.0;
}

void measure_network(Group& group) {
  constexpr std::size_t kSmall = 8, kLarge = std::size_t{4} << 20;
  const double small = message_seconds(group.rank(), kSmall), large = message_seconds(group.rank(), kLarge);
  if (group.rank() == 0)
    fmt::print("{{\"latency\": {:.9g}, \"bandwidth\": {:.9g}}}\n", small, static_cast<double>(kLarge) / (large - small));
}

void measure_round(Group& group, std::size_t bytes) {
  const Group::Bytes mine(bytes);
  const double seconds = seconds_of([] {}, [&] { group.gather(mine); });
  if (group.rank() == 0) fmt::print("{{\"ranks\": {}, \"bytes\": {}, \"seconds\": {:.9g}}}\n", group.size(), bytes, seconds);
}

constexpr std::size_t kNumbers = 3;  // largest score, tail, moment
constexpr std::size_t kPart = kNumbers + kValueFeatures;

// What a share may leave, of one row.
void fill_part(std::span<double> part, int rank, std::size_t row) {
  part[0] = std::sin(static_cast<double>(row) + rank);
  for (std::size_t i = 1; i < kPart; ++i) part[i] = 1.0 + 0.01 * static_cast<double>(i);
}

// The merge of softmax parts as an operation of MPI.
void merge_parts(void* from_data, void* into_data, int* rows, MPI_Datatype*) {
  const auto* from = static_cast<const double*>(from_data);
  auto* into = static_cast<double*>(into_data);
  for (int row = 0; row < *rows; ++row, from += kPart, into += kPart) {
    const double max = std::max(from[0], into[0]), a = std::exp(into[0] - max), b = std::exp(from[0] - max);
    const double moment = a * (into[2] + (into[0] - max) * into[1]) + b * (from[2] + (from[0] - max) * from[1]);
    for (std::size_t i = 1; i < kPart; ++i) into[i] = a * into[i] + b * from[i];
    into[2] = moment;
    into[0] = max;
  }
}

void measure_fold(Group& group, std::size_t rows) {
  std::vector<double> mine(rows * kPart), all(rows * kPart);
  for (std::size_t row = 0; row < rows; ++row) fill_part(std::span(mine).subspan(row * kPart, kPart), group.rank(), row);
  const AnyNormalizer softmax = Softmax{};
  std::vector<std::unique_ptr<SplitRow>> split(rows);
  std::vector<InRounds*> live(rows);
  const double ours = seconds_of(
      [&] {
        for (std::size_t row = 0; row < rows; ++row) {
          split[row] = split_row(softmax, 0, 1 << 20);
          live[row] = split[row].get();
        }
      },
      [&] {
        run_rounds(group, live, group.size(), 1, [&](std::int64_t, int, std::span<InRounds* const>, std::span<SharePart> parts) {
          for (std::size_t row = 0; row < rows; ++row) {
            const double* const from = mine.data() + row * kPart;
            parts[row].numbers.assign(from, from + kNumbers);
            parts[row].sum.assign(from + kNumbers, from + kPart);
          }
        });
      });
  MPI_Datatype part;
  MPI_Type_contiguous(static_cast<int>(kPart), MPI_DOUBLE, &part);
  MPI_Type_commit(&part);
  MPI_Op merge;
  MPI_Op_create(merge_parts, 1, &merge);
  const double theirs = seconds_of([] {}, [&] {
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(rows), part, merge, MPI_COMM_WORLD);
  });
  if (group.rank() == 0)
    fmt::print("{{\"ranks\": {}, \"rows\": {}, \"ours\": {:.9g}, \"allreduce\": {:.9g}}}\n", group.size(), rows, ours, theirs);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Time in visits of own shares alone: a rank that waits computes nothing.
class WorkClock final : public Group {
 public:
  explicit WorkClock(Group& group) : group_(group), at_(cpu_seconds()) {}
  int rank() const noexcept override { return group_.rank(); }
  int size() const noexcept override { return group_.size(); }
  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    worked_ += cpu_seconds() - at_;
    std::vector<Bytes> all = group_.gather(mine);
    at_ = cpu_seconds();
    return all;
  }
  std::vector<Bytes> exchange(std::span<const Bytes> to) override { return group_.exchange(to); }
  Bytes broadcast(std::span<const std::byte> bytes, int root) override { return group_.broadcast(bytes, root); }
  double seconds() const { return worked_ + cpu_seconds() - at_; }

 private:
  Group& group_;
  double worked_ = 0.0, at_;
};

void measure_compute(Group& group, const std::string& text) {
  constexpr std::int64_t kKeys = 262'144, kRows = 8;
  constexpr int kTimes = 5;
  const KeyRun run = keys_of_rank(kKeys, group.rank(), group.size());
  const auto filled = [](Tensor<float, 4> tensor, std::int64_t first, double frequency) {
    for (std::size_t i = 0; i < tensor.size(); ++i)
      tensor.data()[i] = static_cast<float>(2.0 * std::sin(frequency * static_cast<double>(first + static_cast<std::int64_t>(i))));
    return tensor;
  };
  const Tensor<float, 4> query = filled(Tensor<float, 4>({1, kRows, 1, 64}), 0, 0.7);
  const Tensor<float, 4> key = filled(Tensor<float, 4>({1, 1, run.size(), 64}), run.begin * 64, 0.311);
  const Tensor<float, 4> value = filled(Tensor<float, 4>({1, 1, run.size(), 64}), run.begin * 64, 0.173);
  Tensor<float, 4> out({1, kRows, 1, 64});
  const AnyNormalizer normalizer = AnyNormalizer::parse(text);
  std::vector<double> seconds;
  for (int i = 0; i < kTimes; ++i) {
    WorkClock clock(group);
    attend_split({query, key, value}, kKeys, normalizer, clock, out, nullptr, {.threads = 1});
    seconds.push_back(clock.seconds());
  }
  double mine = median(seconds), slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (group.rank() == 0) fmt::print("{{\"ranks\": {}, \"rule\": \"{}\", \"cpu_seconds\": {:.9g}}}\n", group.size(), text, slowest);
}

int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Launch by = launch();
    if (by.launcher.empty()) by = {"mpirun", 0, 1};
    const std::unique_ptr<Group> group = mpi_group(by, kPatience);
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "network") measure_network(*group);
    if (what == "fold") measure_fold(*group, std::strtoull(argv[2], nullptr, 10));
    if (what == "round") measure_round(*group, std::strtoull(argv[2], nullptr, 10));
    if (what == "compute") measure_compute(*group, argv[2]);
    std::fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace sharpmax

int main(int argc, char** argv) { return argc < 2 ? 2 : sharpmax::run(argc, argv); }
