#include <utility>

#include "report/data/fields.h"
#include "report/data/page_data.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

Json bucket_of(const Json& bucket) {
  return Fields(bucket).sizes({"to"}).numbers({"from", "tokens", "loss", "low", "high", "perplexity"}).take();
}

// The mean over a chunk's tokens; null where one of them was not a number, as in the results.
Json mean_of(const Json& losses) {
  double sum = 0.0;
  for (const Json& loss : losses) {
    if (loss.is_null()) return nullptr;
    sum += loss.get<double>();
  }
  return losses.empty() ? Json() : Json(sum / static_cast<double>(losses.size()));
}

Json chunk_of(const Json& chunk) {
  Json kept = Fields(chunk).numbers({"first", "likeliest"}).take();
  const Json& losses = chunk.at("losses");
  kept["tokens"] = losses.size();
  kept["loss"] = mean_of(losses);
  return kept;
}

}  // namespace

Json losses_data(const Json& results, std::size_t room) {
  Json data = Fields(results).origin().truths({"complete"}).take();
  Json left_out = Json::array();
  data["settings"] = settings_within(results.at("settings"), room / 4, left_out);
  if (results.contains("all")) {
    data["all"] = bucket_of(results.at("all"));
    data.update(Fields(results).numbers({"likeliest_right"}).take());
    data["buckets"] = Json::array();
    for (const Json& bucket : results.at("buckets")) data["buckets"].push_back(bucket_of(bucket));
  }
  const Json& chunks = results.at("chunks");
  Json kept = Json::array(), losses = Json::array();
  for (const Json& chunk : chunks) {
    kept.push_back(chunk_of(chunk));
    losses.push_back(chunk.at("losses"));
  }
  std::size_t taken = size_of(data);
  if (const std::size_t more = size_of(kept); taken + more <= room) {
    data["chunks"] = std::move(kept);
    taken += more;
  } else {
    left_out.push_back("the mean loss of every chunk");
  }
  if (taken + size_of(losses) <= room)
    data["losses"] = std::move(losses);
  else
    left_out.push_back("the loss of every token");
  data["left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
