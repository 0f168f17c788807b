// An attention request that keeps alive the arrays its views look into.
#pragma once

#include <vector>

#include "arrays.h"
#include "sharpmax/attention.h"

namespace sharpmax::python {

class HeldRequest {
 public:
  HeldRequest(nb::handle query, nb::handle key, nb::handle value);

  void set_mask(nb::handle mask);
  void set_bias(nb::handle bias);
  void set_causal(Causal causal) { view_.causal = causal; }
  void set_window(std::int64_t left, std::int64_t right) { view_.window = {left, right}; }
  void set_scale(double scale) { view_.scale = scale; }
  void set_soft_cap(double cap) { view_.soft_cap = cap; }
  void set_key_lengths(std::vector<std::int64_t> lengths);
  void set_offsets(std::vector<std::int64_t> query, std::vector<std::int64_t> key);

  const AttentionRequest& view() const noexcept { return view_; }

 private:
  InputArray query_, key_, value_, mask_or_bias_;
  std::vector<std::int64_t> key_lengths_, query_offsets_, key_offsets_;
  AttentionRequest view_;
};

void bind_request(nb::module_& m);

}  // namespace sharpmax::python
