#include "request.h"

#include <nanobind/stl/vector.h>

#include <utility>

namespace sharpmax::python {

HeldRequest::HeldRequest(nb::handle query, nb::handle key, nb::handle value)
    : query_(input_array(query, "query")),
      key_(input_array(key, "key")),
      value_(input_array(value, "value")) {
  view_.query = any_tensor(query_, "query");
  view_.key = any_tensor(key_, "key");
  view_.value = any_tensor(value_, "value");
}

void HeldRequest::set_mask(nb::handle mask) {
  mask_or_bias_ = input_array(mask, "attn_mask");
  view_.mask = bool_tensor(mask_or_bias_, "attn_mask");
}

void HeldRequest::set_bias(nb::handle bias) {
  mask_or_bias_ = input_array(bias, "attn_mask");
  view_.bias = any_tensor(mask_or_bias_, "attn_mask");
}

void HeldRequest::set_key_lengths(std::vector<std::int64_t> lengths) {
  key_lengths_ = std::move(lengths);
  view_.key_lengths = key_lengths_;
}

void HeldRequest::set_offsets(std::vector<std::int64_t> query, std::vector<std::int64_t> key) {
  query_offsets_ = std::move(query);
  key_offsets_ = std::move(key);
  view_.query_offsets = query_offsets_;
  view_.key_offsets = key_offsets_;
}

void bind_request(nb::module_& m) {
  nb::enum_<Causal>(m, "Causal")
      .value("none", Causal::none)
      .value("bottom_right", Causal::bottom_right)
      .value("top_left", Causal::top_left);
  nb::class_<HeldRequest>(m, "Request")
      .def(nb::init<nb::handle, nb::handle, nb::handle>())
      .def("set_mask", &HeldRequest::set_mask)
      .def("set_bias", &HeldRequest::set_bias)
      .def("set_causal", &HeldRequest::set_causal)
      .def("set_window", &HeldRequest::set_window)
      .def("set_scale", &HeldRequest::set_scale)
      .def("set_soft_cap", &HeldRequest::set_soft_cap)
      .def("set_key_lengths", &HeldRequest::set_key_lengths)
      .def("set_offsets", &HeldRequest::set_offsets);
}

}  // namespace sharpmax::python
