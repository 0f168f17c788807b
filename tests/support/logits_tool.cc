// Runs a model for the peer tests. One JSON object a line on standard input:
//   {"model": path, "tokens": […], "out": path, "one_by_one": n, "block": n, "threads": n, "cache": "float16",
//    "normalizer": text, "rope": text}
// writes the logits after every token to `out`, [tokens, vocabulary] in float32, the last n tokens fed one by one,
// and answers with the vocabulary's size, or with {"error": sentence}.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/transformer/session.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

using Json = nlohmann::json;

Json run(const Json& wish) {
  Model model(wish.at("model").get<std::string>());
  const Configuration& c = model.configuration();
  if (wish.contains("rope")) model.set_rope(parse_rope_scaling(wish["rope"].get<std::string>(), c.context));
  const auto tokens = wish.at("tokens").get<std::vector<Token>>();
  SessionSettings settings;
  settings.capacity = static_cast<std::int64_t>(tokens.size());
  settings.block = wish.value("block", std::int64_t{512});
  settings.threads = wish.value("threads", 1);
  if (wish.value("products", "float") == "int16") settings.products = Products::int16;
  if (wish.value("cache", "float32") == "float16") settings.cache = CacheType::float16;
  if (wish.contains("normalizer"))
    settings.normalizers.emplace(c.layers, c.heads, AnyNormalizer::parse(wish["normalizer"].get<std::string>()));
  Session session(model, settings);

  std::ofstream out(wish.at("out").get<std::string>(), std::ios::binary);
  const auto write = [&](std::span<const float> logits) {
    out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size_bytes()));
  };
  const std::size_t single = wish.value("one_by_one", std::size_t{0});
  const std::span<const Token> all(tokens);
  session.feed_for_all(all.first(all.size() - single),
                       [&](std::int64_t, std::span<const float> logits) { write(logits); });
  for (std::size_t i = all.size() - single; i < all.size(); ++i) write(session.feed_for_last(all.subspan(i, 1)));
  out.flush();
  return {{"vocabulary", c.vocabulary}, {"written", out.good()}};
}

}  // namespace
}  // namespace sharpmax::model

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      answer = sharpmax::model::run(nlohmann::json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
