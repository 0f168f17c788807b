// `sharpmax bound --attack`: how near a search comes to breaking each bound.
#include <fmt/format.h>

#include <cmath>

#include "cli/bound.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "sharpmax/machine.h"
#include "storage/files.h"
#include "theory/attack.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kSchema = "sharpmax.bound.attack/1";
constexpr int kStarts = 24;
constexpr double kRounding = 1e-9;

struct Outcome {
  theory::Attack attack;
  double reached = 0.0;

  bool broken() const { return !(reached <= 1.0 + kRounding); }
  bool surprising() const { return broken() && attack.holds; }
  const char* verdict() const {
    if (surprising()) return "BROKEN";
    if (broken()) return "no bound";
    return attack.holds ? "holds" : "not broken";
  }
};

Json to_json(const std::vector<Outcome>& outcomes, std::uint64_t seed) {
  Json json{{"schema", kSchema},
            {"sharpmax", version()},
            {"command", command_line()},
            {"created", utc_now()},
            {"seed", seed},
            {"starts", kStarts},
            {"spread", theory::kAttackedSpread},
            {"n", theory::kAttackedKeys}};
  json["attacks"] = Json::array();
  for (const Outcome& o : outcomes)
    json["attacks"].push_back({{"bound", o.attack.bound},
                               {"source", o.attack.source},
                               {"claimed", o.attack.holds},
                               {"reached", o.reached},
                               {"verdict", o.verdict()}});
  return json;
}

std::string report_of(const std::vector<Outcome>& outcomes, bool colour) {
  Table table({Align::left, Align::left, Align::right, Align::left});
  table.add({{"bound", Ink::bold}, {"from", Ink::bold}, {"reached", Ink::bold}, {"", Ink::bold}});
  for (const Outcome& o : outcomes)
    table.add({{o.attack.bound},
               {o.attack.source},
               {fmt::format("{:.3f}", o.reached)},
               {o.verdict(), o.surprising() ? Ink::red : Ink::plain}});
  return table.text(colour) + "\n" +
         wrapped(fmt::format(
             "reached: the largest value / bound that a search found, uphill from {} places. 1.000 "
             "is tight, more breaks it. Scores at most {} apart, {} keys.",
             kStarts, theory::kAttackedSpread, theory::kAttackedKeys)) +
         "\n";
}

}  // namespace

int run_attacks(const BoundOptions& o) {
  check_files(o, kSchema);
  cannot_resume("bound has no --resume, and what was tried so far is lost");
  std::vector<Outcome> outcomes;
  {
    Progress progress;
    for (theory::Attack& attack : theory::attacks()) {
      progress.show(attack.bound);
      const double reached = theory::reached(attack, o.seed, kStarts);
      outcomes.push_back({std::move(attack), reached});
    }
  }
  const Json results = to_json(outcomes, o.seed);
  if (!o.json.empty() && o.json != "-") write_text(o.json, results.dump(1) + "\n");
  write_report_files(o.report, results);
  hand_over([&] { return results; });
  if (o.json == "-")
    print(json_text(results));
  else
    print(report_of(outcomes, colour_wanted()));
  for (const Outcome& outcome : outcomes)
    if (outcome.surprising()) return kCheckFailed;
  return kOk;
}

}  // namespace sharpmax::cli
