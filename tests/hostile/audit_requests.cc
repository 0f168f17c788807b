// Requests for audits that cannot be carried out, and JSON that is not their results: one sentence each, never a crash.
#include <gtest/gtest.h>

#include <functional>

#include "support/audit_jobs.h"

namespace sharpmax::test {
namespace {

struct WrongField {
  const char* name;
  std::function<void(Json&)> spoil;
  const char* words;
};

template <class Read>
void expect_bad_file(const Json& good, const Read& read, const std::vector<WrongField>& defects) {
  EXPECT_NO_THROW(read(good));
  for (const WrongField& defect : defects) {
    SCOPED_TRACE(defect.name);
    Json bad = good;
    defect.spoil(bad);
    try {
      read(bad);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
      EXPECT_NE(std::string(error.what()).find(defect.words), std::string::npos) << error.what();
    }
  }
}

TEST(HostileAuditResults, ByLength) {
  const TinyAudits tiny("hostile-audit");
  const Json good = to_json(audit_model(tiny.audit()));
  expect_bad_file(
      good, audit_result,
      {{"another schema", [](Json& j) { j["schema"] = "sharpmax.fix/1"; }, "expected sharpmax.audit/1"},
       {"no object", [](Json& j) { j = Json::array(); }, "not results of schema sharpmax.audit/1"},
       {"no settings", [](Json& j) { j.erase("settings"); }, "'settings' not found"},
       {"of a probe", [](Json& j) { j["settings"]["probe"] = Json::object(); }, "results of a probe; expected an audit by"},
       {"lengths that are words", [](Json& j) { j["settings"]["lengths"] = {"a"}; }, "must be number"},
       {"an unknown kind", [](Json& j) { j["attention"]["heads"][0]["kind"] = "<b>"; },
        "kind of a head is '<b>'; it must be one of sink, local"},
       {"an unknown blunting", [](Json& j) { j["attention"]["heads"][0]["blunting"]["how"] = "x"; },
        "how of a head is 'x'; it must be one of from the start"},
       {"a head too few", [](Json& j) { j["attention"]["heads"].erase(3); }, "7 heads; their model has 2 layers of 4"},
       {"heads in another order", [](Json& j) { std::swap(j["attention"]["heads"][0], j["attention"]["heads"][1]); },
        "the head at place 0 is 0.1"},
       {"no layers", [](Json& j) { j["settings"]["model"]["heads"] = 0; }, "2 layers of 0"},
       {"a median too few", [](Json& j) { j["attention"]["heads"][0]["peak"]["median"].erase(1); }, "out of range"},
       {"medians over heads", [](Json& j) { j["attention"]["median_over_heads"]["peak"].erase(1); }, "it must have 3"},
       {"counts of blunt heads", [](Json& j) { j["attention"]["blunt_heads"].push_back(1); }, "blunt_heads has 4 lengths"},
       {"no length", [](Json& j) { j["attention"]["lengths"] = Json::array(); }, "no length"},
       {"a map of no size", [](Json& j) { j["sketches"]["map_size"] = 0; }, "map_size is 0; it must be from 1 to 48"},
       {"a map of any size", [](Json& j) { j["sketches"]["map_size"] = std::int64_t{1} << 40; }, "map_size is"},
       {"cells that are not base64", [](Json& j) { j["sketches"]["heads"][0]["map"]["cells"] = "<b>"; }, "1176 cells"},
       {"cells too few", [](Json& j) { j["sketches"]["heads"][0]["map"]["cells"] = "Zg=="; }, "1176 cells"},
       {"too many keys",
        [](Json& j) { j["sketches"]["heads"][0]["top"][2]["keys"] = {1, 2, 3, 4, 5, 6}; }, "6 heaviest keys"},
       {"fewer weights than keys", [](Json& j) { j["sketches"]["heads"][0]["top"][2]["weights"] = Json::array(); },
        "out of range"},
       {"a sketch too many", [](Json& j) { j["sketches"]["heads"].push_back(j["sketches"]["heads"][0]); }, "9 heads"}});
}

TEST(HostileAuditResults, OfAnAnalysis) {
  const TinyAudits tiny("hostile-analysis");
  const Json good = to_json(analyze_model(tiny.analysis()));
  expect_bad_file(
      good, analysis_result,
      {{"of an audit by length", [](Json& j) { j["settings"].erase("analysis"); }, "an audit by length; expected an"},
       {"complete without an analysis", [](Json& j) { j.erase("analysis"); }, "'analysis' not found"},
       {"a curve too short", [](Json& j) { j["analysis"]["distance_top"]["same_rows"]["sum"].erase(1); },
        "distance_top: a curve has 2 points; it must have 3"},
       {"a curve of critical N", [](Json& j) { j["analysis"]["critical_top"]["norm"]["against_drawn_bound"].clear(); },
        "critical_top: a curve has 0 points"},
       {"gradients without a step", [](Json& j) { j["analysis"]["gradient"]["steps"].erase(0); },
        "gradient: a curve has 30 points; it must have 20"},
       {"a finding without a rule", [](Json& j) { j["analysis"]["findings"][0].erase("rule"); }, "'rule' not found"},
       {"a spread that is a word", [](Json& j) { j["analysis"]["separability"]["points"][0]["share"] = "x"; },
        "not results of schema"}});
}

TEST(HostileAuditResults, OfAProbe) {
  const TinyAudits tiny("hostile-probe");
  const Json good = to_json(probe_model(tiny.probe()));
  const auto first = [](Json& j) -> Json& { return j["probe"]["lengths"][0]; };
  expect_bad_file(
      good, probe_result,
      {{"of an analysis", [](Json& j) { j["settings"] = {{"analysis", "all"}}; }, "an analysis; expected a probe"},
       {"more lengths than asked for", [&](Json& j) { j["settings"]["lengths"] = {150}; },
        "2 lengths; they must have at most 1"},
       {"a head too few", [&](Json& j) { first(j)["asking_weight"].erase(0); }, "7 heads"},
       {"signs of other heads", [&](Json& j) { first(j)["answering_signs"]["first"].erase(0); }, "one number per head"},
       {"no heads in a layer", [](Json& j) { j["settings"]["model"]["heads"] = 0; }, "2 layers of 0"},
       {"lengths that are an object", [](Json& j) { j["probe"]["lengths"] = Json::object(); }, "not results of schema"},
       {"a number of questions in words", [&](Json& j) { first(j)["questions"] = "x"; }, "not results of schema"}});
}

// The sentence in each language.
struct Spoken {
  std::string cpp, python, command_line;
};

template <class Call>
void expect_spoken(const Call& call, const Spoken& words) {
  try {
    call();
    ADD_FAILURE() << "was accepted; expected: " << words.cpp;
  } catch (const RequestError& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_EQ(error.what(), words.cpp);
    EXPECT_EQ(error.spoken(Speech::python), words.python);
    EXPECT_EQ(error.spoken(Speech::command_line), words.command_line);
  }
}

TEST(HostileAuditRequests, SentencesNameFieldsAsEachLanguageDoes) {
  const TinyAudits tiny("hostile-requests");
  const auto audit = [&](const auto& change) {
    AuditRequest request = tiny.audit();
    change(request);
    return [request] { audit_model(request); };
  };
  const auto analysis = [&](const auto& change) {
    AnalysisRequest request = tiny.analysis();
    change(request);
    return [request] { analyze_model(request); };
  };
  const auto probe = [&](const auto& change) {
    ProbeRequest request = tiny.probe();
    change(request);
    return [request] { probe_model(request); };
  };
  expect_spoken(audit([](AuditRequest& r) { r.saving.resume = true; }),
                {"resume goes with json or directory", "resume=True goes with json= or directory=",
                 "--resume goes with --json FILE or --directory DIR"});
  expect_spoken(audit([](AuditRequest& r) { r.lengths = {64, 8}; }),
                {"lengths is 8; it must be from 16 to 1073741824", "lengths is 8; it must be from 16 to 1073741824",
                 "--lengths is 8; it must be from 16 to 1073741824"});
  expect_spoken(audit([](AuditRequest& r) { r.threshold = std::nan(""); }),
                {"threshold is nan; it must be from 1e-09 to 1", "threshold is nan; it must be from 1e-09 to 1",
                 "--threshold is nan; it must be from 1e-09 to 1"});
  expect_spoken(audit([](AuditRequest& r) { r.text = {}; }),
                {"no text was given; text must name one", "no text was given; text= must name one",
                 "no text was given; --text FILE must name one"});
  expect_spoken([] { parse_head("one", 2, 4); },
                {"head is 'one'; expected LAYER.HEAD, both counted from 0, such as 3.5",
                 "head is 'one'; expected LAYER.HEAD, both counted from 0, such as 3.5",
                 "--head is 'one'; expected LAYER.HEAD, both counted from 0, such as 3.5"});
  const std::string none = ": there is no such head; layers go from 0 to 1 and heads from 0 to 3";
  expect_spoken([] { parse_head("2.0", 2, 4); }, {"head = 2.0" + none, "head='2.0'" + none, "--head 2.0" + none});
  expect_spoken(analysis([](AnalysisRequest& r) { r.saving.resume = true; }),
                {"analysis excludes resume: an analysis cannot be resumed",
                 "analysis excludes resume=True: an analysis cannot be resumed",
                 "--analysis excludes --resume: an analysis cannot be resumed"});
  expect_spoken(analysis([](AnalysisRequest& r) { r.model.block = 16; }),
                {"analysis excludes block: the rows of a layer are analyzed together",
                 "analysis excludes block: the rows of a layer are analyzed together",
                 "--analysis excludes --block: the rows of a layer are analyzed together"});
  const std::string names =
      ": unknown analysis 'x'; it must be one of distance-length, distance-top, critical-top, separability, gradient, all";
  expect_spoken(analysis([](AnalysisRequest& r) { r.choices.analysis = "all,x"; }),
                {"analysis" + names, "analysis" + names, "--analysis" + names});
  expect_spoken(analysis([](AnalysisRequest& r) { r.choices.vectors = "keys"; }),
                {"vectors is 'keys'; it must be values or hidden", "vectors is 'keys'; it must be values or hidden",
                 "--vectors is 'keys'; it must be values or hidden"});
  expect_spoken(probe([](ProbeRequest& r) { r.questions.probe = "min"; }),
                {"probe is 'min'; it must be max or lookup", "probe is 'min'; it must be max or lookup",
                 "--probe is 'min'; it must be max or lookup"});
  expect_spoken(probe([](ProbeRequest& r) { r.questions.probe.clear(); }),
                {"no probe was named; probe must be max or lookup", "no probe was named; probe must be max or lookup",
                 "no probe was named; --probe must be max or lookup"});
  const std::string room = "the context has room for 100 tokens, and the shortest prompt has 128; ";
  expect_spoken(probe([](ProbeRequest& r) {
                  r.model.context = 100;
                  r.lengths.clear();
                }),
                {room + "lengths must name shorter ones", room + "lengths must name shorter ones",
                 room + "--lengths must name shorter ones"});
}

TEST(HostileAuditRequests, TheRowsBesideTheResultsAreNotReplacedIfTheyAreSomethingElse) {
  const TinyAudits tiny("hostile-rows");
  AuditRequest request = tiny.audit();
  request.saving.json = tiny.file("a.json");
  put(request.saving.json + kRowsEnding, "letters");
  try {
    audit_model(request);
    ADD_FAILURE() << "was accepted";
  } catch (const RequestError& error) {
    EXPECT_NE(error.spoken(Speech::python).find("a.json.rows.npz' exists and is not a .npz file"), std::string::npos);
    EXPECT_NE(error.spoken(Speech::python).find("overwrite=True"), std::string::npos);
  }
}

}  // namespace
}  // namespace sharpmax::test
