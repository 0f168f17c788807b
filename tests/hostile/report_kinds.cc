// Results of every smaller kind: each field that the page needs is missed, by name or by type, and what does
// not fit is left out and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "report/kind/kinds.h"
#include "report/view/written.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

Json of_a_command(const char* schema, Json more) {
  Json results{{"schema", schema}, {"sharpmax", "0"}, {"command", "c"}};
  results.update(more);
  return results;
}

Json demo() {
  return of_a_command("sharpmax.attend.demo/1", Json::parse(R"({"gap": 8, "seed": 1, "features": 64, "rows": [
    {"normalizer": "softmax", "n": 16, "peak_weight": 0.9, "peak_key": 8, "needle_key": 8, "needle_weight": 0.9,
     "needle_share": 0.9, "entropy": 0.1, "effective_support": 1.1, "support": 16, "mass": 1, "temperature": 1,
     "threshold": null}]})"));
}

Json spread() {
  return of_a_command("sharpmax.bound.spread/1",
                      Json::parse(R"({"spread": 5, "beta": 1, "scores": [-2.5, 2.5],
    "peak": 0.5, "softmax": [{"n": 16, "published": {"low": 0, "high": 9}, "tight": {"low": 0.1, "high": 0.9}}],
    "softmax_lost": {"peak": 0.5, "log10_n": 2, "log10_n_published": 3},
    "normalizers": [{"normalizer": "softmax", "ranges": [{"n": 16, "share": {"low": 0.1, "high": 0.9},
      "untied_low": 0.1, "ceiling": 0.9, "weight": {"low": 0.1, "high": 0.9}, "found_by": "search",
      "sums_to_one": true, "moves_with_level": false}], "loss": {"lost": 99, "regained": null, "sure": 2}}]})"));
}

Json model() {
  return of_a_command("sharpmax.bound.model/1", Json::parse(R"({"verdict": "v", "peak": 0.5, "beta": 1,
    "rope_scaling": null, "rope_base": null, "horizon": 1e6, "model": {"file": "m", "trained_context": 8},
    "heads": [{"layer": 0, "head": 0, "window": null, "norm_spread": 9, "norm_reached": 8, "vocabulary_spread": 7,
      "spread": 7, "log10_length": 3, "useful": true, "attained": {"length": 8, "spread": 5, "peak": 0.9,
        "query": {"token": 1, "text": "a"}, "high": {"token": 2, "text": "b", "offset": 1},
        "low": {"token": 3, "text": "c", "offset": 2}}}]})"));
}

Json losses() {
  return of_a_command("sharpmax.perplexity/1",
                      Json::parse(R"({"settings": {"model": {"file": "m"}, "text": "t"},
    "complete": true, "likeliest_right": 0.5,
    "all": {"from": 0, "to": 9, "tokens": 2, "loss": 1, "low": null, "high": null, "perplexity": 2.7},
    "buckets": [{"from": 0, "to": 9, "tokens": 2, "loss": 1, "low": null, "high": null, "perplexity": 2.7}],
    "chunks": [{"first": 0, "likeliest": 1, "losses": [0.5, 1.5]}]})"));
}

Json fix() {
  const Json change =
      Json::parse(R"({"from": 0, "to": 9, "tokens": 2, "plain": 1, "change": 0.1, "low": 0, "high": 0.2})");
  const Json flips = Json::parse(R"({"questions": 4, "plain": 1, "rule": 2, "up": 1, "down": 0, "p": 1})");
  Json by_length{{"length", 16}};
  by_length.update(flips);
  const Json part{{"text", change}, {"by_position", {change}}, {"task", flips}, {"by_length", {by_length}}};
  const Json table = Json::parse(R"({"schema": "sharpmax.normalizers/1", "default": "softmax",
    "layers": [{"layer": 1, "normalizer": "hard"}], "heads": [{"layer": 0, "head": 1, "normalizer": "relu"}]})");
  const Json trial{
      {"rule", "r"}, {"searched", false}, {"heads", 3}, {"rope_scaling", nullptr}, {"normalizers", table}};
  Json judged = trial;
  judged.update(
      {{"score", 0.1}, {"llama_cpp", nullptr}, {"against_nothing", {{"tuning", part}, {"held_out", part}}}});
  Json results = of_a_command("sharpmax.fix/1", Json::parse(R"({"complete": true,
    "settings": {"model": {"file": "m", "layers": 2, "heads": 2}, "text": "t", "task": null, "for": "both",
                 "tokens": 2, "length": 2, "seed": 0, "allow": 0.02, "budget": 0},
    "answer": {"verdict": "v", "leave_it": false, "chosen": "r", "use": "r", "rope_scaling": null, "llama_cpp": null,
      "finding": {"better": true, "loss_falls": false, "loss_rises": false, "task_gains": true, "task_loses": false,
                  "loss_allowed": true}},
    "survey": {"kind": ["a", "b", "c", "d"], "entropy_slope": [0, 1, null, 2]}})"));
  results["trials"] = Json::array({trial, judged});
  return results;
}

Json inspected() {
  return Json::parse(R"({"schema": "sharpmax.inspect/1", "sharpmax": "0", "path": "m.gguf", "format": {"name": "GGUF", "version": 3},
    "bytes": 1000, "architecture": {"name": "llama", "runs_here": false, "why_not": "no"},
    "shape": {"layers": 2, "width": 8, "query_heads": 4, "kv_heads": 2, "head_width": 4, "feed_forward": 16, "context": 64, "vocabulary": 5},
    "tokenizer": {"kind": "bpe", "pre": null, "description": null, "why_not": "no merges"},
    "types": [{"type": "F32", "tensors": 1, "elements": 4, "bytes": 16, "share": 1}],
    "tensors": [{"name": "blk.0.q", "type": "F32", "shape": [2, 2], "bytes": 16}],
    "metadata": [{"key": "k", "value": "v"}],
    "check": {"tensors": 1, "not_checked": 0, "bad": [{"name": "blk.0.q", "nan": 1, "infinite": 0, "first": 2}]}})");
}

Json trained_results() {
  return of_a_command("sharpmax.train/1", Json::parse(R"({"settings": {"task": {"task": "lookup", "largest_size": 16}}, "chance": 0.25,
    "subtasks": [{"name": "member", "chance": 0.5}],
    "models": [{"arm": "softmax", "seed": 0, "file": "models/softmax-0", "parameters": 9, "steps": 4, "tokens": 99, "loss": 0.5,
      "loss_curve": [[1, 2.0], [4, 0.5]], "normalizers": ["softmax"]}],
    "tables": [{"arm": "softmax", "seed": 0, "sizes": [16, 64], "answers": 64, "trials": 6, "loss_own": 0.5, "accuracy_own": 0.5,
      "loss": 0.4, "accuracy": 0.6, "heads": [{"layer": 0, "head": 0, "normalizer": "hard"}]}],
    "summary": [{"arm": "softmax", "subtask": "member", "normalizer": "softmax", "own": true, "n": 16, "seeds": 1, "answers": 64, "accuracy": 0.5,
      "accuracy_low": 0.4, "accuracy_high": 0.6, "dispersion": 0.2, "ranking": 0.2, "binding": 0.1, "averaging": 0.1, "right_weight": 0.5}],
    "results": [{"arm": "softmax", "subtask": "member", "normalizer": "softmax", "own": true, "n": 16, "answers": 64, "hard_right_rule_right": 26,
      "hard_right_rule_wrong": 13, "hard_wrong_rule_right": 6, "hard_wrong_rule_wrong": 19, "binding": 2,
      "heads": [{"layer": 0, "head": 0, "entropy": 1, "peak_weight": 0.5, "right_weight": 0.4, "fixed": 5}]}]})"));
}

const std::vector<Json>& every_kind() {
  static const std::vector<Json> kinds = {demo(), spread(), model(), losses(), fix(), inspected(), trained_results()};
  return kinds;
}

// Fields that may be missing, since a run may have nothing to say there: sections of what was not asked for
// or not finished, and what no page shows.
bool may_be_missing(const std::string& place) {
  for (const char* end : {"/attained", "/loss", "/all", "/held_out", "/finding", "/layers", "/fixed"})
    if (place.ends_with(end))
      return !place.ends_with("/heads/0/attained") && !place.ends_with("/all/loss") &&
             !place.ends_with("/buckets/0/loss") && !place.ends_with("/model/layers");
  return place == "/settings/text" || place.ends_with("/normalizers/schema") || place == "/schema" || place == "/format/version" ||
         place == "/check" || place == "/results/0/binding";
}

// Every place of the results, in turn.
void for_each_place(const Json& results,
                    const std::function<void(const Json::json_pointer&, const Json&)>& visit) {
  const Json flat = results.flatten();
  std::vector<std::string> seen;
  for (const auto& [leaf, value] : flat.items()) {
    for (auto place = Json::json_pointer(leaf); !place.empty(); place = place.parent_pointer()) {
      const std::string name = place.to_string();
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      if (results.at(place.parent_pointer()).is_object()) visit(place, results.at(place));
    }
  }
}

std::string refusal_of_kind(const Json& results) {
  try {
    view_of(results);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.what();
  }
}

TEST(ReportKinds, EachIsTakenAsItIs) {
  for (const Json& results : every_kind()) EXPECT_EQ(refusal_of_kind(results), "") << results.at("schema");
}

TEST(ReportKinds, EachMissingFieldIsRefusedAndNamed) {
  int refused = 0;
  for (const Json& whole : every_kind())
    for_each_place(whole, [&](const Json::json_pointer& place, const Json&) {
      if (may_be_missing(place.to_string())) return;
      Json results = whole;
      results.at(place.parent_pointer()).erase(place.back());
      const std::string sentence = refusal_of_kind(results);
      EXPECT_EQ(sentence.find("report: the results are not of schema"), 0u) << whole.at("schema") << place;
      EXPECT_NE(sentence.find(place.back()), std::string::npos) << place << ": " << sentence;
      ++refused;
    });
  EXPECT_GT(refused, 130);
}

// A text where a number should be, and a number where a text should be; lists and objects in both places.
TEST(ReportKinds, EachFieldOfAnotherTypeIsRefused) {
  for (const Json& whole : every_kind())
    for_each_place(whole, [&](const Json::json_pointer& place, const Json& value) {
      const std::string name = place.to_string();
      if (name == "/schema" || name == "/settings/text" || name.ends_with("/normalizers/schema")) return;
      if (name == "/metadata/0/value") return;  // of a file: anything
      if (value.is_null()) return;
      Json results = whole;
      results.at(place) = value.is_string() ? Json(1) : Json("x");
      EXPECT_NE(refusal_of_kind(results), "") << whole.at("schema") << name;
      if (value.is_structured()) return;
      results.at(place) = Json::array({Json::object()});
      EXPECT_NE(refusal_of_kind(results), "") << whole.at("schema") << name;
    });
}

TEST(ReportKinds, SizesThatNoAxisHasAreRefused) {
  const auto with = [](Json results, const char* place, const Json& value) {
    results.at(Json::json_pointer(place)) = value;
    return refusal_of_kind(results);
  };
  for (const Json& none : {Json(0), Json(-4), Json()}) {
    EXPECT_NE(with(demo(), "/rows/0/n", none), "");
    EXPECT_NE(with(spread(), "/normalizers/0/ranges/0/n", none), "");
    EXPECT_NE(with(losses(), "/buckets/0/to", none), "");
    EXPECT_NE(with(fix(), "/trials/1/against_nothing/held_out/by_position/0/to", none), "");
  }
  EXPECT_NE(with(fix(), "/settings/model/heads", Json(std::int64_t{1} << 40)).find("heads"),
            std::string::npos);
  EXPECT_NE(with(fix(), "/trials/1/normalizers/heads/0/layer", Json(2)).find("head 2.1"), std::string::npos);
  EXPECT_NE(with(fix(), "/survey/kind", Json::array({"a"})).find("kind of 1 heads"), std::string::npos);
}

TEST(ReportKinds, TablesOfNormalizersAreSpreadOverHeads) {
  Json results = fix();
  results["trials"][0]["normalizers"] = Json::parse(R"({"default": "softmax", "heads": []})");
  const Json view = to_json(view_of(results));
  for (const Json& section : view.at("sections")) {
    if (section.at("id") != "heads") continue;
    const Json& grid = section.at("items")[0].at("options")[0].at("items")[0];
    EXPECT_EQ(grid.at("texts"), Json::parse(R"(["Head 0.0, a: softmax", "Head 0.1, b: relu", "Head 1.0, c: hard", "Head 1.1, d: hard"])"));
    EXPECT_EQ(grid.at("cells")[0], Json::parse("[0.0, 0.0, 0.0, 0.0]"));
    EXPECT_EQ(grid.at("cells")[3], Json::parse("[1.0, 1.0, 1.0, 1.0]"));
    return;
  }
  FAIL() << "no section of heads";
}

TEST(ReportKinds, UnfinishedRunsAreTaken) {
  Json unread = losses();
  for (const char* name : {"all", "buckets", "likeliest_right"}) unread.erase(name);
  unread["chunks"] = Json::array();
  unread["complete"] = false;
  EXPECT_EQ(refusal_of_kind(unread), "");
  Json untried = fix();
  untried["complete"] = false;
  for (const char* name : {"answer", "survey"}) untried.erase(name);
  for (const char* name : {"score", "llama_cpp", "against_nothing"}) untried["trials"][1].erase(name);
  EXPECT_EQ(refusal_of_kind(untried), "");
}

// A list made long, and how little of it fits.
TEST(ReportKinds, WhatDoesNotFitIsLeftOutAndNamed) {
  constexpr std::size_t kSmall = 20'000;
  std::mt19937 source(1);  // numbers that no compression makes short
  const auto many = [&](Json results, const char* place, int times) {
    Json& list = results.at(Json::json_pointer(place));
    const Json last = list.back();
    for (int i = 1; i < times; ++i) {
      list.push_back(last);
      for (auto& [name, value] : list.back().items()) {
        if (value.is_number() && name != "heads") value = 1.0 + source() / 1e9;
        if (name == "losses") value = {source() / 1e9, source() / 1e9};
      }
    }
    return results;
  };
  Json searched = fix();
  searched["trials"][1]["searched"] = true;
  searched["answer"]["chosen"] = "another";
  const std::vector<Json> all = {many(demo(), "/rows", 2000),
                                 many(spread(), "/normalizers/0/ranges", 2000),
                                 many(model(), "/heads", 2000),
                                 many(losses(), "/chunks", 2000),
                                 many(searched, "/trials", 2000)};
  for (const Json& results : all) {
    const View whole = view_of(results);
    View view = whole;
    leave_out_beyond(view, kSmall);
    EXPECT_LT(bytes_in_page(to_json(view)), kSmall + 500) << results.at("schema");
    EXPECT_FALSE(view.left_out.empty()) << results.at("schema");
    view = whole;
    leave_out_beyond(view, 100'000'000);
    EXPECT_TRUE(view.left_out.empty()) << results.at("schema");
  }
}

}  // namespace
}  // namespace sharpmax::report
