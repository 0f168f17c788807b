#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/in_quotes.h"
#include "cli/attend.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

bool ends_with(const std::string& path, std::string_view ending) { return path.ends_with(ending); }

void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

void check_outputs(const AttendOptions& options, std::size_t normalizers) {
  const std::string& output = options.output;
  if (!output.empty() && normalizers > 1 && ends_with(output, ".npy")) {
    refuse(
        fmt::format("-o {}: {} normalizers make {} outputs; give a .npz", output, normalizers, normalizers));
  }
  if (options.backward.empty() != options.gradients_output.empty()) {
    refuse("--backward and --gradients-out go together");
  }
}

bool is_summarized(std::string_view name) {
  constexpr std::string_view kNames[] = {"entropy", "peak_weight", "effective_support",
                                         "support", "mass",        "temperature"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

struct StatisticsWishes {
  bool every_row = false;  // top keys, gap counts, column mass, map: only if they will be written
  std::int64_t top = 8;
  std::vector<double> gaps;
  std::int64_t map_rows = 0, map_columns = 0;  // 0: no map

  WantedStatistics wanted() const {
    WantedStatistics wanted{.peak_key = true};
    each_row_statistic([&](const auto& statistic) {
      if (every_row || is_summarized(statistic.name())) wanted.*statistic.wish = true;
    });
    if (!every_row) return wanted;
    wanted.top = top;
    wanted.gap_counts = !gaps.empty();
    wanted.gaps = gaps;
    wanted.column_mass = true;
    wanted.map = {map_rows, map_columns};
    return wanted;
  }
};

struct Summary {
  double mean = 0, median = 0, min = 0, max = 0;
};

Summary summary_of(std::vector<double> values) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::erase_if(values, [](double v) { return std::isnan(v); });
  if (values.empty()) return {kNone, kNone, kNone, kNone};
  std::sort(values.begin(), values.end());
  double sum = 0.0;
  for (const double v : values) sum += v;
  const std::size_t half = values.size() / 2;
  return {.mean = sum / static_cast<double>(values.size()),
          .median = values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]),
          .min = values.front(),
          .max = values.back()};
}

class HeadStatistics {
 public:
  HeadStatistics(const AttentionRequest& request, const StatisticsWishes& wishes)
      : found_(wishes.wanted(), {request.query.shape[0], request.query.shape[1], request.query.shape[2],
                                 request.key.shape[2]}) {}

  RowStatistics views() noexcept { return found_.views(); }

  std::vector<NamedNpyView> named_views(const std::string& prefix) const {
    std::vector<NamedNpyView> out;
    const auto add = [&]<class T, std::size_t Rank>(const char* name, const Tensor<T, Rank>& tensor) {
      if (tensor.data() == nullptr) return;
      const NpyType type = std::is_same_v<T, double> ? NpyType::float64 : NpyType::int64;
      out.push_back({prefix + name, {type, {tensor.shape().begin(), tensor.shape().end()}, tensor.data()}});
    };
    each_row_statistic([&](const auto& statistic) { add(statistic.name(), found_.*statistic.tensor); });
    add("top_keys", found_.top_keys);
    add("top_weights", found_.top_weights);
    add("gap_counts", found_.gap_counts);
    if (found_.gap_counts.data() != nullptr) {
      const auto count = static_cast<std::int64_t>(found_.gaps.size());
      out.push_back({prefix + "gaps", {NpyType::float64, {count}, found_.gaps.data()}});
    }
    add("column_mass", found_.column_mass);
    add("map", found_.map);
    return out;
  }

  // One object per head, over the rows of every batch entry that have a key and no NaN.
  Json summary_json() const {
    Json heads = Json::array();
    for (std::int64_t h = 0; h < found_.mass.shape()[1]; ++h) {
      const Head head = summarize(h);
      Json json{{"head", h}, {"rows", head.rows}, {"masked_rows", head.masked}, {"poisoned_rows", head.poisoned}};
      for (const auto& [name, s] : head.summaries)
        json[name] = {{"mean", s.mean}, {"median", s.median}, {"min", s.min}, {"max", s.max}};
      heads.push_back(std::move(json));
    }
    return heads;
  }

  std::string summary_table(bool colour) const {
    Table table(std::vector<Align>(11, Align::right));
    std::vector<Cell> names;
    for (const char* name :
         {"head", "entropy", "median", "min", "max", "peak", "median", "min", "max", "support", "beta"}) {
      names.push_back({name, Ink::dim});
    }
    table.add(std::move(names));
    std::int64_t masked = 0, poisoned = 0;
    for (std::int64_t h = 0; h < found_.mass.shape()[1]; ++h) {
      const Head head = summarize(h);
      masked += head.masked, poisoned += head.poisoned;
      std::vector<Cell> row{{fmt::format("{}", h)}};
      for (const char* name : {"entropy", "peak_weight"}) {
        const Summary& s = head.of(name);
        for (const double v : {s.mean, s.median, s.min, s.max}) row.push_back({short_number(v)});
      }
      for (const char* name : {"support", "temperature"}) row.push_back({short_number(head.of(name).mean)});
      table.add(std::move(row));
    }
    std::string text = table.text(colour);
    text += "entropy (nats), peak weight, support, beta: means over rows\n";
    if (masked > 0) text += fmt::format("{} rows without a key are left out\n", grouped(masked));
    if (poisoned > 0) text += fmt::format("{} rows with a NaN or +inf score are left out\n", grouped(poisoned));
    return text;
  }

 private:
  struct Head {
    std::int64_t rows = 0, masked = 0, poisoned = 0;
    std::vector<std::pair<std::string, Summary>> summaries;

    const Summary& of(std::string_view name) const {
      return std::find_if(summaries.begin(), summaries.end(), [&](const auto& s) { return s.first == name; })->second;
    }
  };

  Head summarize(std::int64_t head) const {
    const auto [batches, heads, queries] = found_.mass.shape();
    Head out{.rows = batches * queries};
    std::vector<std::array<std::int64_t, 2>> rows;  // with a key and no NaN
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      for (std::int64_t query = 0; query < queries; ++query) {
        if (std::isnan(found_.peak_weight(batch, head, query)))
          ++out.poisoned;
        else if (found_.peak_key(batch, head, query) < 0)
          ++out.masked;
        else
          rows.push_back({batch, query});
      }
    }
    each_row_statistic([&](const auto& statistic) {
      if (!is_summarized(statistic.name())) return;
      const auto& tensor = found_.*statistic.tensor;
      std::vector<double> values;
      for (const auto& [batch, query] : rows) values.push_back(static_cast<double>(tensor(batch, head, query)));
      out.summaries.emplace_back(statistic.name(), summary_of(std::move(values)));
    });
    return out;
  }

  OwnedStatistics found_;
};

StatisticsWishes wishes_of(const AttendOptions& options) {
  StatisticsWishes wishes{.every_row = !options.statistics_output.empty(), .top = options.top};
  wishes.gaps.assign(kGapOctaves.begin(), kGapOctaves.end());
  if (!options.gaps.empty()) wishes.gaps = parse_numbers(options.gaps, "--gaps");
  if (!options.map.empty()) {
    std::string sides = options.map;
    std::replace(sides.begin(), sides.end(), 'x', ',');
    const auto numbers = parse_integers(sides, "--map");
    if (numbers.size() != 2 || numbers[0] < 1 || numbers[1] < 1 || numbers[0] > 4096 || numbers[1] > 4096) {
      refuse(fmt::format("--map: {} is not rows x columns, such as 64x64, up to 4096 each",
                         in_quotes(options.map)));
    }
    wishes.map_rows = numbers[0];
    wishes.map_columns = numbers[1];
  }
  return wishes;
}

ArrayBytes room_for(const Extents<4>& shape, std::size_t size) {
  std::uint64_t bytes = size;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) throw std::bad_alloc();
  }
  return ArrayBytes(bytes);
}

std::vector<std::int64_t> list_of(const Extents<4>& shape) { return {shape.begin(), shape.end()}; }

// What one normalizer leaves, kept until every one has run, so that a file is written whole.
struct Result {
  AnyNormalizer normalizer;
  ArrayBytes output;
  std::optional<HeadStatistics> statistics;
  std::array<ArrayBytes, 4> gradients;  // query, key, value, bias
  std::vector<double> parameter_gradients;
};

class Runner {
 public:
  explicit Runner(const AttendOptions& options)
      : options_(options),
        normalizers_(parse_normalizers(options.normalizers.empty() ? std::vector<std::string>{"softmax"}
                                                                   : options.normalizers)),
        wishes_(wishes_of(options)) {
    check_outputs(options, normalizers_.size());
    inputs_ = std::make_unique<AttendInputs>(options);
    if (!options.backward.empty()) d_out_ = read_npy(options.backward);
    const AttentionRequest& request = inputs_->request();
    out_shape_ = request.query.shape;
    out_shape_[3] = request.value.shape[3];
    const bool nothing_written =
        options.output.empty() && options.statistics_output.empty() && options.gradients_output.empty();
    show_statistics_ = options.statistics || nothing_written;
  }

  void run() {
    Progress progress;
    for (const AnyNormalizer& normalizer : normalizers_) {
      progress.show(fmt::format("{} ...", normalizer.text()));
      results_.push_back(attend_with(normalizer));
      if (!options_.backward.empty()) backward(results_.back());
    }
  }

  void write() const {
    const DType type = inputs_->request().query.dtype;
    const auto output_of = [&](const Result& r) {
      return NpyView{npy_type_of(type), inputs_->as_given(list_of(out_shape_)), r.output.data()};
    };
    if (!options_.output.empty() && !ends_with(options_.output, ".npz")) {
      write_npy(options_.output, output_of(results_[0]));
    } else if (!options_.output.empty()) {
      std::vector<NamedNpyView> arrays;
      for (const Result& r : results_) arrays.push_back({r.normalizer.text(), output_of(r)});
      write_npz(options_.output, arrays);
    }
    if (!options_.statistics_output.empty()) {
      std::vector<NamedNpyView> arrays;
      for (const Result& r : results_) {
        for (NamedNpyView& view : r.statistics->named_views(r.normalizer.text() + "/")) {
          arrays.push_back(std::move(view));
        }
      }
      write_npz(options_.statistics_output, arrays);
    }
    if (!options_.gradients_output.empty()) write_gradients();
  }

  void report() const {
    if (!options_.json.empty()) deliver(options_.json, json_text(results()));
    if (options_.json != "-") report_text();
  }

 private:
  Result attend_with(const AnyNormalizer& normalizer) const {
    const AttentionRequest& request = inputs_->request();
    const DType type = request.query.dtype;
    Result result{.normalizer = normalizer, .output = room_for(out_shape_, size_of(type))};
    if (show_statistics_ || wishes_.every_row) {
      result.statistics.emplace(request, wishes_);
    }
    const RowStatistics views = result.statistics ? result.statistics->views() : RowStatistics{};
    attend(request, normalizer, {result.output.data(), type, out_shape_},
           result.statistics ? &views : nullptr, {.threads = options_.threads});
    return result;
  }

  DType gradient_type() const {
    return inputs_->request().query.dtype == DType::float64 ? DType::float64 : DType::float32;
  }

  void backward(Result& result) const {
    const AttentionRequest& request = inputs_->request();
    const DType type = gradient_type();
    AttentionGradients gradients;
    const auto room = [&](ArrayBytes& bytes, AnyMutableTensor<4>& view, const AnyTensor<4>& like) {
      if (!like.present()) return;
      bytes = room_for(like.shape, size_of(type));
      view = {bytes.data(), type, like.shape};
    };
    room(result.gradients[0], gradients.query, request.query);
    room(result.gradients[1], gradients.key, request.key);
    room(result.gradients[2], gradients.value, request.value);
    room(result.gradients[3], gradients.bias, request.bias);
    const auto parameters = static_cast<std::int64_t>(result.normalizer.parameters().size());
    const std::int64_t heads = request.query.shape[1];
    if (parameters > 0) {
      result.parameter_gradients.assign(static_cast<std::size_t>(parameters * heads), 0.0);
      gradients.parameters = {result.parameter_gradients.data(), {parameters, heads}};
    }
    attend_backward(request, result.normalizer,
                    tensor_of(d_out_, "the gradient of the output", options_.bf16), gradients, {},
                    {.threads = options_.threads});
  }

  void write_gradients() const {
    const AttentionRequest& request = inputs_->request();
    const AnyTensor<4>* inputs[] = {&request.query, &request.key, &request.value, &request.bias};
    constexpr const char* kNames[] = {"query", "key", "value", "bias"};
    std::vector<NamedNpyView> arrays;
    for (const Result& r : results_) {
      const std::string prefix = r.normalizer.text() + "/";
      for (std::size_t i = 0; i < 4; ++i) {
        if (!inputs[i]->present()) continue;
        const auto shape = list_of(inputs[i]->shape);
        arrays.push_back({prefix + kNames[i],
                          {npy_type_of(gradient_type()), i < 3 ? inputs_->as_given(shape) : shape,
                           r.gradients[i].data()}});
      }
      const std::int64_t heads = request.query.shape[1];
      if (r.parameter_gradients.empty()) continue;
      arrays.push_back({prefix + "parameters",
                        {NpyType::float64,
                         {static_cast<std::int64_t>(r.parameter_gradients.size()) / heads, heads},
                         r.parameter_gradients.data()}});
    }
    write_npz(options_.gradients_output, arrays);
  }

  Json results() const {
    const auto path = [](const std::string& p) { return p.empty() ? Json(nullptr) : Json(p); };
    Json results = Json::array();
    for (const Result& r : results_) {
      Json entry{{"normalizer", r.normalizer.text()}};
      if (show_statistics_) entry["heads"] = r.statistics->summary_json();
      results.push_back(std::move(entry));
    }
    const AttentionRequest& request = inputs_->request();
    return Json{{"schema", "sharpmax.attend/1"},
                {"query_shape", request.query.shape},
                {"key_shape", request.key.shape},
                {"value_shape", request.value.shape},
                {"type", name_of(request.query.dtype)},
                {"output", path(options_.output)},
                {"statistics_output", path(options_.statistics_output)},
                {"gradients_output", path(options_.gradients_output)},
                {"results", results}};
  }

  void report_text() const {
    if (!show_statistics_) return;
    const bool colour = colour_wanted();
    std::string text;
    for (const Result& r : results_) {
      if (!text.empty()) text += "\n";
      text += inked(r.normalizer.text(), Ink::bold, colour) + "\n" + r.statistics->summary_table(colour);
    }
    print(text);
  }

  const AttendOptions& options_;
  std::vector<AnyNormalizer> normalizers_;
  StatisticsWishes wishes_;
  std::unique_ptr<AttendInputs> inputs_;
  NpyArray d_out_;
  Extents<4> out_shape_{};
  bool show_statistics_ = false;
  std::vector<Result> results_;
};

}  // namespace

int run_on_arrays(const AttendOptions& options) {
  Runner runner(options);
  runner.run();
  runner.write();
  runner.report();
  return kOk;
}

}  // namespace sharpmax::cli
