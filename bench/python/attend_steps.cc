// The C++ call that doors.py compares Python's doors with, behind a line protocol. One line per request, one line
// an answer:
//
//   load FILE                     query, key and value, float32, as .npz    ok
//   output FILE                   writes the answer as `out` to an .npz     ok
//   time CALLS WARM TIMED         median seconds of CALLS calls in a row    ok SECONDS
//
// and `error MESSAGE` if it cannot. `time` calls for WARM seconds without the clock, and then for TIMED seconds
// with it: a turn of bench/serving.py, which times the doors.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/line_protocol.h"
#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/npy.h"

namespace sharpmax::bench {
namespace {

class Call {
 public:
  void load(const std::string& path) {
    arrays_ = read_npz(path);
    request_.query = input("query", path);
    request_.key = input("key", path);
    request_.value = input("value", path);
    shape_ = request_.query.shape;
    shape_[3] = request_.value.shape[3];
    out_.assign(static_cast<std::size_t>(shape_[0] * shape_[1] * shape_[2] * shape_[3]), 0.0f);
  }

  void write_output(const std::string& path) {
    run(1);
    write_npz(path, {{"out", {NpyType::float32, {shape_.begin(), shape_.end()}, out_.data()}}});
  }

  double median_seconds(int calls, double warm, double timed) {
    for (double spent = 0.0; spent < warm;) spent += seconds_of(calls);
    std::vector<double> found;
    for (double spent = 0.0; found.empty() || spent < timed; spent += found.back())
      found.push_back(seconds_of(calls));
    std::sort(found.begin(), found.end());
    return 0.5 * (found[(found.size() - 1) / 2] + found[found.size() / 2]);
  }

 private:
  AnyTensor<4> input(std::string_view name, const std::string& path) const {
    const auto found =
        std::find_if(arrays_.begin(), arrays_.end(), [&](const auto& array) { return array.name == name; });
    if (found == arrays_.end() || found->array.type != NpyType::float32 || found->array.shape.size() != 4)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: '{}' must be float32 in four dimensions", path, name));
    Extents<4> shape;
    std::copy(found->array.shape.begin(), found->array.shape.end(), shape.begin());
    return TensorView<const float, 4>(reinterpret_cast<const float*>(found->array.bytes.data()), shape);
  }

  void run(int calls) {
    const TensorView<float, 4> out(out_.data(), shape_);
    for (int i = 0; i < calls; ++i) attend(request_, normalizer_, out);
  }

  double seconds_of(int calls) {
    const auto began = std::chrono::steady_clock::now();
    run(calls);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  AnyNormalizer normalizer_ = AnyNormalizer::parse("softmax");
  std::vector<NamedNpyArray> arrays_;
  AttentionRequest request_;
  Extents<4> shape_{};
  std::vector<float> out_;
};

std::string answer_to(Call& call, const Words& words) {
  const auto is = [&](std::string_view name, std::size_t arguments) {
    return words[0] == name && words.size() == arguments + 1;
  };
  if (is("time", 3))
    return fmt::format("ok {}",
                       call.median_seconds(std::stoi(words[1]), std::stod(words[2]), std::stod(words[3])));
  if (is("load", 1))
    call.load(words[1]);
  else if (is("output", 1))
    call.write_output(words[1]);
  else
    throw Error(ErrorCode::bad_argument, fmt::format("attend_steps: '{}' is not a request", words[0]));
  return "ok";
}

void serve(const Words&) {
  Call call;
  std::cout << "ready " << current_target() << std::endl;
  answer_lines([&](const Words& words) { return answer_to(call, words); });
}

}  // namespace
}  // namespace sharpmax::bench

int main(int count, char** words) {
  return sharpmax::bench::run_contender(count, words, sharpmax::bench::serve);
}
