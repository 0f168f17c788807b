// `sharpmax fit`: what was asked for, and the pieces that answer it.
#pragma once

#include <string>

#include "cli/console.h"
#include "retrieval/fit/temperature_fit.h"

namespace sharpmax::cli {

inline constexpr const char* kFitSchema = "sharpmax.fit/1";

struct FitOptions {
  std::string head, sizes, test_sizes, json, csv;
  std::string only = "wrong";
  int degree = 4;
  double sets_scale = 1.0, least_beta = 0.25, largest_beta = 16.0;
  int threads = 0;
  bool overwrite = false;
};

// Throws Error{bad_argument}.
retrieval::FitRequest request_of(const FitOptions& options);

// From "head" on: date, duration and command are the door's.
Json fit_json(const retrieval::Head& head, const std::string& file, const retrieval::FitRequest& request,
              const retrieval::FitResult& result);

inline constexpr const char* kFitCsvHeader = "n,set,entropy,beta,loss,best_loss,mended";
// One line for each set that was fitted.
std::string fit_csv(const retrieval::FitResult& result);

// The whole text for people, from the JSON.
std::string fit_report(const Json& found, bool colour);
// Its part that shows best temperatures against entropy: numbers and a plot.
std::string fit_plot(const Json& found, bool colour);

}  // namespace sharpmax::cli
