// The view of `sharpmax bound MODEL`: what the weights alone prove of every head, whatever the text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "report/kind/kinds.h"

namespace sharpmax::report {
namespace {

constexpr const char* kNothing = "says nothing useful";

struct CertifiedHead {
  double layer = 0.0, head = 0.0;
  std::optional<double> spread, norm_spread, norm_reached, vocabulary_spread, log10_length, window;
  bool useful = false;
  const Json* attained = nullptr;

  std::string name() const { return fmt::format("{:.0f}.{:.0f}", layer, head); }
  std::string link() const { return "head-" + name(); }
  // A head of which nothing is proved comes last.
  double order() const { return spread.value_or(std::numeric_limits<double>::infinity()); }
  // The share of the certified spread that tokens, or hidden states of the right size, were found to reach.
  std::optional<double> reached() const {
    const auto found = attained ? number_at(*attained, "spread") : norm_reached;
    return found && spread > 0.0 ? std::optional(std::min(1.0, *found / *spread)) : std::nullopt;
  }
  std::string lost_from() const {
    if (useful) return formatted(kPower, log10_length);
    return window ? fmt::format("{}; window {}", kNothing, count(*window)) : kNothing;
  }
};

// The surest first.
std::vector<CertifiedHead> certified_heads(const Json& results) {
  std::vector<CertifiedHead> heads;
  for (const Json& json : results.at("heads"))
    heads.push_back({json.at("layer").get<double>(), json.at("head").get<double>(), number_at(json, "spread"),
                     number_at(json, "norm_spread"), number_at(json, "norm_reached"), number_at(json, "vocabulary_spread"),
                     number_at(json, "log10_length"), number_at(json, "window"), truth_at(json, "useful"),
                     json.at("attained").is_null() ? nullptr : &json.at("attained")});
  std::stable_sort(heads.begin(), heads.end(), [](const auto& a, const auto& b) { return a.order() < b.order(); });
  return heads;
}

void add_certificate_tiles(View& view, const Json& results, const std::vector<CertifiedHead>& heads) {
  const double peak = results.at("peak").get<double>();
  double useful = 0.0, tried = 0.0, sharp = 0.0, longest = 0.0;
  for (const CertifiedHead& head : heads) {
    useful += head.useful ? 1.0 : 0.0;
    if (!head.attained) continue;
    tried += 1.0;
    sharp += number_at(*head.attained, "peak") > peak ? 1.0 : 0.0;
    longest = std::max(longest, number_at(*head.attained, "length").value_or(0.0));
  }
  const CertifiedHead& surest = heads[0];
  view.tiles = {{count(useful), "of " + plural(static_cast<double>(heads.size()), "head"),
                 fmt::format("have a length within {} tokens from which no key has {}",
                             count(results.at("horizon").get<double>()), plain_number(peak)),
                 useful > 0.0 ? Paint::green : Paint::vermillion},
                {formatted(kSpread, surest.spread), "the least spread",
                 fmt::format("scores of head {} lie within it", surest.name()), Paint::blue},
                {formatted(kPower, surest.log10_length), "tokens",
                 fmt::format("the surest length, head {}", surest.name()), Paint::blue}};
  if (tried > 0.0)
    view.tiles.push_back({count(sharp), fmt::format("of {} tried", plural(tried, "head")),
                          fmt::format("some text still gives one key more than {} at {} tokens", plain_number(peak), count(longest)),
                          Paint::vermillion});
}

std::string token_text(const Json& token) {
  const std::string text = text_at(token, "text");
  const double number = token.at("token").get<double>();
  return text.empty() ? fmt::format("token {:.0f}", number) : fmt::format("‘{}’", text);
}

std::string key_text(const Json& token) {
  return fmt::format("{} −{}", token_text(token), formatted(kCount, number_at(token, "offset")));
}

// Colours go by the logarithm: spreads and lengths cover orders of magnitude.
HeadLayer certificate_layer(const std::vector<CertifiedHead>& heads, HeadLayer layer, const auto& value_of) {
  bool any = false;
  for (const CertifiedHead& head : heads) {
    const std::optional<double> value = value_of(head);
    layer.values.push_back({value});
    if (!value) layer.unknown = "no bound";
    if (!value || !(*value > 0.0)) continue;
    layer.least = any ? std::min(layer.least, *value) : *value;
    layer.most = any ? std::max(layer.most, *value) : *value;
    any = true;
  }
  layer.ramp = {formatted(layer.format, layer.least), formatted(layer.format, layer.most)};
  return layer;
}

HeadLayer words_layer(const char* id, const std::vector<CertifiedHead>& heads, const auto& words_of) {
  HeadLayer layer{.id = id, .name = id};
  for (const CertifiedHead& head : heads) layer.values.emplace_back(), layer.texts.push_back(words_of(head));
  return layer;
}

std::string lost_sentence(const CertifiedHead& head, double peak) {
  if (head.useful)
    return fmt::format("From {} tokens on no input at all gives a key {} of the weight.", formatted(kPower, head.log10_length), plain_number(peak));
  return fmt::format("The length {}: {} tokens{}.", kNothing, formatted(kPower, head.log10_length),
                     head.window ? fmt::format("; a row has at most {} keys", count(*head.window)) : "");
}

std::string tried_sentence(const CertifiedHead& head) {
  if (!head.attained) return "";
  const Json& row = *head.attained;
  return fmt::format("A sequence of {} tokens attains {}: query {}, best key {}, worst key {}; the largest weight found is {}.",
                     formatted(kCount, number_at(row, "length")), formatted(kSpread, number_at(row, "spread")), token_text(row.at("query")),
                     key_text(row.at("high")), key_text(row.at("low")), formatted(kWeight, number_at(row, "peak")));
}

Section certificate_heads(const Json& results, const std::vector<CertifiedHead>& heads) {
  constexpr auto kLogarithm = HeadLayer::Scale::logarithmic;
  const double peak = results.at("peak").get<double>();
  Heads made{.id = "head", .title = "Every head"};
  made.drawn = {{"levels", Json::array()}};  // rows to play with: one score above all others
  for (const CertifiedHead& head : heads) {
    made.heads.push_back({head.layer, head.head, head.useful ? "a length is proved" : kNothing});
    made.drawn["levels"].push_back(head.spread ? Json(*head.spread) : Json());
  }
  made.layers = {
      certificate_layer(heads, {.id = "length", .name = "length at which a peak is lost", .format = kPower, .meaning = "Dark: a length is near. Bright: "
                                "astronomic, so that the bound promises nothing.", .scale = kLogarithm}, [](const CertifiedHead& head) { return head.log10_length; }),
      certificate_layer(heads, {.id = "spread", .name = "spread at most", .format = kSpread, .meaning = "Dark: scores lie close together, so that no row can "
                                "be sharp for long.", .scale = kLogarithm}, [](const CertifiedHead& head) { return head.spread; }),
      certificate_layer(heads, {.id = "reached", .name = "share of it reached", .format = kShare, .meaning = "Bright: rows were found that come "
                                "close to the bound."}, [](const CertifiedHead& head) { return head.reached(); }),
      certificate_layer(heads, {.id = "norms", .name = "by norms", .format = kSpread}, [](const CertifiedHead& head) { return head.norm_spread; }),
      certificate_layer(heads, {.id = "tokens", .name = "by tokens", .format = kSpread}, [](const CertifiedHead& head) { return head.vocabulary_spread; }),
      words_layer("lost", heads, [&](const CertifiedHead& head) { return lost_sentence(head, peak); }),
      words_layer("tried", heads, tried_sentence)};
  HeadLayer& spreads = made.layers[1];
  spreads.figure = "heads";
  spreads.title = fmt::format("What the weights of {} allow: the largest spread of scores of every head", file_name(text_at(results.at("model"), "file")));
  spreads.subtitle = spreads.described = text_at(results, "verdict");
  spreads.ramp.high += ", by its logarithm";
  made.words = "Scores spread at most {spread}: by norms {norms}, by tokens {tokens}; {reached} of it reached. {lost} {tried}";
  made.offered = {0};
  return {"heads", "Every head", "One cell is one head. Choose one by click, or by arrow keys and Enter.", {{std::move(made)}}};
}

Section attained_section(const std::vector<CertifiedHead>& heads) {
  Table table{.id = "all-attained", .title = "What tokens attain",
              .columns = {{"head"}, {"certified", kSpread}, {"attained", kSpread}, {"largest weight", kWeight},
                          {"tokens", kCount}, {"query"}, {"best key"}, {"worst key"},
                          bar_column("attained, of certified")},
              .tall = true};
  for (const CertifiedHead& head : heads) {
    if (!head.attained) continue;
    const Json& row = *head.attained;
    table.rows.push_back({head.name(), head.spread, number_at(row, "spread"), number_at(row, "peak"), number_at(row, "length"),
                          token_text(row.at("query")), key_text(row.at("high")), key_text(row.at("low")), bar_to(head.reached(), Paint::vermillion)});
    table.links.push_back(head.link());
  }
  return {"attained", "What tokens attain",
          "In layer 0, where every token can be tried: how far the scores of a real sequence spread beside what is certified, and the "
          "largest weight that a sequence of that length was found to give one key. Keys stand so many tokens before the query.",
          {{std::move(table), 1, "the tokens that were tried"}}, /*brief=*/true};
}

Section layers_section(const std::vector<CertifiedHead>& heads) {
  std::map<double, std::vector<const CertifiedHead*>> layers;  // the surest head of each first
  for (const CertifiedHead& head : heads) layers[head.layer].push_back(&head);
  Table table{.id = "all-layers", .title = "Spreads by layer",
              .columns = {{"layer", kCount}, {"least", kSpread}, {"median", kSpread}, {"most", kSpread},
                          {"reached", kShare, "share of the certified spread, median head"}, {"surest head"},
                          {"lost from, tokens"}},
              .tall = true};
  for (const auto& [layer, members] : layers) {
    std::vector<double> reached;
    for (const CertifiedHead* head : members) reached.push_back(head->reached().value_or(1.0));
    std::nth_element(reached.begin(), reached.begin() + std::ssize(reached) / 2, reached.end());
    table.rows.push_back({layer, members.front()->spread, members[members.size() / 2]->spread, members.back()->spread,
                          reached[reached.size() / 2], members.front()->name(), members.front()->lost_from()});
  }
  Section section{"layers", "By layer",
                  "Certified spreads over the heads of a layer, and the share of them that was reached: in layer 0 by tokens, after it by "
                  "hidden states of the right size, which no text need have.",
                  {{std::move(table)}}, /*brief=*/true};
  if (std::any_of(heads.begin(), heads.end(), [](const CertifiedHead& head) { return head.window.has_value(); }))
    section.items.push_back({Note{"window w: a row of such a head never has more than w keys."}});
  return section;
}

Section certificate_numbers(const std::vector<CertifiedHead>& heads) {
  Table table{.id = "all-rows", .title = "All heads",
              .columns = {on_screen("head"), in_csv("layer", kCount), in_csv("head of the layer", kCount),
                          {"spread at most", kSpread},
                          {.name = "by norms", .format = kSpread, .brief = false, .spare = 2},
                          {.name = "by tokens", .format = kSpread, .brief = false, .spare = 3},
                          {.name = "reached by norms", .format = kSpread, .brief = false, .spare = 4},
                          {.name = "reached", .format = kShare, .brief = false},
                          in_csv("log10 of the length", fixed_to(2)), {"by"}, {"lost from, tokens"},
                          {.name = "useful", .brief = false},
                          {.name = "window", .format = kCount, .brief = false, .spare = 5}},
              .tall = true,
              .filters = {"layer", "useful"},
              .row_name = "head",
              .brief_rows = 5};
  for (const CertifiedHead& head : heads) {
    const bool by_tokens = head.vocabulary_spread && head.vocabulary_spread <= head.norm_spread;
    table.rows.push_back({Cell(head.layer + head.head / 1e4, head.name()), head.layer, head.head, head.spread, head.norm_spread,
                          head.vocabulary_spread, head.norm_reached, head.reached(), head.log10_length,
                          by_tokens ? "tokens" : "norms", head.lost_from(), head.useful ? "yes" : "no", head.window});
    table.links.push_back(head.link());
  }
  return {"numbers", "The surest heads", "The surest head first.", {{std::move(table)}}, /*brief=*/true};
}

}  // namespace

View bound_model_view(const Json& results) {
  View view = begun_view(results);
  const std::string file = file_name(text_at(results.at("model"), "file"));
  require_numbers(results, {"beta", "rope_base", "horizon", "peak"});
  require_texts(results, {"rope_scaling"});
  require_numbers(results.at("model"), {"trained_context"});
  view.kind = "bounds of a model";
  view.title = file + ": what no input can do";
  view.label = "bounds of " + file;
  view.verdict.push_back(text_at(results, "verdict"));
  const std::vector<CertifiedHead> heads = certified_heads(results);
  if (heads.empty()) return view;
  add_certificate_tiles(view, results, heads);
  view.sections = {certificate_heads(results, heads), certificate_numbers(heads), attained_section(heads), layers_section(heads)};
  return view;
}

void compare_certificates(View& view, std::span<const Compared> compared) {
  Table table{.id = "compared-certificate-table", .title = "Certificates",
              .columns = {{"result"}, {"heads", kCount}, {"with a useful bound", kCount},
                          {"first loses the weight from n", kPower}, {"weight", fixed_to(2)},
                          {.name = "verdict", .brief = false}},
              .sortable = false};
  for (const Compared& one : compared) {
    const std::vector<CertifiedHead> heads = certified_heads(*one.results);
    std::optional<double> first;
    for (const CertifiedHead& head : heads)
      if (head.log10_length) first = std::min(first.value_or(*head.log10_length), *head.log10_length);
    const auto useful = std::count_if(heads.begin(), heads.end(), [](const CertifiedHead& head) { return head.useful; });
    table.rows.push_back({one.named.own, static_cast<double>(heads.size()), static_cast<double>(useful), first,
                          number_at(*one.results, "peak"), text_at(*one.results, "verdict")});
    table.links.push_back(std::to_string(one.named.number));
  }
  view.sections.push_back({"compared-certificates", "What no input can do", "From the weights of each model alone.",
                           {{std::move(table)}}, /*brief=*/true});
}

}  // namespace sharpmax::report
