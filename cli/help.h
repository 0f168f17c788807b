// Help that fits a terminal of 80 columns: CLI11's own does not wrap.
#pragma once

#include <CLI/CLI.hpp>

namespace sharpmax::cli {

class WrappingFormatter : public CLI::Formatter {
 public:
  WrappingFormatter();
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
};

}  // namespace sharpmax::cli
