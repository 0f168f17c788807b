// `sharpmax audit`: every head of a model, and where it goes blunt.
#include "cli/audit.h"

#include <fmt/format.h>

#include <charconv>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "sharpmax/error.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "Excerpts of the text are read once each, to the longest length; rows in the last\n"
    "quarter of every length are kept on the way. \"Outside\" leaves the first token\n"
    "out, on which many heads park their weight. With --json FILE what was measured\n"
    "is saved as it comes (rows in FILE.rows.npz); after an interrupt or a kill,\n"
    "--resume goes on from there.\n"
    "\n"
    "Examples:\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --lengths 128,512,2048,8192\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --head 12.3\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --analysis all\n"
    "  sharpmax audit SmolLM2.gguf --probe lookup --lengths 128,512,2048\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt -o report.html\n"
    "  sharpmax audit SmolLM2.gguf --text book.txt --json audit.json --resume";

void check_files(const AuditOptions& o) {
  CallFiles call(o.overwrite);
  call.reads_model(o.model.model).reads("--text", o.text.text).reads("--normalizers", o.model.normalizers);
  call.writes("--json", o.json, results_kind(kAuditSchema));
  const bool by_length = o.probe.kind.empty() && o.analysis.analysis.empty();
  if (by_length && !o.json.empty() && o.json != "-") call.writes("--json", o.json + kRowsEnding, npz_kind());
  declare_report_files(call, o.report);
  call.check();
  check_report_files(o.report);
}

int run(const AuditOptions& o) {
  if (o.resume && (o.json.empty() || o.json == "-"))
    throw Error(ErrorCode::bad_argument, "--resume goes with --json FILE");
  check_files(o);
  if (!o.analysis.analysis.empty())
    return audit_analyses({o.model, o.text, o.lengths, o.json, o.report}, o.analysis);
  if (o.probe.kind.empty()) return audit_lengths(o);
  ProbeOptions probe = o.probe;
  probe.lengths = o.lengths;
  probe.json = o.json;
  probe.report = o.report;
  probe.resume = o.resume;
  return audit_probe(o.model, probe);
}

}  // namespace

audit::HeadPlace parse_head(const std::string& text, std::int64_t layers, std::int64_t heads) {
  audit::HeadPlace place;
  const char* const end = text.data() + text.size();
  const auto layer = std::from_chars(text.data(), end, place.layer);
  const bool dotted = layer.ec == std::errc() && layer.ptr != end && *layer.ptr == '.';
  const auto head = dotted ? std::from_chars(layer.ptr + 1, end, place.head) : layer;
  if (!dotted || head.ec != std::errc() || head.ptr != end)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("--head {}: LAYER.HEAD was wanted, both counted from 0, such as 3.5", in_quotes(text)));
  if (place.layer < 0 || place.layer >= layers || place.head < 0 || place.head >= heads)
    throw Error(ErrorCode::bad_argument,
                fmt::format("--head {}: there is no such head; layers go from 0 to {} and heads from 0 to {}",
                            text, layers - 1, heads - 1));
  return place;
}

Command add_audit(CLI::App& program) {
  auto options = std::make_shared<AuditOptions>();
  AuditOptions& o = *options;
  CLI::App* words = program.add_subcommand("audit", "Every head of a model, and where it goes blunt");
  words->footer(kFooter);
  add_model_options(*words, o.model);
  add_text_options(*words, o.text);
  constexpr const char *kWhat = "What to measure", *kResults = "Results";
  words
      ->add_option("--lengths", o.lengths,
                   "Tokens, with commas (default: 64, 128, … to the context, at most 8192)")
      ->option_text("N,…")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{audit::kLeastLength}, std::int64_t{1} << 30))
      ->group(kWhat);
  words->add_option("--excerpts", o.excerpts, "Read at most so many parts of the text (default 4)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->group(kWhat);
  words
      ->add_option("--threshold", o.thresholds.blunt,
                   "A head whose median peak is below is blunt (default 0.1)")
      ->option_text("P")
      ->check(CLI::Range(1e-9, 1.0))
      ->group(kWhat);
  words
      ->add_option("--sketch", o.sketch,
                   "Tokens of the excerpt on which every head is drawn in results; 0: none (default 512)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 16))
      ->group(kWhat);
  words->add_flag("--all", o.all, "Print every head, not the worst alone")->group(kResults);
  words->add_option("--head", o.head, "Print one head at every length")
      ->option_text("LAYER.HEAD")
      ->group(kResults)
      ->excludes("--all");
  add_json_option(*words, o.json, kAuditSchema, kResults);
  add_report_files(*words, o.report, kResults);
  add_overwrite_option(*words, o.overwrite, kResults);
  words->add_flag("--resume", o.resume, "Go on from what was saved in and beside the file of --json")
      ->group(kResults);
  add_analysis_options(*words, o.analysis);
  add_probe_options(*words, o.probe);
  // Questions are generated, and their answers have no heads to be listed by kind.
  for (const char* other : {"--text", "--tokens", "--special", "--excerpts", "--threshold", "--sketch",
                            "--all", "--head", "--analysis"})
    words->get_option("--probe")->excludes(other);
  return {words, [options] { return run(*options); }};
}

}  // namespace sharpmax::cli
