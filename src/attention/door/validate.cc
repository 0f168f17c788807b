#include "attention/door/validate.h"

#include <fmt/format.h>

#include "normalizer/definition.h"

namespace sharpmax {
namespace {

[[noreturn]] void fail(std::string_view door, const std::string& what) {
  throw Error(ErrorCode::bad_argument, fmt::format("{}: {}", door, what));
}

void check_execution(std::string_view door, const Execution& execution) {
  if (execution.threads < 0) {
    fail(door, fmt::format("threads is {}; expected 0 (what OpenMP would use) or more", execution.threads));
  }
}

// float32, or the type of what came in.
void check_type(std::string_view door, std::string_view name, DType found, DType inputs) {
  if (found == DType::float32 || found == inputs) return;
  fail(door, fmt::format("{} is {}; expected float32 or the inputs' {}", name, name_of(found), name_of(inputs)));
}

void check_output(const NamedView& view, const Extents<4>& wanted, std::string_view meaning,
                  std::vector<NamedView>& outputs) {
  check_memory(view);
  check_shape(view, wanted, meaning);
  check_last_stride(view);
  check_writable(view);
  outputs.push_back(view);
}

void check_input(const NamedView& view, std::span<const std::int64_t> wanted, std::string_view meaning,
                 std::vector<NamedView>& inputs) {
  check_memory(view);
  check_shape(view, wanted, meaning);
  inputs.push_back(view);
}

Extents<4> out_shape(const AttentionRequest& request) {
  return {request.query.shape[0], request.query.shape[1], request.query.shape[2], request.value.shape[3]};
}

void check_gradient(std::string_view door, std::string_view name, const AnyMutableTensor<4>& gradient,
                    const AnyTensor<4>& of, DType inputs, std::vector<NamedView>& outputs) {
  const NamedView view = named(door, name, gradient);
  if (!is_there(view)) return;
  const bool exact = inputs == DType::float64 && gradient.dtype == DType::float64;
  if (gradient.dtype != DType::float32 && !exact) {
    fail(door, fmt::format("{} is {}; expected float32{}", name, name_of(gradient.dtype),
                           inputs == DType::float64 ? " or float64" : ""));
  }
  check_output(view, of.shape, "as the input it belongs to", outputs);
}

void check_saved(std::string_view door, const AttentionRequest& request, const Saved& saved,
                 std::vector<NamedView>& inputs) {
  const NamedView out = named(door, "saved.out", saved.out);
  const NamedView log_partition = named(door, "saved.log_partition", saved.log_partition);
  const NamedView temperature = named(door, "saved.temperature", saved.temperature);
  const Extents<3> rows = {request.query.shape[0], request.query.shape[1], request.query.shape[2]};
  const bool has_out = is_there(out), has_log_partition = is_there(log_partition);
  if (has_out != has_log_partition) {
    fail(door, fmt::format("saved.{} is there without saved.{}; both or neither",
                           has_out ? "out" : "log_partition", has_out ? "log_partition" : "out"));
  }
  if (has_out) {
    check_type(door, "saved.out", saved.out.dtype, request.query.dtype);
    check_input(out, out_shape(request), "batch, query head, query, value feature", inputs);
    check_last_stride(out);
    check_input(log_partition, rows, "batch, query head, query", inputs);
  }
  if (is_there(temperature)) check_input(temperature, rows, "batch, query head, query", inputs);
}

void check_scores(std::string_view door, const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                  std::vector<NamedView>& inputs) {
  if (normalizer.definition().needs_queries_and_keys) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: {} is not a function of scores; it works through attend only", door,
                            normalizer.name()));
  }
  if (scores.dtype != DType::float32 && scores.dtype != DType::float64) {
    fail(door, fmt::format("scores are {}; expected float32 or float64", name_of(scores.dtype)));
  }
  const NamedView view = named(door, "scores", scores);
  check_memory(view);
  check_last_stride(view);
  if (scores.shape[1] == 0) fail(door, "scores have 0 heads; expected at least 1");
  check_heads(normalizer, scores.shape[1], door);
  inputs.push_back(view);
}

void check_same_type(std::string_view door, std::string_view name, DType found, DType scores) {
  if (found == scores) return;
  fail(door, fmt::format("{} are {}, scores {}; they must agree", name, name_of(found), name_of(scores)));
}

constexpr std::size_t kUsualViews = 24;  // so that gathering them allocates once

struct Views {
  Views() {
    inputs.reserve(kUsualViews);
    outputs.reserve(kUsualViews);
  }
  std::vector<NamedView> inputs, outputs;
};

}  // namespace

void check_parameter_gradients(std::string_view door, const TensorView<double, 2>& view,
                               const AnyNormalizer& normalizer, std::int64_t heads,
                               std::vector<NamedView>& outputs) {
  const NamedView d_parameters = named(door, "gradients.parameters", view);
  if (!is_there(d_parameters)) return;
  check_memory(d_parameters);
  const Extents<2> wanted = {static_cast<std::int64_t>(normalizer.parameters().size()), heads};
  check_shape(d_parameters, wanted, "parameter, query head");
  check_writable(d_parameters);
  outputs.push_back(d_parameters);
}

void validate_request(const AttentionRequest& request, const AnyNormalizer& normalizer) {
  Views views;
  check_request("attend", request, normalizer, views.inputs);
}

void validate_attend(const AttentionRequest& request, const AnyNormalizer& normalizer,
                     const AnyMutableTensor<4>& out, const RowStatistics* statistics, const Execution& execution) {
  constexpr std::string_view door = "attend";
  Views views;
  check_execution(door, execution);
  check_request(door, request, normalizer, views.inputs);
  check_type(door, "out", out.dtype, request.query.dtype);
  check_output(named(door, "out", out), out_shape(request), "batch, query head, query, value feature", views.outputs);
  if (statistics != nullptr) {
    check_statistics(door, *statistics,
                     {request.query.shape[0], request.query.shape[1], request.query.shape[2], request.key.shape[2]},
                     views.outputs);
  }
  check_all_apart(views.outputs, views.inputs);
}

void validate_attend_backward(const AttentionRequest& request, const AnyNormalizer& normalizer,
                              const AnyTensor<4>& d_out, const AttentionGradients& gradients, const Saved& saved,
                              const Execution& execution) {
  constexpr std::string_view door = "attend_backward";
  Views views;
  check_execution(door, execution);
  check_request(door, request, normalizer, views.inputs);
  check_backward(normalizer, door);
  const DType type = request.query.dtype;
  check_type(door, "d_out", d_out.dtype, type);
  const NamedView d_out_view = named(door, "d_out", d_out);
  check_input(d_out_view, out_shape(request), "batch, query head, query, value feature", views.inputs);
  check_last_stride(d_out_view);
  check_saved(door, request, saved, views.inputs);
  check_gradient(door, "gradients.query", gradients.query, request.query, type, views.outputs);
  check_gradient(door, "gradients.key", gradients.key, request.key, type, views.outputs);
  check_gradient(door, "gradients.value", gradients.value, request.value, type, views.outputs);
  if (is_there(named(door, "gradients.bias", gradients.bias)) && !request.bias.present()) {
    fail(door, "gradients.bias is wanted but there is no bias; give the request one, or leave the view empty");
  }
  check_gradient(door, "gradients.bias", gradients.bias, request.bias, type, views.outputs);
  check_parameter_gradients(door, gradients.parameters, normalizer, request.query.shape[1], views.outputs);
  check_all_apart(views.outputs, views.inputs);
}

void validate_normalize(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                        const AnyMutableTensor<4>& weights, const RowStatistics* statistics,
                        const Execution& execution) {
  constexpr std::string_view door = "normalize";
  Views views;
  check_execution(door, execution);
  check_scores(door, scores, normalizer, views.inputs);
  check_same_type(door, "weights", weights.dtype, scores.dtype);
  check_output(named(door, "weights", weights), scores.shape, "as scores", views.outputs);
  if (statistics != nullptr) {
    check_statistics(door, *statistics, {scores.shape[0], scores.shape[1], scores.shape[2], scores.shape[3]},
                     views.outputs);
  }
  check_all_apart(views.outputs, views.inputs);
}

void validate_normalize_backward(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                                 const AnyTensor<4>& d_weights, const AnyMutableTensor<4>& d_scores,
                                 const TensorView<double, 2>& d_parameters, const Execution& execution) {
  constexpr std::string_view door = "normalize_backward";
  Views views;
  check_execution(door, execution);
  check_scores(door, scores, normalizer, views.inputs);
  check_backward(normalizer, door);
  check_same_type(door, "d_weights", d_weights.dtype, scores.dtype);
  const NamedView d_weights_view = named(door, "d_weights", d_weights);
  check_input(d_weights_view, scores.shape, "as scores", views.inputs);
  check_last_stride(d_weights_view);
  if (is_there(named(door, "d_scores", d_scores))) {
    check_same_type(door, "d_scores", d_scores.dtype, scores.dtype);
    check_output(named(door, "d_scores", d_scores), scores.shape, "as scores", views.outputs);
  }
  check_parameter_gradients(door, d_parameters, normalizer, scores.shape[1], views.outputs);
  check_all_apart(views.outputs, views.inputs);
}

}  // namespace sharpmax
