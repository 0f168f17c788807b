// The arrays of one `sharpmax attend`, from files to an AttentionRequest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/attend.h"
#include "sharpmax/attention.h"
#include "storage/npy.h"

namespace sharpmax::cli {

// Rank 2 to 4 becomes rank 4 by extents of 1 in front.
Extents<4> four_dimensional(const std::vector<std::int64_t>& shape, const std::string& name);
// Throws Error{bad_file} for a type that attention does not read.
AnyTensor<4> tensor_of(const NpyArray& array, const std::string& name, bool bf16);
NpyType npy_type_of(DType type) noexcept;

// Owns what its request looks at: keep it in place.
class AttendInputs {
 public:
  explicit AttendInputs(const AttendOptions& options);
  AttendInputs(const AttendInputs&) = delete;
  AttendInputs& operator=(const AttendInputs&) = delete;

  const AttentionRequest& request() const noexcept { return request_; }
  std::size_t rank() const noexcept { return query_.shape.size(); }
  // Without the extents of 1 that were put in front.
  std::vector<std::int64_t> as_given(const std::vector<std::int64_t>& four) const;

 private:
  void load(const AttendOptions& options);
  void load_archive(const AttendOptions& options);

  NpyArray query_, key_, value_;
  std::optional<NpyArray> mask_, bias_;
  std::vector<std::int64_t> key_lengths_, query_lengths_, query_offsets_, key_offsets_;
  AttentionRequest request_;
};

}  // namespace sharpmax::cli
