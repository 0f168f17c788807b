#include "model/tokenizer/json_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/file/model_file.h"
#include "model/tokenizer/pattern.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

// The well-formed character that ends the text; "" if the text is empty.
std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xc0) != 0x80) break;
  }
  return text.substr(begin);
}

std::string_view first_character(std::string_view text) { return text.substr(0, character_length(text)); }

bool is_of(const Pattern& pattern, std::string_view character) {
  const auto pieces = pattern.cut(character);
  return pieces.size() == 1 && pieces[0].matched;
}

bool is_word(std::string_view character) {
  // Rust's \w, which differs from Oniguruma's in these.
  static const Pattern word(R"((?![\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])[\w\x{200c}\x{200d}])");
  return is_of(word, character);
}

bool is_space(std::string_view character) {
  static const Pattern space(R"(\s)");
  return is_of(space, character);
}

}  // namespace

AddedTexts::AddedTexts(std::vector<AddedToken> tokens, const std::vector<std::string>& texts)
    : tokens_(std::move(tokens)) {
  std::vector<SpecialToken> specials;
  for (std::size_t i = 0; i < tokens_.size(); ++i) specials.push_back({texts[i], tokens_[i].token});
  texts_ = SpecialTexts(std::move(specials));
}

std::vector<Fragment> AddedTexts::cut(std::string_view text, SpecialText special) const {
  std::vector<SpecialTexts::Match> kept;
  std::size_t done = 0;
  for (SpecialTexts::Match match : texts_.leftmost_longest(text)) {
    const AddedToken& token = tokens_[match.index];
    // A special text that is to be text still hides others that overlap it: so it is in `tokenizers`.
    if (token.special && special == SpecialText::as_text) continue;
    if (token.single_word && (is_word(last_character(text.substr(0, match.begin))) ||
                              is_word(first_character(text.substr(match.end)))))
      continue;
    if (token.lstrip) {
      while (match.begin > done && is_space(last_character(text.substr(0, match.begin))))
        match.begin -= last_character(text.substr(0, match.begin)).size();
    }
    if (token.rstrip) {
      while (match.end < text.size() && is_space(first_character(text.substr(match.end))))
        match.end += first_character(text.substr(match.end)).size();
    }
    match.begin = std::max(match.begin, done);
    match.end = std::max(match.end, match.begin);
    done = match.end;
    kept.push_back(match);
  }
  return fragments_of(text, kept, texts_);
}

namespace {

using nlohmann::json;

[[noreturn]] void broken(const std::string& what) {
  throw Error(ErrorCode::bad_file, "tokenizer.json: " + what);
}

const json& part(const json& file, const char* name) {
  static const json kNull;
  const auto found = file.find(name);
  return found == file.end() ? kNull : *found;
}

Token checked_id(const json& id, std::size_t below, std::string_view text) {
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= below)
    broken(fmt::format("token {} has the id {}; expected a whole number below {}", in_quotes(text),
                       in_quotes(id.dump(-1, ' ', true, json::error_handler_t::replace)), below));
  return id.get<Token>();
}

// Gaps in the numbers are let be, but not so many that a small file asks for much memory.
std::size_t id_limit(const json& file) {
  constexpr std::size_t kSlack = 1024;
  return 2 * (part(part(file, "model"), "vocab").size() + part(file, "added_tokens").size()) + kSlack;
}

std::vector<std::string> vocabulary_texts(const json& file) {
  const json& model = part(file, "model");
  if (!model.is_object()) broken("has no model");
  const std::string type = model.value("type", "BPE");
  if (type != "BPE")
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer.json: model {} is not supported; known is BPE", in_quotes(type)));
  const json& vocabulary = part(model, "vocab");
  if (!vocabulary.is_object() || !part(model, "merges").is_array())
    broken("its model has no vocab or no merges");
  std::vector<std::string> texts;
  const std::size_t limit = id_limit(file);
  std::vector<bool> taken;
  for (const auto& [text, id] : vocabulary.items()) {
    const auto at = static_cast<std::size_t>(checked_id(id, limit, text));
    if (at >= texts.size()) {
      texts.resize(at + 1);
      taken.resize(at + 1);
    }
    if (taken[at])
      broken(fmt::format("tokens {} and {} have the id {}", in_quotes(texts[at]), in_quotes(text), at));
    taken[at] = true;
    texts[at] = text;
  }
  return texts;
}

MergeList merges_of(const json& file) {
  MergeList merges;
  for (const json& merge : part(part(file, "model"), "merges")) {
    if (merge.is_array() && merge.size() == 2) {
      merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    if (!merge.is_string()) broken(fmt::format("merge {} is not a pair of tokens", merges.size()));
    const auto& both = merge.get_ref<const std::string&>();
    if (both.starts_with("#version")) continue;
    const std::size_t space = both.find(' ');
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
      broken(fmt::format("merge {} is {}; expected two tokens with a space between", merges.size(),
                         in_quotes(both)));
    merges.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return merges;
}

BpeRules rules_of(const json& file, const Vocabulary& vocabulary) {
  const json& model = part(file, "model");
  const auto flag = [&](const char* name) {
    return part(model, name).is_boolean() && part(model, name).get<bool>();
  };
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (part(model, name).is_string() && !part(model, name).get_ref<const std::string&>().empty())
      throw Error(ErrorCode::unsupported, fmt::format("tokenizer.json: {} is not supported", name));
  }
  if (part(model, "dropout").is_number() && part(model, "dropout").get<double>() != 0.0)
    throw Error(ErrorCode::unsupported, "tokenizer.json: dropout is not supported");
  BpeRules rules{.unknown = BpeRules::Unknown::dropped,
                 .fuse_unknown = flag("fuse_unk"),
                 .byte_fallback = flag("byte_fallback"),
                 .whole_words_first = flag("ignore_merges")};
  if (const json& unknown = part(model, "unk_token"); unknown.is_string()) {
    rules.unknown_token = vocabulary.find(unknown.get_ref<const std::string&>());
    if (rules.unknown_token == kNoToken)
      broken(fmt::format("the unknown token {} is not in the vocabulary",
                         in_quotes(unknown.get<std::string>())));
  }
  return rules;
}

}  // namespace

JsonTokenizer::JsonTokenizer(const json& file, const JsonSurroundings& beside)
    : vocabulary_(vocabulary_texts(file), "tokenizer.json"),
      model_(vocabulary_, merges_of(file), Repeated::last_counts, rules_of(file, vocabulary_),
             "tokenizer.json"),
      normalizer_(part(file, "normalizer")),
      pre_tokenizer_(part(file, "pre_tokenizer")),
      decoder_(part(file, "decoder")),
      size_(vocabulary_.size()) {
  read_added(file);
  read_template(part(file, "post_processor"));
  read_surroundings(beside);
}

void JsonTokenizer::read_added(const json& file) {
  std::vector<AddedToken> written, normalized;
  std::vector<std::string> written_texts, normalized_texts;
  for (const json& entry : part(file, "added_tokens")) {
    const auto flag = [&](const char* name, bool otherwise) { return entry.value(name, otherwise); };
    AddedToken token{.text = entry.at("content").get<std::string>()};
    if (token.text.empty()) continue;
    token.token = checked_id(entry.at("id"), id_limit(file), token.text);
    token.special = flag("special", false);
    token.lstrip = flag("lstrip", false);
    token.rstrip = flag("rstrip", false);
    token.single_word = flag("single_word", false);
    token.normalized = flag("normalized", !token.special);
    const Token known = vocabulary_.find(token.text);
    const bool clash = known == kNoToken
                           ? vocabulary_.has(token.token) && !vocabulary_.text(token.token).empty()
                           : known != token.token;
    if (clash || !added_.emplace(token.token, token).second ||
        !added_by_text_.emplace(token.text, token.token).second)
      broken(
          fmt::format("added token {} has the id {}, which the vocabulary or another added token contradicts",
                      in_quotes(token.text), token.token));
    size_ = std::max<std::int64_t>(size_, token.token + 1);
    (token.normalized ? normalized_texts : written_texts)
        .push_back(token.normalized ? normalizer_.apply(token.text) : token.text);
    (token.normalized ? normalized : written).push_back(std::move(token));
  }
  as_written_ = AddedTexts(std::move(written), written_texts);
  normalized_ = AddedTexts(std::move(normalized), normalized_texts);
}

std::vector<Token> JsonTokenizer::encode(std::string_view text, SpecialText special) const {
  const std::string read = with_replacements(text);
  std::vector<Token> out;
  WordCache cache(model_);
  for (const Fragment& outer : as_written_.cut(read, special)) {
    if (outer.is_token()) {
      out.push_back(outer.token);
      continue;
    }
    const std::string stretch = normalizer_.apply(std::string(outer.text));
    for (const Fragment& inner : normalized_.cut(stretch, special)) {
      if (inner.is_token()) {
        out.push_back(inner.token);
        continue;
      }
      const bool at_start = outer.text.data() == read.data() && inner.text.data() == stretch.data();
      for (const JsonWord& word : pre_tokenizer_.apply({std::string(inner.text), at_start}))
        cache.encode_word(word.text, out);
    }
  }
  return out;
}

void JsonTokenizer::check(Token token) const {
  if (token < 0 || token >= size_)
    throw Error(ErrorCode::bad_argument, fmt::format("token {}; there are {} tokens", token, size_));
}

bool JsonTokenizer::hidden(Token token) const {
  const auto added = added_.find(token);
  return added != added_.end() && added->second.special;
}

std::string_view JsonTokenizer::text_of(Token token) const {
  check(token);
  const auto added = added_.find(token);
  if (added != added_.end()) return added->second.text;
  return vocabulary_.has(token) ? vocabulary_.text(token) : std::string_view();
}

std::optional<Token> JsonTokenizer::find(std::string_view vocabulary_text) const {
  const auto added = added_by_text_.find(std::string(vocabulary_text));
  if (added != added_by_text_.end()) return added->second;
  const Token token = vocabulary_.find(vocabulary_text);
  return token == kNoToken ? std::nullopt : std::optional(token);
}

std::string JsonTokenizer::bytes_of(Token token) const {
  check(token);
  return hidden(token) ? std::string() : decoder_.bytes_of(text_of(token));
}

std::string JsonTokenizer::decode(std::span<const Token> tokens) const {
  std::string out;
  bool first = true;
  for (const Token token : tokens) {
    check(token);
    if (hidden(token)) continue;
    out += first ? decoder_.bytes_of_first(text_of(token)) : decoder_.bytes_of(text_of(token));
    first = false;
  }
  decoder_.finish(out);
  return out;
}

std::string JsonTokenizer::description() const {
  return fmt::format("{}BPE of tokenizer.json, {} tokens", pre_tokenizer_.spells_bytes() ? "byte-level " : "",
                     size_);
}

// tokenizer.json of a folder, and what beside it says how texts begin and end.

namespace {

constexpr JsonLimits kLimits{.bytes = std::uint64_t{256} << 20, .depth = 64};  // Gemma's has 34 MB

nlohmann::json object_or_null(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_json_object(path) : nlohmann::json();
}

}  // namespace

std::unique_ptr<const Tokenizer> make_json_tokenizer(const nlohmann::json& file,
                                                     const JsonSurroundings& beside) {
  try {
    return std::make_unique<JsonTokenizer>(file, beside);
  } catch (const nlohmann::json::exception& error) {  // a value of another kind than the format has there
    throw Error(ErrorCode::bad_file,
                fmt::format("tokenizer.json: is not laid out as a tokenizer: {}", in_quotes(error.what())));
  }
}

std::unique_ptr<const Tokenizer> make_json_tokenizer(const std::filesystem::path& folder,
                                                     const nlohmann::json* config) {
  const std::filesystem::path path = folder / "tokenizer.json";
  if (!std::filesystem::exists(path))
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: has no tokenizer.json, the only tokenizer of a folder that "
                            "is read",
                            folder.string()));
  const nlohmann::json tokenizer_config = object_or_null(folder / "tokenizer_config.json");
  const nlohmann::json generation_config = object_or_null(folder / "generation_config.json");
  return make_json_tokenizer(read_json_object(path, kLimits),
                             {&tokenizer_config, &generation_config, config});
}

}  // namespace sharpmax::model
