#include "cli/audit_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/audit.h"
#include "cli/interrupt.h"
#include "cli/resumed_results.h"
#include "cli/table.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

using Clock = std::chrono::steady_clock;
using audit::ProbeResult;

constexpr std::int64_t kShortest = 128, kLongest = 2048;
constexpr std::size_t kHeadsShown = 8;

std::vector<std::int64_t> lengths_of(const ProbeOptions& o, std::int64_t context) {
  std::vector<std::int64_t> lengths = o.lengths;
  if (lengths.empty())
    for (std::int64_t length = kShortest; length <= std::min(kLongest, context); length *= 2)
      lengths.push_back(length);
  if (lengths.empty())
    throw Error(ErrorCode::bad_argument,
                fmt::format("the context has room for {} tokens; --lengths was wanted", context));
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

std::vector<ProbeResult> earlier(const ProbeOptions& o, const Json& settings, std::size_t most) {
  std::vector<ProbeResult> results;
  if (!o.resume || !std::filesystem::exists(o.json)) return results;
  resume_from(o.json, kAuditSchema, settings, [&](const Json& json) {
    for (const Json& length : json.at("probe").at("lengths"))
      results.push_back(audit::probe_result_in(length));
  });
  if (results.size() > most)
    throw Error(ErrorCode::bad_file, fmt::format("{}: it has too many lengths", o.json));
  return results;
}

// Lengths that are done, and those that are not yet.
struct ProbeJob {
  const ProbeOptions& o;
  audit::Probe probe;
  std::int64_t heads = 0;
  std::vector<std::int64_t> lengths;
  Json settings;
  std::vector<ProbeResult> results;

  Json json() const {
    return {{"schema", kAuditSchema},
            {"sharpmax", version()},
            {"command", command_line()},
            {"created", utc_now()},
            {"settings", settings},
            {"complete", results.size() == lengths.size()},
            {"probe", audit::probe_section(probe, heads, results)}};
  }

  void save() const {
    if (!o.json.empty() && o.json != "-") write_text(o.json, json().dump(1) + "\n");
  }

  void run(model::Session& session) {
    Progress progress(Progress::Elsewhere::lines);
    double total = 0, before = 0;  // in tokens of one question a length: what work goes by
    for (std::size_t i = results.size(); i < lengths.size(); ++i) total += static_cast<double>(lengths[i]);
    const auto start = Clock::now();
    for (std::size_t i = results.size(); i < lengths.size(); ++i) {
      const auto length = static_cast<double>(lengths[i]);
      const auto show = [&](const audit::ProbeProgress& p) {
        const double done = before + length * static_cast<double>(p.done) / static_cast<double>(p.questions);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        progress.show(fmt::format("{} tokens: question {} of {}, {} left", grouped(lengths[i]), p.done,
                                  p.questions, duration(seconds * (total - done) / done)));
      };
      results.push_back(audit::measure_probe(session, probe, lengths[i], o.questions, show));
      before += length;
      save();
    }
    progress.show("");
  }
};

// What an interrupt will say, and where a resumed probe goes on.
void tell_resumption(const ProbeOptions& o, const ProbeJob& job) {
  if (o.json.empty() || o.json == "-")
    return cannot_resume(
        "nothing was saved; with --json FILE finished lengths are saved, and --resume goes on");
  can_resume("finished lengths are saved");
  if (o.resume)
    narrate(fmt::format("resuming: {} of {} lengths are measured", job.results.size(), job.lengths.size()));
}

std::string share_cell(const ProbeResult& r) {
  return fmt::format("{:.2f}", static_cast<double>(r.right) / static_cast<double>(r.questions));
}

std::string heads_table(const ProbeResult& result, std::int64_t heads, bool colour) {
  Table table({Align::right, Align::left, Align::right, Align::right, Align::right}, 3);
  table.add({{"head", Ink::bold},
             {"kind", Ink::bold},
             {"answering", Ink::bold},
             {"asking", Ink::bold},
             {"peak on it", Ink::bold}});
  for (const audit::ItemHead& head : audit::best_heads(result, heads, kHeadsShown))
    table.add({{fmt::format("{}.{}", head.place.layer, head.place.head)},
               {std::string(audit::name_of(head.kind))},
               {short_number(head.answering_weight)},
               {short_number(head.asking_weight)},
               {short_number(head.asking_first)}});
  return table.text(colour);
}

}  // namespace

std::string report_of(const audit::Probe& probe, const std::vector<ProbeResult>& results, std::int64_t heads,
                      bool colour) {
  Table table({Align::right, Align::right, Align::right, Align::left, Align::right, Align::left}, 3);
  table.add({{"length", Ink::bold},
             {"questions", Ink::bold},
             {"right", Ink::bold},
             {"95 %", Ink::bold},
             {"best weight", Ink::bold},
             {"head", Ink::bold}});
  for (const ProbeResult& r : results) {
    const audit::ItemHead best = audit::best_heads(r, heads, 1).front();
    table.add({{grouped(r.length)},
               {std::to_string(r.questions)},
               {share_cell(r)},
               {fmt::format("{:.2f} to {:.2f}", r.share.low, r.share.high)},
               {short_number(best.answering_weight)},
               {fmt::format("{}.{}", best.place.layer, best.place.head)}});
  }
  std::string text = fmt::format("Probe {}{}, exact match of the greedy answer\n", audit::name_of(probe.kind),
                                 probe.chat ? " in the chat template" : "");
  text += table.text(colour);
  if (results.empty()) return text;
  const ProbeResult& last = results.back();
  text += fmt::format("\nHeads that look at the right item, at {} tokens\n", grouped(last.length));
  text += heads_table(last, heads, colour);
  std::string kinds;
  for (const audit::HeadKind kind : audit::kHeadKinds)
    kinds +=
        fmt::format("{}{} {}", kinds.empty() ? "" : " · ", audit::name_of(kind), audit::heads_of(last, kind));
  text += "\nKinds while answering: " + kinds + "\n";
  text += "\n" +
          wrapped(
              "answering: mean weight on the item's tokens from the tokens of the right answer; asking: "
              "from the last token of the prompt; peak on it: how often that token's heaviest key is "
              "the item's") +
          "\n";
  return text;
}

void add_probe_options(CLI::App& words, ProbeOptions& o) {
  constexpr const char* kGroup = "Probe";
  words.add_option("--probe", o.kind, "Ask what is known: max (of a sequence) or lookup (of a key)")
      ->option_text("KIND")
      ->check(CLI::IsMember({"max", "lookup"}))
      ->group(kGroup);
  words.add_option("--questions", o.questions, "Of each length (default 40)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->group(kGroup)
      ->needs("--probe");
  words.add_flag("--chat", o.chat, "Ask in the model's chat template (ChatML only)")
      ->group(kGroup)
      ->needs("--probe");
  words.add_option("--question-seed", o.seed, "Of the questions (default 0)")
      ->option_text("N")
      ->group(kGroup)
      ->needs("--probe");
}

int audit_probe(const ModelOptions& m, const ProbeOptions& o) {
  const model::Model model = open_model(m);
  ProbeJob job{o, {audit::probe_kind_of(o.kind), o.chat, o.seed}, model.configuration().heads};
  job.lengths = lengths_of(o, context_of(model, m));
  job.settings = {
      {"model", model_json(model, m)},
      {"probe", {{"kind", o.kind}, {"chat", o.chat}, {"seed", o.seed}, {"questions", o.questions}}},
      {"lengths", job.lengths}};
  job.results = earlier(o, job.settings, job.lengths.size());
  const auto session = open_session(model, m, audit::probe_room(job.lengths.back()));
  tell_resumption(o, job);
  job.save();  // a file that cannot be written is known now
  job.run(*session);
  write_report_files(o.report, job.json());
  hand_over([&] { return job.json(); });
  print(o.json == "-" ? job.json().dump(1) + "\n"
                      : report_of(job.probe, job.results, job.heads, colour_wanted()));
  return kOk;
}

}  // namespace sharpmax::cli
