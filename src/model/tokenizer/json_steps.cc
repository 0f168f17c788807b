#include "model/tokenizer/json_tokenizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

std::string normal_form(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
  if (size < 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer: a text that cannot be normalized: {}", utf8proc_errmsg(size)));
  std::string out(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  return out;
}

}  // namespace

std::string type_of_stage(const nlohmann::json& stage, std::string_view what) {
  const auto type = stage.find("type");
  if (!stage.is_object() || type == stage.end() || !type->is_string())
    throw Error(ErrorCode::bad_file, fmt::format("tokenizer.json: a {} without a type", what));
  return type->get<std::string>();
}

Pattern pattern_of(const nlohmann::json& stage) {
  const nlohmann::json& pattern = stage.at("pattern");
  if (const auto text = pattern.find("String"); text != pattern.end())
    return Pattern::literal(text->get_ref<const std::string&>());
  return Pattern(pattern.at("Regex").get_ref<const std::string&>());
}

JsonNormalizer::JsonNormalizer(const nlohmann::json& stage) {
  if (!stage.is_null()) add(stage);
}

void JsonNormalizer::add(const nlohmann::json& stage) {
  const std::string type = type_of_stage(stage, "normalizer");
  if (type == "Sequence") {
    for (const nlohmann::json& inner : stage.at("normalizers")) add(inner);
  } else if (type == "NFC") {
    steps_.emplace_back(Form::nfc);
  } else if (type == "NFD") {
    steps_.emplace_back(Form::nfd);
  } else if (type == "NFKC") {
    steps_.emplace_back(Form::nfkc);
  } else if (type == "NFKD") {
    steps_.emplace_back(Form::nfkd);
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{stage.at("prepend").get<std::string>()});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{pattern_of(stage), stage.at("content").get<std::string>()});
  } else {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("tokenizer.json: normalizer {} is not supported; known are Sequence, NFC, NFD, NFKC, "
                    "NFKD, Prepend and Replace",
                    in_quotes(type)));
  }
}

bool JsonNormalizer::prepends() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& s) { return std::holds_alternative<Prepend>(s); });
}

std::string JsonNormalizer::apply(std::string text) const {
  for (const auto& step : steps_) {
    if (text.empty()) return text;
    if (const auto* form = std::get_if<Form>(&step)) {
      constexpr int kOptions[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                  UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
      text = normal_form(text, kOptions[static_cast<int>(*form)]);
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      text.insert(0, prepend->text);
    } else {
      const auto& replace = std::get<Replace>(step);
      std::string out;
      out.reserve(text.size());
      for (const Piece& piece : replace.pattern.cut(text)) out += piece.matched ? replace.by : piece.text;
      text = std::move(out);
    }
  }
  return text;
}

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

JsonDecoder::JsonDecoder(const nlohmann::json& stage) {
  if (stage.is_null()) throw Error(ErrorCode::unsupported, "tokenizer.json: has no decoder");
  add(stage);
}

void JsonDecoder::add(const nlohmann::json& stage) {
  const std::string type = type_of_stage(stage, "decoder");
  const auto refuse_after_fuse = [&] {
    if (fused_)
      throw Error(ErrorCode::unsupported,
                  fmt::format("tokenizer.json: decoder {} after Fuse", in_quotes(type)));
  };
  if (type == "Sequence") {
    for (const nlohmann::json& inner : stage.at("decoders")) add(inner);
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Strip") {
    if (!fused_ || stage.at("stop").get<int>() != 0 || strip_count_ != 0)
      throw Error(ErrorCode::unsupported,
                  "tokenizer.json: decoder Strip other than one at the start, after Fuse");
    strip_ = stage.at("content").get<std::string>();
    strip_count_ = stage.at("start").get<std::size_t>();
  } else if (type == "ByteLevel") {
    refuse_after_fuse();
    steps_.emplace_back(Kind::byte_level);
  } else if (type == "ByteFallback") {
    refuse_after_fuse();
    steps_.emplace_back(Kind::byte_fallback);
  } else if (type == "Replace") {
    refuse_after_fuse();
    steps_.emplace_back(Replace{pattern_of(stage), stage.at("content").get<std::string>()});
  } else if (type == "Metaspace") {
    refuse_after_fuse();
    const auto replacement = stage.at("replacement").get<std::string>();
    steps_.emplace_back(Replace{Pattern::literal(replacement), " "});
    if (stage.value("prepend_scheme", "always") != "never") metaspace_ = replacement;
  } else {
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer.json: decoder {} is not supported; known are Sequence, ByteLevel, "
                            "ByteFallback, Replace, Metaspace, Fuse and Strip",
                            in_quotes(type)));
  }
}

std::string JsonDecoder::bytes_of(std::string_view token_text) const {
  std::string text(token_text);
  for (const auto& step : steps_) {
    if (const auto* replace = std::get_if<Replace>(&step)) {
      std::string out;
      for (const Piece& piece : replace->pattern.cut(text)) out += piece.matched ? replace->by : piece.text;
      text = std::move(out);
    } else if (std::get<Kind>(step) == Kind::byte_level) {
      if (auto bytes = unspelt(text)) text = std::move(*bytes);
    } else if (const auto byte = byte_named(text)) {
      return std::string(1, static_cast<char>(*byte));
    }
  }
  return text;
}

std::string JsonDecoder::bytes_of_first(std::string_view token_text) const {
  if (metaspace_.empty()) return bytes_of(token_text);
  std::string text(token_text);
  for (std::size_t at = text.find(metaspace_); at != std::string::npos; at = text.find(metaspace_, at))
    text.erase(at, metaspace_.size());
  return bytes_of(text);
}

void JsonDecoder::finish(std::string& text) const {
  for (std::size_t i = 0; i < strip_count_ && !strip_.empty() && text.starts_with(strip_); ++i)
    text.erase(0, strip_.size());
}

}  // namespace sharpmax::model
