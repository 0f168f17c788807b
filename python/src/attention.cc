// The four verbs. Each turns Python objects into views, releases the interpreter, and calls the library.
#include "attention.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "attention/door/validate.h"
#include "request.h"
#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "statistics.h"

namespace sharpmax::python {
namespace {

void attend_python(const HeldRequest& request, const AnyNormalizer& normalizer, nb::handle out,
                   const nb::dict& statistics, std::vector<double> gaps, int threads) {
  const OutputArray out_array = output_array(out, "out");
  const AnyMutableTensor<4> out_view = any_mutable_tensor(out_array, "out");
  const HeldStatistics held(statistics, std::move(gaps));
  nb::gil_scoped_release without_interpreter;
  attend(request.view(), normalizer, out_view, held.view(), {.threads = threads});
}

// What attend() would say of its arguments, without reading an element of them: for doors that trace first.
void check_attend_python(const HeldRequest& request, const AnyNormalizer& normalizer, nb::handle out,
                         const nb::dict& statistics, std::vector<double> gaps, int threads) {
  const OutputArray out_array = output_array(out, "out");
  const HeldStatistics held(statistics, std::move(gaps));
  validate_attend(request.view(), normalizer, any_mutable_tensor(out_array, "out"), held.view(),
                  {.threads = threads});
}

// Gradients wanted, by name, as arrays to be filled.
class HeldGradients {
 public:
  explicit HeldGradients(const nb::dict& wanted) {
    for (const auto& [key, array] : wanted) {
      const char* name = nb::cast<const char*>(key);
      arrays_.push_back(output_array(array, name));
      assign(name, arrays_.back());
    }
  }
  HeldGradients(const HeldGradients&) = delete;
  const AttentionGradients& view() const noexcept { return view_; }

 private:
  void assign(std::string_view name, const OutputArray& array) {
    if (name == "query")
      view_.query = any_mutable_tensor(array, "query's gradient");
    else if (name == "key")
      view_.key = any_mutable_tensor(array, "key's gradient");
    else if (name == "value")
      view_.value = any_mutable_tensor(array, "value's gradient");
    else if (name == "bias")
      view_.bias = any_mutable_tensor(array, "attn_mask's gradient");
    else if (name == "parameters")
      view_.parameters = output_view<double, 2>(array, "parameters");
    else
      throw Error(ErrorCode::bad_argument, "there is no gradient '" + std::string(name) + "'");
  }

  std::deque<OutputArray> arrays_;
  AttentionGradients view_;
};

using SavedObjects = std::optional<std::tuple<nb::handle, nb::handle, nb::handle>>;

void attend_backward_python(const HeldRequest& request, const AnyNormalizer& normalizer, nb::handle d_out,
                            const nb::dict& gradients, const SavedObjects& saved_objects, int threads) {
  const InputArray d_out_array = input_array(d_out, "d_out");
  const AnyTensor<4> d_out_view = any_tensor(d_out_array, "d_out");
  const HeldGradients held(gradients);
  InputArray out, log_partition, temperature;
  Saved saved;
  if (saved_objects) {
    out = input_array(std::get<0>(*saved_objects), "saved out");
    log_partition = input_array(std::get<1>(*saved_objects), "saved log_partition");
    temperature = input_array(std::get<2>(*saved_objects), "saved temperature");
    saved.out = any_tensor(out, "saved out");
    saved.log_partition = double_rows(log_partition, "saved log_partition");
    saved.temperature = double_rows(temperature, "saved temperature");
  }
  nb::gil_scoped_release without_interpreter;
  attend_backward(request.view(), normalizer, d_out_view, held.view(), saved, {.threads = threads});
}

void normalize_python(nb::handle scores, const AnyNormalizer& normalizer, nb::handle weights,
                      const nb::dict& statistics, std::vector<double> gaps, int threads) {
  const InputArray scores_array = input_array(scores, "scores");
  const OutputArray weights_array = output_array(weights, "weights");
  const AnyTensor<4> scores_view = any_tensor(scores_array, "scores");
  const AnyMutableTensor<4> weights_view = any_mutable_tensor(weights_array, "weights");
  const HeldStatistics held(statistics, std::move(gaps));
  nb::gil_scoped_release without_interpreter;
  normalize(scores_view, normalizer, weights_view, held.view(), {.threads = threads});
}

void normalize_backward_python(nb::handle scores, const AnyNormalizer& normalizer, nb::handle d_weights,
                               nb::handle d_scores, nb::handle d_parameters, int threads) {
  const InputArray scores_array = input_array(scores, "scores");
  const InputArray d_weights_array = input_array(d_weights, "d_weights");
  const OutputArray d_scores_array = output_array(d_scores, "d_scores");
  const OutputArray d_parameters_array = output_array(d_parameters, "d_parameters");
  const AnyTensor<4> scores_view = any_tensor(scores_array, "scores");
  const AnyTensor<4> d_weights_view = any_tensor(d_weights_array, "d_weights");
  const AnyMutableTensor<4> d_scores_view = any_mutable_tensor(d_scores_array, "d_scores");
  const TensorView<double, 2> d_parameters_view = output_view<double, 2>(d_parameters_array, "d_parameters");
  nb::gil_scoped_release without_interpreter;
  normalize_backward(scores_view, normalizer, d_weights_view, d_scores_view, d_parameters_view,
                     {.threads = threads});
}

// Name and element type of every statistic with one number per row.
std::vector<std::tuple<std::string, std::string>> row_statistics() {
  std::vector<std::tuple<std::string, std::string>> all;
  each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
    all.emplace_back(statistic.name(), std::is_same_v<T, double> ? "float64" : "int64");
  });
  return all;
}

}  // namespace

void bind_attention(nb::module_& m) {
  m.def("row_statistics", row_statistics);
  m.def("attend", attend_python);
  m.def("check_attend", check_attend_python);
  m.def("attend_backward", attend_backward_python, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg());
  m.def("normalize", normalize_python);
  m.def("normalize_backward", normalize_backward_python);
}

}  // namespace sharpmax::python
