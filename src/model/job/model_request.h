// A ModelRequest carried out: the model opened, a session with room for a text, what results say about both.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/file/model_file.h"
#include "model/transformer/layer_pass.h"
#include "model/transformer/model.h"
#include "model/transformer/session.h"
#include "sharpmax/inspect.h"
#include "sharpmax/model.h"

namespace sharpmax::model {

// Opened, with the positions that were asked for. Throws Error{bad_file} for a model that does not run here.
Model open_model(const ModelRequest& request);
// The request's opened model, or open_model().
std::shared_ptr<const Model> shared_model(const ModelRequest& request);

// The context that was asked for, or the model's own.
std::int64_t context_of(const Model& model, const ModelRequest& request);

SessionSettings session_settings(const Model& model, const ModelRequest& request, std::int64_t tokens, Listener& listener);

// Throws Error{memory} if keys and values of so many tokens do not fit into memory. type: float32 or float16.
void check_memory(const Configuration& configuration, std::int64_t tokens, const std::string& type);
// The same; narrates if they are more than the model was trained on.
void check_room(const Model& model, const ModelRequest& request, std::int64_t tokens, Listener& listener);
// A session with room for `tokens`, after check_room().
std::unique_ptr<Session> open_session(const Model& model, const ModelRequest& request, std::int64_t tokens,
                                      Listener& listener);

// The same for a pass layer by layer.
std::unique_ptr<LayerPass> open_layer_pass(const Model& model, const ModelRequest& request, std::int64_t tokens,
                                           Listener& listener, Group* group = nullptr);

// The processes that read a text together, if the request says so; null: this one reads alone. All must have the same
// `settings`. Rank 0 reports them.
std::unique_ptr<Group> reading_group(const ReadingOrder& order, const std::string& settings, Listener& listener);
// Refuses what does not go with reading together.
void check_reading(const ReadingOrder& order, const std::string& directory);
// Whether this process only helps: it has no files of its own.
bool only_helps(const ReadingOrder& order);

// File for the state of such a pass, written after a layer if `seconds` have passed since the last time.
struct PassFile {
  std::filesystem::path path;
  std::uint64_t fingerprint = 0;  // of the model and the text
  double seconds = 0;
};

// Layer by layer, alone or together.
inline bool by_layer(const ReadingOrder& order) { return order.by_layer || order.together; }
// The file of a job that saves its results in a file; empty: none. One that was left is removed unless the job resumes.
std::filesystem::path state_file(const Saving& saving, const ReadingOrder& order);
void remove_state(const std::filesystem::path& file);

// SHA-256 of the model as model/file/model_file.h has it; reports progress if that takes over a second.
std::string checksum_of(const ModelFile& file, Listener& listener);

ModelSettings settings_of(const Model& model, const ModelRequest& request, Listener& listener);

// Settings of results as JSON without the paths of model, text and questions, which machines may have in other places.
Json without_paths(Json settings);

// A TextRequest carried out: the tokens of a text, and the checksum that identifies it.

// The text itself. Throws Error{bad_argument} for none and for two, {bad_file} for bytes that are not UTF-8.
std::string text_of(const TextRequest& request);

// Throws Error{bad_argument} for no text and one of fewer than `least` tokens; Error{bad_file} for bytes that are not UTF-8.
std::vector<Token> tokens_of(const Model& model, const TextRequest& request, std::int64_t least);

// What results call the text: its path, or "-" for one in memory, as a command that reads standard input has it.
std::string text_name(const TextRequest& request);
// The same among the settings of results: without the text itself, and with the number of tokens that were read.
TextRequest text_settings(const TextRequest& request, std::int64_t tokens);

// With the token before it that the model expects before a text.
std::vector<Token> with_beginning(const Model& model, std::span<const Token> text);
std::int64_t tokens_before_text(const Model& model);

// What a token stands for in a text; its number if the model has no tokenizer.
std::string token_text(const Model& model, Token token);

// FNV-1a, to check that a resumed job reads the same: of tokens, and of any text on top.
std::uint64_t fingerprint_of(std::span<const Token> tokens);
std::uint64_t fingerprint_with(std::uint64_t fingerprint, std::string_view text);

// Parts of inspect() that have a file of their own.

// The format's own metadata, whole.
Json metadata_json(const ModelFile& file);
// Weights that are NaN or infinite, by tensor.
InspectResult::Check check_weights(const ModelFile& file, int threads, Listener& listener);

}  // namespace sharpmax::model
