// `sharpmax attend`: what was asked for, and the three things it can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "sharpmax/normalizer.h"
#include "sharpmax/report.h"

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
int run_demo(const AttendOptions& options);
int run_on_arrays(const AttendOptions& options);

// Throws Error for text that does not parse or a normalizer given twice.
std::vector<AnyNormalizer> parse_normalizers(const std::vector<std::string>& texts);

// "3,5" as numbers; `flag` opens the message if it is something else.
std::vector<std::int64_t> parse_integers(const std::string& text, const char* flag);
std::vector<double> parse_numbers(const std::string& text, const char* flag);

}  // namespace sharpmax::cli
