// `sharpmax attend`: what was asked for, and the three things it can do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/table.h"
#include "sharpmax/attention.h"
#include "sharpmax/normalizer.h"
#include "sharpmax/report.h"
#include "storage/npy.h"

namespace sharpmax::cli {

struct AttendOptions {
  std::vector<std::string> normalizers;
  int threads = 0;
  std::string json;
  bool overwrite = false;

  // Which of the three: arrays (neither set), the demonstration, the list.
  bool demo = false;
  bool list = false;

  std::string arrays, query, key, value, mask, bias;  // files
  bool bf16 = false;
  bool causal = false;
  std::string window, key_lengths, query_lengths, documents, key_documents;  // numbers with commas
  std::optional<double> scale;
  double soft_cap = 0.0;

  std::string output;  // arrays; the report of the demonstration
  bool statistics = false;
  std::string statistics_output;
  int top = 8;
  std::string gaps, map;
  std::string backward, gradients_output;

  std::string figures;
  std::string sizes;
  std::uint64_t seed = 1;
  double gap = 8.0;

  ReportFiles report() const { return {.page = output, .figures = figures}; }  // of the demonstration
};

int run_list(const AttendOptions& options);
int run_demo(const AttendOptions& options, Call& call);
int run_on_arrays(const AttendOptions& options);

// Throws Error for text that does not parse or a normalizer given twice.
std::vector<AnyNormalizer> parse_normalizers(const std::vector<std::string>& texts);

// "3,5" as numbers; `flag` opens the message if it is something else.
std::vector<std::int64_t> parse_integers(const std::string& text, const char* flag);
std::vector<double> parse_numbers(const std::string& text, const char* flag);

// The arrays of one `sharpmax attend`, from files to an AttentionRequest.

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
