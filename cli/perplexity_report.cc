#include <fmt/format.h>

#include <cmath>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "cli/perplexity.h"
#include "cli/resumed_results.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

// JSON has no NaN; dump() makes it null, and so must every reader.
float loss_in(const Json& value) { return value.is_null() ? std::nanf("") : value.get<float>(); }

Json bucket_json(const model::PositionBucket& b) {
  return {{"from", b.from},
          {"to", b.to},
          {"tokens", b.tokens},
          {"loss", b.loss},
          {"low", b.low},
          {"high", b.high},
          {"perplexity", std::exp(b.loss)}};
}

std::vector<Cell> row_of(const model::PositionBucket& b, const std::string& label, Ink ink) {
  const std::string interval = std::isnan(b.low) ? "" : fmt::format("{:.3f} to {:.3f}", b.low, b.high);
  return {{label, ink},
          {grouped(b.tokens), ink},
          {fmt::format("{:.4f}", b.loss), ink},
          {interval, ink},
          {fmt::format("{:.2f}", std::exp(b.loss)), ink}};
}

std::int64_t likeliest_of(const PerplexityRun& run) {
  std::int64_t count = 0;
  for (const auto& chunk : run.chunks) count += chunk.likeliest;
  return count;
}

}  // namespace

Json to_json(const PerplexityRun& run, double seconds) {
  Json json{{"schema", kPerplexitySchema},
            {"sharpmax", version()},
            {"command", command_line()},
            {"created", utc_now()},
            {"settings", run.settings},
            {"complete", static_cast<std::int64_t>(run.chunks.size()) == run.wanted_chunks},
            {"seconds", seconds}};
  if (!run.chunks.empty()) {
    const model::PositionBucket all = model::bucket_of_all(run.chunks);
    json["all"] = bucket_json(all);
    json["likeliest_right"] = static_cast<double>(likeliest_of(run)) / static_cast<double>(all.tokens);
    json["buckets"] = Json::array();
    for (const auto& bucket : model::buckets_of(run.chunks)) json["buckets"].push_back(bucket_json(bucket));
  }
  json["chunks"] = Json::array();
  for (const auto& chunk : run.chunks)
    json["chunks"].push_back(
        {{"first", chunk.first}, {"likeliest", chunk.likeliest}, {"losses", chunk.losses}});
  return json;
}

std::vector<model::ChunkLosses> chunks_in(const std::string& file, const PerplexityRun& run) {
  std::vector<model::ChunkLosses> chunks;
  resume_from(file, kPerplexitySchema, run.settings, [&](const Json& json) {
    for (const Json& entry : json.at("chunks")) {
      model::ChunkLosses chunk{.first = entry.at("first").get<std::int64_t>()};
      chunk.likeliest = entry.at("likeliest").get<std::int64_t>();
      for (const Json& loss : entry.at("losses")) chunk.losses.push_back(loss_in(loss));
      chunks.push_back(std::move(chunk));
    }
  });
  if (static_cast<std::int64_t>(chunks.size()) > run.wanted_chunks)
    throw Error(ErrorCode::bad_file, fmt::format("{}: it has {} chunks; at most {} were wanted", file,
                                                 chunks.size(), run.wanted_chunks));
  return chunks;
}

std::string report_of(const PerplexityRun& run, bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::left, Align::right}, 3);
  table.add({{"tokens before", Ink::bold},
             {"tokens", Ink::bold},
             {"loss", Ink::bold},
             {"95 %", Ink::bold},
             {"perplexity", Ink::bold}});
  for (const auto& bucket : model::buckets_of(run.chunks))
    table.add(row_of(bucket, fmt::format("{}-{}", bucket.from, bucket.to), Ink::plain));
  const model::PositionBucket all = model::bucket_of_all(run.chunks);
  table.add(row_of(all, "all", Ink::bold));
  std::string text = table.text(colour);
  text += fmt::format("\nloss in nats a token; the model put {:.1f} % of the tokens first\n",
                      100.0 * static_cast<double>(likeliest_of(run)) / static_cast<double>(all.tokens));
  return text;
}

}  // namespace sharpmax::cli
