#include "cli/attend_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sharpmax::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Summary summary_of(std::vector<double> values) {
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

Json json_of(const Summary& s) {
  return {{"mean", s.mean}, {"median", s.median}, {"min", s.min}, {"max", s.max}};
}

template <class T, std::size_t Rank>
void name_view(std::vector<NamedNpyView>& out, const std::string& name, const TensorView<T, Rank>& view) {
  if (!view.present()) return;
  const NpyType type = std::is_same_v<T, double> ? NpyType::float64 : NpyType::int64;
  out.push_back({name, {type, {view.shape.begin(), view.shape.end()}, view.data}});
}

}  // namespace

StatisticsArrays::StatisticsArrays(const AttentionRequest& request, const StatisticsWishes& wishes)
    : wishes_(wishes),
      batches_(request.query.shape[0]),
      heads_(request.query.shape[1]),
      queries_(request.query.shape[2]) {
  const std::int64_t keys = request.key.shape[2];
  const auto count = [](const auto& shape) {
    std::size_t n = 1;
    for (const std::int64_t extent : shape) n *= static_cast<std::size_t>(extent);
    return std::max<std::size_t>(n, 1);  // a view without elements is still there
  };
  const auto room = [&]<std::size_t Rank>(TensorView<double, Rank>& view, const Extents<Rank>& shape) {
    view = {doubles_.emplace_back(count(shape)).data(), shape};
  };
  const auto integer_room = [&]<std::size_t Rank>(TensorView<std::int64_t, Rank>& view,
                                                  const Extents<Rank>& shape) {
    view = {integers_.emplace_back(count(shape)).data(), shape};
  };
  const Extents<3> rows{batches_, heads_, queries_};
  for (auto* view : {&views_.log_partition, &views_.entropy, &views_.peak_weight, &views_.effective_support,
                     &views_.mass, &views_.temperature, &views_.threshold}) {
    room(*view, rows);
  }
  integer_room(views_.peak_key, rows);
  integer_room(views_.support, rows);
  if (!wishes_.every_row) return;
  room(views_.score_spread, rows);
  room(views_.first_weight, rows);
  if (wishes_.top > 0) {
    integer_room(views_.top_keys, Extents<4>{batches_, heads_, queries_, wishes_.top});
    room(views_.top_weights, Extents<4>{batches_, heads_, queries_, wishes_.top});
  }
  if (!wishes_.gaps.empty()) {
    views_.gaps = wishes_.gaps;
    integer_room(views_.gap_counts,
                 Extents<4>{batches_, heads_, queries_, static_cast<std::int64_t>(wishes_.gaps.size())});
  }
  room(views_.column_mass, Extents<3>{batches_, heads_, keys});
  if (wishes_.map_rows > 0)
    room(views_.map, Extents<4>{batches_, heads_, wishes_.map_rows, wishes_.map_columns});
}

std::vector<NamedNpyView> StatisticsArrays::named_views(const std::string& prefix) const {
  std::vector<NamedNpyView> out;
  const auto add = [&](const char* name, const auto& view) { name_view(out, prefix + name, view); };
  add("log_partition", views_.log_partition);
  add("entropy", views_.entropy);
  add("peak_weight", views_.peak_weight);
  add("peak_key", views_.peak_key);
  add("effective_support", views_.effective_support);
  add("support", views_.support);
  add("mass", views_.mass);
  add("temperature", views_.temperature);
  add("threshold", views_.threshold);
  add("score_spread", views_.score_spread);
  add("first_weight", views_.first_weight);
  add("top_keys", views_.top_keys);
  add("top_weights", views_.top_weights);
  add("gap_counts", views_.gap_counts);
  if (views_.gap_counts.present()) {
    out.push_back(
        {prefix + "gaps",
         {NpyType::float64, {static_cast<std::int64_t>(wishes_.gaps.size())}, wishes_.gaps.data()}});
  }
  add("column_mass", views_.column_mass);
  add("map", views_.map);
  return out;
}

StatisticsArrays::Head StatisticsArrays::summarise(std::int64_t head) const {
  Head out;
  std::vector<double> entropy, peak, effective, support, mass, temperature;
  for (std::int64_t batch = 0; batch < batches_; ++batch) {
    for (std::int64_t query = 0; query < queries_; ++query) {
      ++out.rows;
      if (std::isnan(views_.peak_weight(batch, head, query))) {
        ++out.poisoned;
        continue;
      }
      if (views_.peak_key(batch, head, query) < 0) {
        ++out.masked;
        continue;
      }
      entropy.push_back(views_.entropy(batch, head, query));
      peak.push_back(views_.peak_weight(batch, head, query));
      effective.push_back(views_.effective_support(batch, head, query));
      support.push_back(static_cast<double>(views_.support(batch, head, query)));
      mass.push_back(views_.mass(batch, head, query));
      temperature.push_back(views_.temperature(batch, head, query));
    }
  }
  out.entropy = summary_of(std::move(entropy));
  out.peak_weight = summary_of(std::move(peak));
  out.effective_support = summary_of(std::move(effective));
  out.support = summary_of(std::move(support));
  out.mass = summary_of(std::move(mass));
  out.temperature = summary_of(std::move(temperature));
  return out;
}

Json StatisticsArrays::summary_json() const {
  Json heads = Json::array();
  for (std::int64_t h = 0; h < heads_; ++h) {
    const Head head = summarise(h);
    heads.push_back({{"head", h},
                     {"rows", head.rows},
                     {"masked_rows", head.masked},
                     {"poisoned_rows", head.poisoned},
                     {"entropy", json_of(head.entropy)},
                     {"peak_weight", json_of(head.peak_weight)},
                     {"effective_support", json_of(head.effective_support)},
                     {"support", json_of(head.support)},
                     {"mass", json_of(head.mass)},
                     {"temperature", json_of(head.temperature)}});
  }
  return heads;
}

std::string StatisticsArrays::summary_table(bool colour) const {
  Table table(std::vector<Align>(11, Align::right));
  std::vector<Cell> names;
  for (const char* name :
       {"head", "entropy", "median", "min", "max", "peak", "median", "min", "max", "support", "beta"}) {
    names.push_back({name, Ink::dim});
  }
  table.add(std::move(names));
  std::int64_t masked = 0, poisoned = 0;
  for (std::int64_t h = 0; h < heads_; ++h) {
    const Head head = summarise(h);
    masked += head.masked, poisoned += head.poisoned;
    std::vector<Cell> row{{fmt::format("{}", h)}};
    for (const Summary* s : {&head.entropy, &head.peak_weight}) {
      for (const double v : {s->mean, s->median, s->min, s->max}) row.push_back({short_number(v)});
    }
    row.push_back({short_number(head.support.mean)});
    row.push_back({short_number(head.temperature.mean)});
    table.add(std::move(row));
  }
  std::string text = table.text(colour);
  text += "entropy (nats), peak weight, support, beta: means over rows\n";
  if (masked > 0) text += fmt::format("{} rows without a key are left out\n", grouped(masked));
  if (poisoned > 0) text += fmt::format("{} rows with a NaN or +inf score are left out\n", grouped(poisoned));
  return text;
}

}  // namespace sharpmax::cli
