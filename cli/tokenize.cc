// Verb `tokenize`: a text as the tokens of a model, or tokens as text.
#include <fmt/format.h>

#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kShown = 40;

std::string table_of(const TokenizeResult& result, bool all, bool colour) {
  const std::size_t shown = all ? result.tokens.size() : std::min(result.tokens.size(), kShown);
  Table table({Align::right, Align::left, Align::left});
  table.add({{"token", Ink::dim}, {"text", Ink::dim}, {"in the vocabulary", Ink::dim}});
  for (std::size_t i = 0; i < shown; ++i) {
    const TokenPiece& piece = result.tokens[i];
    table.add({{std::to_string(piece.token)}, {piece.text.empty() ? "-" : Json(piece.text).dump()}, {Json(piece.spelling).dump()}});
  }
  std::string text = table.text(colour);
  if (shown < result.tokens.size())
    text += fmt::format("... and {} more; {} prints them\n", grouped(static_cast<std::int64_t>(result.tokens.size() - shown)),
                        "--all");
  return text;
}

std::string sum_of(const TokenizeResult& result) {
  const auto tokens = static_cast<std::int64_t>(result.tokens.size());
  const double each = tokens > 0 ? static_cast<double>(result.text.size()) / static_cast<double>(tokens) : 0;
  return wrapped(fmt::format("{} tokens for {} bytes, {:.2f} bytes per token; {}. Tokenizer: {}.", grouped(tokens),
                             grouped(static_cast<std::int64_t>(result.text.size())), each,
                             result.comes_back ? "the tokens give the text back" : "the tokens do not give the text back exactly",
                             result.tokenizer)) +
         "\n";
}

}  // namespace

const char* const TokenizeVerb::kSummary = "Split a text into the tokens of a model, or turn tokens back into text";
const char* const TokenizeVerb::kFooter =
    "The model need not run here: its tokenizer is all that is read.\n"
    "\n"
    "Examples:\n"
    "  sharpmax tokenize model.gguf --text-string \"Hello world\"\n"
    "  sharpmax tokenize model.gguf --text book.txt --json - | jq '.tokens | length'\n"
    "  sharpmax tokenize model.gguf --decode 19556,905\n"
    "  sharpmax tokenize model.gguf --chat --text-string \"Why is the sky blue?\"";

void TokenizeVerb::check(const Given&) const {
  files_of(request, file.overwrite, kTokenizeSchema)
      .writes(named("json"), file.json, results_kind(kTokenizeSchema))
      .check();
}

Outcome TokenizeVerb::run(const Caller& caller) {
  request.command = caller.command;
  const TokenizeResult result = tokenize(request, caller.listener);
  Outcome outcome{.results = to_json(result), .written = json_text};
  if (!file.json.empty()) write_text(file.json, outcome.written(outcome.results));
  outcome.text = [result, every = all](bool colour) {
    return result.decoded ? result.text + "\n" : table_of(result, every, colour) + sum_of(result);
  };
  return outcome;
}

}  // namespace sharpmax::cli
