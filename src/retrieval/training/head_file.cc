#include "retrieval/training/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "base/in_quotes.h"
#include "retrieval/task/task.h"
#include "sharpmax/error.h"
#include "storage/safetensors.h"

namespace sharpmax::retrieval {
namespace {

constexpr std::string_view kHeadFormat = "sharpmax.head/1";
constexpr std::string_view kCheckpointFormat = "sharpmax.checkpoint/1";
constexpr const char* kNormalizerParameters = "normalizer.parameters";
constexpr const char* kFirstMoment = "adam.first_moment";
constexpr const char* kSecondMoment = "adam.second_moment";
constexpr const char* kLossSums = "loss.sums";

// Biases have one dimension in the file, as everywhere.
std::vector<std::int64_t> shape_in_file(Part part, const PartShape& shape) {
  if (name_of(part).ends_with(".bias")) return {shape.columns};
  return {shape.rows, shape.columns};
}

// ---- Writing ----

class TensorList {
 public:
  void add(std::string name, std::vector<std::int64_t> shape, std::span<const double> values) {
    views_.push_back({std::move(name), SafetensorType::f64, std::move(shape), values.data()});
  }
  void add(const char* name, std::span<const double> values) {
    add(name, {static_cast<std::int64_t>(values.size())}, values);
  }
  void add_floats(std::string name, std::vector<std::int64_t> shape, std::span<const double> values) {
    const auto& floats = floats_.emplace_back(values.begin(), values.end());
    views_.push_back({std::move(name), SafetensorType::f32, std::move(shape), floats.data()});
  }
  void write(const std::filesystem::path& path, SafetensorMetadata metadata) const {
    write_sealed_tensors(path, views_, std::move(metadata));
  }

 private:
  std::vector<SafetensorView> views_;
  std::deque<std::vector<float>> floats_;  // where they are does not change as more come
};

void add_parts(TensorList& tensors, const TrainingSettings& training, std::span<const double> parameters) {
  const Layout layout(training.encoder, training.width, training.classes);
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const PartShape& shape = layout[part];
    if (shape.size() == 0) continue;
    const auto values =
        parameters.subspan(static_cast<std::size_t>(shape.offset), static_cast<std::size_t>(shape.size()));
    const std::string name(name_of(part));
    if (training.precision == Precision::float32)
      tensors.add_floats(name, shape_in_file(part, shape), values);
    else
      tensors.add(name, shape_in_file(part, shape), values);
  }
}

SafetensorMetadata metadata_of(std::string_view format, const std::string& arm, std::uint64_t seed,
                               const TrainingSettings& training) {
  return {{"format", std::string(format)},
          {"arm", arm},
          {"seed", fmt::format("{}", seed)},
          {"settings", json_of(training).dump()}};
}

// ---- Reading ----

class TensorReader {
 public:
  explicit TensorReader(const std::filesystem::path& path) : file_(path) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", file_.name(), what));
  }

  const std::string& word(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) fail(fmt::format("the metadata have no '{}'", key));
    return found->second;
  }
  // The format's name first: for a wrong file a sentence about checksums would mislead.
  void check(std::string_view wanted) const {
    if (!file_.metadata().contains("format"))
      fail(fmt::format("the metadata have no 'format'; expected {}", wanted));
    if (word("format") != wanted)
      fail(fmt::format("the format is {}; expected {}", in_quotes(word("format")), wanted));
    check_seal(file_);
  }
  std::uint64_t whole_number(const std::string& key) const {
    const std::string& text = word(key);
    std::uint64_t value = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || stop != text.data() + text.size())
      fail(fmt::format("the {} is {}; expected a whole number", key, in_quotes(text)));
    return value;
  }
  TrainingSettings training() const {
    const std::string where = fmt::format("{}: settings", file_.name());
    return training_from(parse_json(word("settings"), where), where);
  }

  std::vector<double> numbers(const std::string& name, const std::vector<std::int64_t>& shape,
                              SafetensorType type) {
    asked_.insert(name);
    const SafetensorEntry* entry = file_.find(name);
    if (!entry) fail(fmt::format("there is no tensor {}", in_quotes(name)));
    if (entry->type != type || entry->shape != shape)
      fail(fmt::format("at byte {}: tensor {} is {} of shape [{}]; expected {} of shape [{}]",
                       entry->name_offset, in_quotes(name), name_of(entry->type),
                       fmt::join(entry->shape, ", "), name_of(type), fmt::join(shape, ", ")));
    std::vector<double> values(entry->elements);
    const std::span<const std::byte> bytes = file_.bytes(*entry);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = type == SafetensorType::f64 ? at<double>(bytes, i) : at<float>(bytes, i);
      if (!std::isfinite(values[i]))
        fail(fmt::format("at byte {}: tensor {} holds {}; expected finite numbers",
                         entry->begin + i * size_of(type), in_quotes(name), values[i]));
    }
    return values;
  }

  std::vector<double> parameters(const TrainingSettings& training) {
    const Layout layout(training.encoder, training.width, training.classes);
    const auto type = training.precision == Precision::float32 ? SafetensorType::f32 : SafetensorType::f64;
    std::vector<double> all;
    for (std::size_t i = 0; i < kParts; ++i) {
      const Part part = static_cast<Part>(i);
      if (layout[part].size() == 0) continue;
      const auto values = numbers(std::string(name_of(part)), shape_in_file(part, layout[part]), type);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::vector<double> normalizer_parameters(const TrainingSettings& training) {
    const auto count = static_cast<std::int64_t>(training.normalizer.parameters().size());
    Head head{.training = training};
    head.normalizer_parameters = numbers(kNormalizerParameters, {count}, SafetensorType::f64);
    try {
      head.normalizer();
    } catch (const Error& error) {
      fail(fmt::format("tensor '{}': {}", kNormalizerParameters, error.what()));
    }
    return head.normalizer_parameters;
  }

  void finish() const {
    for (const SafetensorEntry& tensor : file_.tensors())
      if (!asked_.contains(tensor.name))
        fail(fmt::format("at byte {}: tensor {} is none of such a head's", tensor.name_offset,
                         in_quotes(tensor.name)));
  }

 private:
  template <class Number>
  static double at(std::span<const std::byte> bytes, std::size_t i) {
    Number value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }

  SafetensorsFile file_;
  std::set<std::string> asked_;
};

}  // namespace

void save_head(const std::filesystem::path& path, const Head& head) {
  TensorList tensors;
  add_parts(tensors, head.training, head.parameters);
  tensors.add(kNormalizerParameters, head.normalizer_parameters);
  tensors.write(path, metadata_of(kHeadFormat, head.arm, head.seed, head.training));
}

Head load_head(const std::filesystem::path& path) {
  TensorReader reader(path);
  reader.check(kHeadFormat);
  Head head{.arm = reader.word("arm"), .training = reader.training(), .seed = reader.whole_number("seed")};
  head.parameters = reader.parameters(head.training);
  head.normalizer_parameters = reader.normalizer_parameters(head.training);
  reader.finish();
  return head;
}

void save_state(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const TrainingState& state = checkpoint.state;
  TensorList tensors;
  add_parts(tensors, checkpoint.training, state.parameters);
  tensors.add(kNormalizerParameters, state.normalizer_parameters);
  tensors.add(kFirstMoment, state.first_moment);
  tensors.add(kSecondMoment, state.second_moment);
  tensors.add(kLossSums, checkpoint.loss_sums);
  SafetensorMetadata metadata =
      metadata_of(kCheckpointFormat, checkpoint.arm, checkpoint.seed, checkpoint.training);
  metadata["step"] = fmt::format("{}", state.step);
  tensors.write(path, std::move(metadata));
}

Checkpoint load_state(const std::filesystem::path& path) {
  TensorReader reader(path);
  reader.check(kCheckpointFormat);
  Checkpoint checkpoint{
      .arm = reader.word("arm"), .training = reader.training(), .seed = reader.whole_number("seed")};
  const std::uint64_t step = reader.whole_number("step");
  if (step > static_cast<std::uint64_t>(checkpoint.training.steps))
    reader.fail(fmt::format("step is {} of {}", step, checkpoint.training.steps));
  TrainingState& state = checkpoint.state;
  state.step = static_cast<std::int64_t>(step);
  state.parameters = reader.parameters(checkpoint.training);
  state.normalizer_parameters = reader.normalizer_parameters(checkpoint.training);
  const auto moments =
      static_cast<std::int64_t>(state.parameters.size() + state.normalizer_parameters.size());
  state.first_moment = reader.numbers(kFirstMoment, {moments}, SafetensorType::f64);
  state.second_moment = reader.numbers(kSecondMoment, {moments}, SafetensorType::f64);
  checkpoint.loss_sums =
      reader.numbers(kLossSums, {LossCurve::stretches(checkpoint.training.steps)}, SafetensorType::f64);
  reader.finish();
  return checkpoint;
}

}  // namespace sharpmax::retrieval
