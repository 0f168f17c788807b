#include "sharpmax/tokenize.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/chat/chat_template.h"
#include "model/file/model_file.h"
#include "model/job/model_request.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/utf8.h"

namespace sharpmax {
namespace {

[[noreturn]] void refuse_to_split(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

// The file of a model and its tokenizer, whether the model runs here or not.
struct Source {
  std::shared_ptr<const model::Model> opened;
  std::optional<model::ModelFile> own_file;
  std::unique_ptr<const model::Tokenizer> own_tokenizer;

  explicit Source(const ModelRequest& request) : opened(request.opened) {
    if (opened) return;
    own_file = model::open_model_file(request.model, model::ForeignTypes::keep);
    own_tokenizer = model::make_tokenizer(*own_file);
  }
  const model::ModelFile& file() const { return opened ? opened->file() : *own_file; }
  const model::Tokenizer& tokenizer() const { return opened ? opened->tokenizer() : *own_tokenizer; }
};

void check(const TokenizeRequest& request) {
  check_fields(request);
  const bool text = !request.text.text.empty() || request.text.text_string;
  if (text && !request.decode.empty())
    refuse_to_split(fmt::format("{} and a text were both given; give one of them", named("decode")));
  if (!text && request.decode.empty())
    refuse_to_split(fmt::format("nothing to do; give {}, the text itself, or {}", given("text", "FILE"),
                                given("decode", "N,N...")));
  if (request.system && !request.chat) refuse_to_split(fmt::format("{} goes with {}", named("system"), flagged("chat")));
  if (request.chat && request.ends)
    refuse_to_split(fmt::format("{} excludes {}: the template writes what comes before and after", flagged("chat"), flagged("ends")));
  if (!request.decode.empty() && (request.chat || request.ends || request.text.special))
    refuse_to_split(fmt::format("{} excludes {}, {} and {}, which are for a text", named("decode"), flagged("chat"), flagged("ends"),
                       flagged("special")));
}

TokenPiece piece_of(const model::Tokenizer& tokenizer, model::Token token) {
  return {.token = token,
          .spelling = model::with_replacements(tokenizer.text_of(token)),
          .text = model::with_replacements(tokenizer.bytes_of(token))};
}

std::vector<model::Token> checked_tokens(const std::vector<std::int64_t>& numbers, const model::Tokenizer& tokenizer) {
  std::vector<model::Token> tokens;
  for (const std::int64_t number : numbers) {
    if (number >= tokenizer.size())
      refuse_to_split(fmt::format("{}: there is no token {}; the vocabulary has {}, from 0 to {}", named("decode"), number,
                         tokenizer.size(), tokenizer.size() - 1));
    tokens.push_back(static_cast<model::Token>(number));
  }
  return tokens;
}

// The tokens of the text, which is filled in.
std::vector<model::Token> encoded(const TokenizeRequest& request, const Source& source, std::string& text) {
  using model::SpecialText;
  const model::Tokenizer& tokenizer = source.tokenizer();
  text = model::text_of(request.text);
  if (request.chat) {
    const auto system = request.system ? std::optional<std::string_view>(*request.system) : std::nullopt;
    text = model::chat_template_of(source.file(), tokenizer).render(text, system);
  }
  const bool special = request.chat || request.text.special;
  const SpecialText how = special ? SpecialText::as_tokens : SpecialText::as_text;
  return request.ends ? tokenizer.encode_whole(text, how) : tokenizer.encode(text, how);
}

// Control tokens stand for no text, so they are spelled as the vocabulary has them where the text named them.
bool gives_back(const model::Tokenizer& tokenizer, const std::vector<model::Token>& tokens, const std::string& text, bool special) {
  if (tokenizer.decode(tokens) == text) return true;
  if (!special) return false;
  std::string spelled;
  for (const model::Token token : tokens) {
    const std::string bytes = tokenizer.bytes_of(token);
    spelled += bytes.empty() ? std::string(tokenizer.text_of(token)) : bytes;
  }
  return spelled == text;
}

}  // namespace

TokenizeResult tokenize(const TokenizeRequest& request, Listener& listener) {
  check(request);
  listener.on_pause();
  const Source source(request.model);
  const model::Tokenizer& tokenizer = source.tokenizer();
  TokenizeResult result{.provenance = provenance_of(request.command, command_of("tokenize", request)),
                        .file = std::filesystem::path(model::name_of(source.file())).filename().string(),
                        .tokenizer = tokenizer.description(),
                        .vocabulary = tokenizer.size(),
                        .decoded = !request.decode.empty(),
                        .special = request.text.special,
                        .ends = request.ends,
                        .chat = request.chat};
  std::vector<model::Token> tokens;
  if (result.decoded) {
    tokens = checked_tokens(request.decode, tokenizer);
    result.text = tokenizer.decode(tokens);
    result.comes_back = tokenizer.encode(result.text, model::SpecialText::as_text) == tokens;
    result.text = model::with_replacements(result.text);
  } else {
    tokens = encoded(request, source, result.text);
    result.comes_back = gives_back(tokenizer, tokens, result.text, request.chat || request.text.special);
  }
  for (const model::Token token : tokens) result.tokens.push_back(piece_of(tokenizer, token));
  return result;
}

Json to_json(const TokenizeResult& result) {
  Json json = header_of(kTokenizeSchema, result.provenance);
  TokenizeResult::each_member(result, internal::Writer{json});
  return json;
}

TokenizeResult tokenize_result(const Json& json) {
  return read_results(json, kTokenizeSchema, [](const Json& results) {
    TokenizeResult result{.provenance = provenance_in(results)};
    read_json(results, result);
    return result;
  });
}

}  // namespace sharpmax
