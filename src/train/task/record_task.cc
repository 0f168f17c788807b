// Tasks that are lists of records: a user's own file, and CLRS-Text.
//
// A file has JSON lines, each with a size, a prompt and its answer, words between spaces.
//
//   {"size": 4, "prompt": "a 3 b 1 c 7 d 2 ? c", "answer": "7"}
//
// Every word is a token. An answer of several words is asked word by word. Prompts of one size are filled up at their
// beginning to the longest. Sizes of the training: one record in five is kept for the test.
//
// clrs:NAME is a task of CLRS-Text without traces, at the sizes and seeds of its paper. Numbers, names and marks are
// tokens.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "storage/files.h"
#include "train/clrs/clrs_text.h"
#include "train/task/task.h"

namespace sharpmax::train {
namespace {

constexpr std::string_view kClrs = "clrs:";
constexpr std::int64_t kHeldOut = 5;  // one record in so many, of sizes that are trained
constexpr std::int64_t kTrained = 16;  // largest size of the training unless it is given

struct Record {
  std::vector<std::int32_t> prompt, answer;
  std::size_t line = 0;
};

// All records of one size.
struct SizeRecords {
  std::vector<Record> records;
  std::size_t prompt = 0;  // words of the longest
  std::size_t answer = 0;  // words of each
  std::optional<std::int64_t> held;  // the first so many are for tests; empty: by the settings
};

struct TaskFile {
  std::string path;
  std::vector<std::string> words = {"-"};  // the first fills up
  std::map<std::string, std::int32_t> tokens = {{"-", 0}};
  std::vector<std::int32_t> answers;            // tokens, by class
  std::map<std::int32_t, std::int32_t> classes;  // by token
  std::map<std::int64_t, SizeRecords> sizes;
  std::int64_t records = 0;

  std::int64_t records_of(std::int64_t size) const { return static_cast<std::int64_t>(sizes.at(size).records.size()); }
};

// Collects records and their words.
class Collector {
 public:
  explicit Collector(const std::string& name) { file_.path = name; }

 protected:
  std::int32_t token_of(const std::string& word) {
    const auto [at, fresh] = file_.tokens.try_emplace(word, static_cast<std::int32_t>(file_.words.size()));
    if (fresh) file_.words.push_back(word);
    return at->second;
  }
  void keep(SizeRecords& same, Record record) {
    same.answer = record.answer.size();
    same.prompt = std::max(same.prompt, record.prompt.size());
    for (const std::int32_t token : record.answer)
      if (file_.classes.try_emplace(token, static_cast<std::int32_t>(file_.answers.size())).second) file_.answers.push_back(token);
    same.records.push_back(std::move(record));
    ++file_.records;
  }

  TaskFile file_;
};

class Reader : public Collector {
 public:
  using Collector::Collector;

  TaskFile read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") != std::string::npos) add(line);
    }
    if (file_.sizes.empty()) throw Error(ErrorCode::bad_file, fmt::format("{}: there is no record", file_.path));
    if (file_.answers.size() < 2)
      throw Error(ErrorCode::bad_file, fmt::format("{}: all answers are {}; at least two words must be answers", file_.path,
                                                   in_quotes(file_.words[to_size(file_.answers.front())])));
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::bad_file, fmt::format("{}, line {}: {}", file_.path, line_, what));
  }

  std::vector<std::int32_t> words_of(const nlohmann::json& record, const char* name) {
    const auto found = record.find(name);
    if (found == record.end()) refuse(fmt::format("{} is missing", name));
    if (!found->is_string()) refuse(fmt::format("{} must be text", name));
    std::istringstream words(found->get<std::string>());
    std::vector<std::int32_t> tokens;
    for (std::string word; words >> word;) tokens.push_back(token_of(word));
    if (tokens.empty()) refuse(fmt::format("{} is empty", name));
    return tokens;
  }

  void add(const std::string& line) {
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object()) refuse("not an object of JSON; expected {\"size\": N, \"prompt\": TEXT, \"answer\": TEXT}");
    const auto size = record.find("size");
    if (size == record.end()) refuse("size is missing");
    if (!size->is_number_integer() || size->get<std::int64_t>() < 1 || size->get<std::int64_t>() > (1 << 24))
      refuse("size must be a whole number from 1 to 16777216");
    Record made{words_of(record, "prompt"), words_of(record, "answer"), line_};
    SizeRecords& same = file_.sizes[size->get<std::int64_t>()];
    if (!same.records.empty() && same.answer != made.answer.size())
      refuse(fmt::format("the answer has {} words, and that of line {}, of the same size, {}", made.answer.size(),
                         same.records.front().line, same.answer));
    keep(same, std::move(made));
  }

  std::size_t line_ = 0;
};

// The sizes of the paper: trained on ten up to 31 with seed 0, tested with five other seeds. Trained records are fewer than
// its 10,000 per size.
class ClrsCollector : public Collector {
 public:
  explicit ClrsCollector(const std::string& name) : Collector(name), algorithm_(clrs_algorithm(name.substr(kClrs.size()))) {}

  TaskFile collect() {
    for (const std::int64_t size : {4, 8, 16, 24, 31, 40, 48, 64}) {
      for (const std::uint32_t seed : {3, 14, 35, 81, 94}) add(size, seed, 125);
      file_.sizes[size].held = file_.records_of(size);
    }
    for (const std::int64_t size : {4, 5, 10, 11, 12, 15, 19, 23, 28, 31}) {
      if (!file_.sizes[size].held) file_.sizes[size].held = 0;
      add(size, 0, 2000);
    }
    return std::move(file_);
  }

 private:
  void add(std::int64_t size, std::uint32_t seed, int count) {
    RandomState random(seed);
    for (int i = 0; i < count; ++i) {
      ClrsExample example = clrs_example(algorithm_, random, size, Traces::without);
      example.answer.erase(example.answer.find_last_not_of('\n') + 1);
      Record record;
      for (const std::string& token : clrs_tokens(example.question)) record.prompt.push_back(token_of(token));
      for (const std::string& token : clrs_tokens(example.answer)) record.answer.push_back(token_of(token));
      keep(file_.sizes[size], std::move(record));
    }
  }

  const ClrsAlgorithm& algorithm_;
};

class FromFile : public Task {
 public:
  FromFile(std::shared_ptr<const TaskFile> file, const TaskSettings& settings) : file_(std::move(file)), s_(settings) {}

  TaskShape shape() const override {
    return {.vocabulary = static_cast<std::int64_t>(file_->words.size()), .classes = static_cast<std::int64_t>(file_->answers.size())};
  }
  std::vector<std::int64_t> sizes() const override {
    std::vector<std::int64_t> all;
    for (const auto& [size, records] : file_->sizes) all.push_back(size);
    return all;
  }
  std::vector<std::int64_t> places(std::int64_t n, Asking) const override {
    const SizeRecords& of = file_->sizes.at(n);
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < of.answer; ++i) all.push_back(static_cast<std::int64_t>(of.prompt + i) - 1);
    return all;
  }
  std::int64_t content(std::int64_t n) const override { return static_cast<std::int64_t>(file_->sizes.at(n).prompt); }
  std::int64_t sequences(std::int64_t n, Asking asking) const override {
    const std::int64_t all = file_->records_of(n);
    const std::int64_t held = file_->sizes.at(n).held.value_or(n > s_.largest_size ? all : all / kHeldOut);
    return asking == Asking::test ? held : all - held;
  }

  void draw(std::int64_t n, Asking asking, Draw& draw, const Sequence& out) const override {
    const SizeRecords& of = file_->sizes.at(n);
    const std::int64_t held = sequences(n, Asking::test), rest = sequences(n, Asking::training);
    const std::int64_t at = asking == Asking::test ? out.number % held : held + draw.below(rest);
    const Record& record = of.records[to_size(at)];
    const std::size_t filled = of.prompt - record.prompt.size();
    std::fill_n(out.tokens.begin(), filled, 0);
    std::copy(record.prompt.begin(), record.prompt.end(), out.tokens.begin() + static_cast<std::ptrdiff_t>(filled));
    for (std::size_t i = 0; i < of.answer; ++i) {
      if (i + 1 < of.answer) out.tokens[of.prompt + i] = record.answer[i];
      out.answers[i] = file_->classes.at(record.answer[i]);
      out.right[i] = -1;
    }
  }
  std::string token_text(std::int32_t token) const override { return file_->words[to_size(token)]; }
  std::int32_t token_of_answer(std::int32_t answer) const override { return file_->answers[to_size(answer)]; }

 private:
  std::shared_ptr<const TaskFile> file_;
  TaskSettings s_;
};

struct KnownFile {
  std::string text;
  std::shared_ptr<const TaskFile> file;
  TaskKind kind;
};
std::mutex known_mutex;
std::map<std::string, std::vector<std::unique_ptr<KnownFile>>, std::less<>> known_files;  // kinds live as long as the program

std::unique_ptr<Task> make(const TaskSettings& settings) {
  const std::lock_guard guard(known_mutex);
  return std::make_unique<FromFile>(known_files.at(settings.task).back()->file, settings);
}

std::unique_ptr<KnownFile> read_records(const std::string& name, std::string text) {
  const bool clrs = name.starts_with(kClrs);
  auto known = std::make_unique<KnownFile>();
  known->file = std::make_shared<const TaskFile>(clrs ? ClrsCollector(name).collect() : Reader(name).read(text));
  known->text = std::move(text);
  const TaskFile& file = *known->file;
  std::int64_t largest = file.sizes.begin()->first;
  for (const auto& [size, records] : file.sizes) {
    if (clrs ? records.held < file.records_of(size) : size <= kTrained) largest = size;
    if (records.held != 0) known->kind.sizes.push_back(size);
  }
  known->kind.name = file.path;
  known->kind.meaning = "records of a file";
  // Counts of the file stand among the settings, so that a run is not resumed with another file of that name.
  known->kind.defaults = {.keys = static_cast<std::int64_t>(file.words.size()),
                          .values = static_cast<std::int64_t>(file.answers.size()),
                          .questions = file.records,
                          .least_size = file.sizes.begin()->first,
                          .largest_size = largest};
  known->kind.decoder = {.layers = 2, .width = 128, .heads = 4, .local_heads = 2, .head_width = 32};
  known->kind.steps = 2000;
  known->kind.make = make;
  return known;
}

}  // namespace

bool names_records(std::string_view task) {
  return task.starts_with(kClrs) || task.find('/') != std::string_view::npos || task.ends_with(".jsonl");
}

const TaskKind& record_task_kind(std::string_view name) {
  std::string text = name.starts_with(kClrs) ? "" : read_text(std::filesystem::path(name));
  const std::lock_guard guard(known_mutex);
  auto& versions = known_files[std::string(name)];
  if (versions.empty() || versions.back()->text != text) versions.push_back(read_records(std::string(name), std::move(text)));
  return versions.back()->kind;
}

}  // namespace sharpmax::train
