// A ModelRequest carried out: the model opened, a session with room for a text, what results say about both.
#pragma once

#include <memory>

#include "model/transformer/session.h"
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

// SHA-256 of the model as model/file/checksum.h has it; tells its progress if that takes over a second.
std::string checksum_of(const ModelFile& file, Listener& listener);

ModelSettings settings_of(const Model& model, const ModelRequest& request, Listener& listener);

}  // namespace sharpmax::model

namespace sharpmax {

Json to_json(const ModelSettings& settings);
ModelSettings model_settings_in(const Json& json);

}  // namespace sharpmax
