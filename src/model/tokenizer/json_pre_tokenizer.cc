#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/json_steps.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

// What ByteLevel cuts by unless told not to: GPT-2's own expression.
constexpr std::string_view kByteLevelWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool flag(const nlohmann::json& stage, const char* name, bool otherwise) {
  const auto found = stage.find(name);
  return found == stage.end() || found->is_null() ? otherwise : found->get<bool>();
}

}  // namespace

JsonPreTokenizer::JsonPreTokenizer(const nlohmann::json& stage) {
  if (!stage.is_null()) add(stage);
}

void JsonPreTokenizer::add(const nlohmann::json& stage) {
  const std::string type = type_of_stage(stage, "pre-tokenizer");
  if (type == "Sequence") {
    for (const nlohmann::json& inner : stage.at("pretokenizers")) add(inner);
  } else if (type == "Split") {
    add_split(stage);
  } else if (type == "ByteLevel") {
    ByteLevel level{flag(stage, "add_prefix_space", true), std::nullopt};
    static const Pattern words(kByteLevelWords);
    if (flag(stage, "use_regex", true)) level.words = words;
    steps_.emplace_back(std::move(level));
  } else if (type == "Digits") {
    const bool alone = flag(stage, "individual_digits", false);
    static const Pattern digit(R"(\p{N})");
    steps_.emplace_back(Split{digit, alone ? Behavior::isolated : Behavior::contiguous, false});
  } else if (type == "Metaspace") {
    add_metaspace(stage);
  } else {
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer.json: pre-tokenizer {} is not supported; known are Sequence, Split, "
                            "ByteLevel, Digits and Metaspace",
                            in_quotes(type)));
  }
}

void JsonPreTokenizer::add_split(const nlohmann::json& stage) {
  const auto& name = stage.at("behavior").get_ref<const std::string&>();
  constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
      {"Isolated", Behavior::isolated},
      {"Removed", Behavior::removed},
      {"Contiguous", Behavior::contiguous},
      {"MergedWithPrevious", Behavior::merged_with_previous},
      {"MergedWithNext", Behavior::merged_with_next}};
  const auto* found = std::find_if(std::begin(kBehaviors), std::end(kBehaviors),
                                   [&](const auto& b) { return b.first == name; });
  if (found == std::end(kBehaviors))
    throw Error(ErrorCode::bad_file,
                fmt::format("tokenizer.json: a Split with the behavior {}", in_quotes(name)));
  steps_.emplace_back(Split{pattern_of(stage), found->second, flag(stage, "invert", false)});
}

void JsonPreTokenizer::add_metaspace(const nlohmann::json& stage) {
  Metaspace made;
  made.replacement = stage.at("replacement").get<std::string>();
  if (character_length(made.replacement) != made.replacement.size() || made.replacement.empty())
    throw Error(ErrorCode::bad_file, "tokenizer.json: the replacement of Metaspace is not one character");
  const std::string scheme =
      stage.value("prepend_scheme", flag(stage, "add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    throw Error(ErrorCode::bad_file,
                fmt::format("tokenizer.json: Metaspace with the prepend_scheme {}", in_quotes(scheme)));
  made.prepend = scheme == "always"  ? Metaspace::Prepend::always
                 : scheme == "first" ? Metaspace::Prepend::first
                                     : Metaspace::Prepend::never;
  if (flag(stage, "split", true)) made.split.emplace(Pattern::literal(made.replacement));
  steps_.emplace_back(std::move(made));
}

// Pieces follow one another without a gap, so two are one view from the first's begin to the second's end.
std::vector<std::string_view> JsonPreTokenizer::cut(std::string_view text, const Split& split) {
  const auto joined = [](std::string_view left, std::string_view right) {
    return std::string_view(left.data(), static_cast<std::size_t>(right.data() + right.size() - left.data()));
  };
  std::vector<Piece> pieces = split.pattern.cut(text);
  if (split.invert) {
    for (Piece& piece : pieces) piece.matched = !piece.matched;
  }
  std::vector<std::string_view> words;
  const bool backwards = split.behavior == Behavior::merged_with_next;
  if (backwards) std::reverse(pieces.begin(), pieces.end());
  bool previous = false;
  for (const Piece& piece : pieces) {
    const bool merges = split.behavior == Behavior::contiguous ? piece.matched == previous
                        : split.behavior == Behavior::merged_with_previous || backwards
                            ? piece.matched && !previous
                            : false;
    previous = piece.matched;
    if (split.behavior == Behavior::removed && piece.matched) continue;
    if (!merges || words.empty())
      words.push_back(piece.text);
    else
      words.back() = backwards ? joined(piece.text, words.back()) : joined(words.back(), piece.text);
  }
  if (backwards) std::reverse(words.begin(), words.end());
  return words;
}

void JsonPreTokenizer::apply_one(const Split& split, const JsonWord& word, std::vector<JsonWord>& out) {
  for (const std::string_view part : cut(word.text, split))
    out.push_back({std::string(part), word.at_start && part.data() == word.text.data()});
}

void JsonPreTokenizer::apply_one(const ByteLevel& level, const JsonWord& word, std::vector<JsonWord>& out) {
  JsonWord whole = word;
  if (level.add_prefix_space && !whole.text.starts_with(' ')) whole.text.insert(whole.text.begin(), ' ');
  if (!level.words) {
    out.push_back({spelt(whole.text), whole.at_start});
    return;
  }
  for (const Piece& piece : level.words->cut(whole.text))
    out.push_back({spelt(piece.text), whole.at_start && piece.text.data() == whole.text.data()});
}

void JsonPreTokenizer::apply_one(const Metaspace& space, const JsonWord& word, std::vector<JsonWord>& out) {
  JsonWord whole{"", word.at_start};
  for (const char c : word.text) {
    if (c == ' ')
      whole.text += space.replacement;
    else
      whole.text += c;
  }
  const bool wanted = space.prepend == Metaspace::Prepend::always ||
                      (space.prepend == Metaspace::Prepend::first && word.at_start);
  if (wanted && !whole.text.starts_with(space.replacement)) whole.text.insert(0, space.replacement);
  if (!space.split)
    out.push_back(std::move(whole));
  else
    apply_one(Split{*space.split, Behavior::merged_with_next, false}, whole, out);
}

std::vector<JsonWord> JsonPreTokenizer::apply(JsonWord stretch) const {
  std::vector<JsonWord> words;
  words.push_back(std::move(stretch));
  for (const auto& step : steps_) {
    std::vector<JsonWord> next;
    for (const JsonWord& word : words) {
      if (word.text.empty()) continue;
      std::visit([&](const auto& s) { apply_one(s, word, next); }, step);
    }
    words = std::move(next);
  }
  return words;
}

bool JsonPreTokenizer::spells_bytes() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& s) { return std::holds_alternative<ByteLevel>(s); });
}

}  // namespace sharpmax::model
