#include "audit/probe/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "base/in_quotes.h"
#include "base/random.h"
#include "model/generation/generate.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

// Common words, so that they are few tokens in any vocabulary.
constexpr std::array<std::string_view, 40> kFirst = {
    "red",    "blue",  "green",  "white",  "black",  "brown",   "golden", "silver", "tall",   "short",
    "young",  "old",   "happy",  "quiet",  "brave",  "clever",  "gentle", "proud",  "hungry", "sleepy",
    "lucky",  "lazy",  "wild",   "tiny",   "giant",  "warm",    "cold",   "soft",   "heavy",  "bright",
    "hidden", "royal", "simple", "modern", "secret", "strange", "famous", "broken", "round",  "northern"};
constexpr std::array<std::string_view, 155> kSecond = {
    "apple",   "river",    "table",   "horse",   "window",   "garden",  "doctor",  "bridge",   "candle",
    "flower",  "engine",   "island",  "market",  "bottle",   "camera",  "castle",  "forest",   "guitar",
    "hammer",  "jacket",   "ladder",  "lemon",   "mirror",   "museum",  "needle",  "ocean",    "orange",
    "palace",  "pencil",   "pepper",  "pillow",  "planet",   "pocket",  "rabbit",  "school",   "shadow",
    "spider",  "spoon",    "stone",   "summer",  "temple",   "ticket",  "tiger",   "tower",    "train",
    "turtle",  "valley",   "violin",  "wagon",   "wheel",    "winter",  "wolf",    "anchor",   "basket",
    "button",  "carpet",   "desert",  "dragon",  "eagle",    "farmer",  "hotel",   "kitten",   "lawyer",
    "soldier", "actor",    "airport", "album",   "apron",    "artist",  "autumn",  "badge",    "baker",
    "balloon", "banker",   "barrel",  "bedroom", "bicycle",  "blanket", "board",   "boat",     "bowl",
    "branch",  "brother",  "cabin",   "cactus",  "canal",    "canoe",   "chair",   "cheese",   "church",
    "circle",  "clock",    "cloud",   "coach",   "coffee",   "compass", "copper",  "corner",   "cotton",
    "cousin",  "cricket",  "crown",   "curtain", "dancer",   "diamond", "dinner",  "doll",     "donkey",
    "door",    "drum",     "editor",  "elbow",   "envelope", "fabric",  "factory", "feather",  "fence",
    "finger",  "fountain", "fox",     "gallery", "gate",     "ghost",   "giraffe", "glove",    "goat",
    "grape",   "harbor",   "helmet",  "honey",   "jungle",   "kettle",  "king",    "lake",     "lamp",
    "leopard", "library",  "lion",    "magnet",  "meadow",   "medal",   "monkey",  "mountain", "novel",
    "onion",   "owl",      "painter", "panda",   "parrot",   "piano",   "pirate",  "poet",     "potato",
    "prince",  "pumpkin"};
constexpr std::int64_t kSingleWords = static_cast<std::int64_t>(kSecond.size());
constexpr std::int64_t kNames = static_cast<std::int64_t>(kFirst.size() * kSecond.size());
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 20;
constexpr std::uint32_t kLargestNumber = 999, kLowestCode = 1000, kCodes = 9000;

enum Stream : std::uint64_t { kNameOrder = 1, kCodeDraws, kNumbers, kAsked };

CounterRandom draws(std::uint64_t seed, Stream stream, std::uint64_t context) {
  return {seed, (context << 8) | stream};
}

// A single word where these are enough.
std::string name_at(std::int64_t place, std::int64_t items) {
  const auto at = static_cast<std::size_t>(place);
  if (items <= kSingleWords) return std::string(kSecond[at]);
  return fmt::format("{} {}", kFirst[at / kSecond.size()], kSecond[at % kSecond.size()]);
}

// The first `count` of 0 .. all - 1 shuffled, by Fisher and Yates.
std::vector<std::int64_t> shuffled(const CounterRandom& random, std::int64_t all, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(all));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::uint64_t left = order.size() - i;
    std::swap(order[i], order[i + ((std::uint64_t{random.bits(i)[0]} * left) >> 32)]);
  }
  order.resize(static_cast<std::size_t>(count));
  return order;
}

ProbeText lookup_text(std::uint64_t seed, std::uint64_t context, std::int64_t items, std::int64_t asked) {
  const std::int64_t there = items <= kSingleWords ? kSingleWords : kNames;
  const auto names = shuffled(draws(seed, kNameOrder, context), there, items);
  const CounterRandom codes = draws(seed, kCodeDraws, context);
  ProbeText made{.items = "Every name has a code.\n"};
  for (std::int64_t item = 0; item < items; ++item) {
    const std::uint64_t draw = codes.bits(static_cast<std::uint64_t>(item))[0];
    const std::string code = std::to_string(kLowestCode + ((draw * kCodes) >> 32));
    made.items +=
        fmt::format("The code of the {} is ", name_at(names[static_cast<std::size_t>(item)], items));
    if (item == asked) {
      made.answer = code;
      made.item_begin = made.items.size();
      made.item_end = made.item_begin + code.size();
    }
    made.items += code + ".\n";
  }
  const std::string name = name_at(names[static_cast<std::size_t>(asked)], items);
  made.question = fmt::format("What is the code of the {}?", name);
  made.opening = fmt::format("The code of the {} is", name);
  return made;
}

ProbeText max_text(std::uint64_t seed, std::uint64_t context, std::int64_t items) {
  const CounterRandom random = draws(seed, kNumbers, context);
  std::vector<std::uint32_t> numbers;
  for (std::int64_t i = 0; i < items; ++i) {
    const std::uint64_t draw = random.bits(static_cast<std::uint64_t>(i))[0];
    numbers.push_back(1 + static_cast<std::uint32_t>((draw * kLargestNumber) >> 32));
  }
  const auto largest = std::max_element(numbers.begin(), numbers.end());
  // One place holds the maximum: others as large become one less, and the maximum is at least 2.
  if (*largest < 2) *largest = 2;
  for (auto it = numbers.begin(); it != numbers.end(); ++it)
    if (it != largest && *it == *largest) --*it;
  ProbeText made{.items = "What is the maximum of this sequence: "};
  for (auto it = numbers.begin(); it != numbers.end(); ++it) {
    const std::string number = std::to_string(*it);
    if (it != numbers.begin()) made.items += ", ";
    if (it == largest) {
      made.answer = number;
      made.item_begin = made.items.size();
      made.item_end = made.item_begin + number.size();
    }
    made.items += number;
  }
  made.items += "?\n";
  made.opening = "The maximum is";
  return made;
}

}  // namespace

std::string_view name_of(ProbeKind kind) { return kind == ProbeKind::max ? "max" : "lookup"; }

ProbeKind probe_kind_of(std::string_view name) {
  for (const ProbeKind kind : {ProbeKind::max, ProbeKind::lookup})
    if (name == name_of(kind)) return kind;
  throw Error(ErrorCode::bad_argument,
              fmt::format("there is no probe {}; max and lookup are known", in_quotes(name)));
}

std::int64_t most_items(ProbeKind kind) { return kind == ProbeKind::lookup ? kNames : kMostNumbers; }

ProbeText probe_text(ProbeKind kind, std::uint64_t seed, std::uint64_t context, std::int64_t items,
                     std::int64_t asked) {
  if (items < 1 || items > most_items(kind))
    throw Error(ErrorCode::bad_argument,
                fmt::format("a prompt of {} items was asked for; it has 1 to {}", items, most_items(kind)));
  if (asked < 0 || asked >= items)
    throw Error(ErrorCode::bad_argument,
                fmt::format("item {} was asked about; items are 0 to {}", asked, items - 1));
  return kind == ProbeKind::lookup ? lookup_text(seed, context, items, asked)
                                   : max_text(seed, context, items);
}

std::vector<std::int64_t> asked_items(std::uint64_t seed, std::uint64_t context, std::int64_t items,
                                      std::int64_t count) {
  const CounterRandom random = draws(seed, kAsked, context);
  count = std::min(count, items);
  std::vector<std::int64_t> asked;
  for (std::int64_t i = 0; i < count; ++i) {  // one of each of `count` equal parts
    const std::int64_t first = i * items / count, end = (i + 1) * items / count;
    const std::uint64_t draw = random.bits(static_cast<std::uint64_t>(i))[0];
    asked.push_back(first +
                    static_cast<std::int64_t>((draw * static_cast<std::uint64_t>(end - first)) >> 32));
  }
  return asked;
}

namespace {

using model::SpecialText;
using model::Token;

std::size_t shared(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// Makes the tokens of a probe's questions; knows where the message lies within the whole text.
class Writer {
 public:
  Writer(const model::Tokenizer& tokenizer, const std::optional<model::ChatTemplate>& chat,
         const Probe& probe)
      : tokenizer_(tokenizer), probe_(probe), chat_(chat) {}

  Question write(std::uint64_t context, std::int64_t items, std::int64_t asked) const {
    const ProbeText text = probe_text(probe_.kind, probe_.seed, context, items, asked);
    const std::string whole = whole_text(text);
    // The template may write of its own before the items, and these are there once.
    const std::size_t at = whole.find(text.items);
    if (at == std::string::npos)
      throw Error(ErrorCode::unsupported, "chat template: it changes the text of a message, so the items of a probe are not found");
    Question question{.prompt = encoded(whole), .answer = text.answer};
    // A vocabulary may join the item with what stands around it: tokens from the first that has some of it to
    // the last.
    question.item_begin =
        static_cast<std::int64_t>(shared(encoded(whole.substr(0, at + text.item_begin)), question.prompt));
    const std::vector<Token> through = encoded(whole.substr(0, at + text.item_end));
    const std::size_t same = shared(through, question.prompt);
    question.item_end = static_cast<std::int64_t>(same + (same < through.size() ? 1 : 0));
    question.context = static_cast<std::int64_t>(context);
    return question;
  }

  std::int64_t tokens(std::uint64_t context, std::int64_t items) const {
    // The longest question counts: names are not of one length, so every asked item is a little different.
    std::int64_t most = 0;
    for (const std::int64_t asked : asked_of(context, items)) {
      const ProbeText text = probe_text(probe_.kind, probe_.seed, context, items, asked);
      most = std::max(most, static_cast<std::int64_t>(encoded(whole_text(text)).size()));
    }
    return most;
  }

  std::vector<std::int64_t> asked_of(std::uint64_t context, std::int64_t items) const {
    if (probe_.kind == ProbeKind::max) return {0};
    return asked_items(probe_.seed, context, items, kQuestionsPerContext);
  }

 private:
  std::string whole_text(const ProbeText& text) const {
    if (!chat_) return text.items + text.opening;
    constexpr std::int64_t kDay = 1767225600;  // 1 January 2026: a template may write the date, and questions stay as they are
    return chat_->render({{"user", text.items + text.question}}, kDay) + text.opening;
  }
  std::vector<Token> encoded(std::string_view text) const {
    if (chat_) return tokenizer_.encode(text, SpecialText::as_tokens);
    return tokens_of_prompt(tokenizer_, text);
  }

  const model::Tokenizer& tokenizer_;
  Probe probe_;
  std::optional<model::ChatTemplate> chat_;
};

// The most items that fit; 0: none. The number of tokens grows with the number of items.
std::int64_t items_that_fit(const Writer& writer, ProbeKind kind, std::uint64_t context,
                            std::int64_t length) {
  std::int64_t fits = 0, too_many = 1;
  while (too_many <= most_items(kind) && writer.tokens(context, too_many) <= length) {
    fits = too_many;
    too_many *= 2;
  }
  too_many = std::min(too_many, most_items(kind) + 1);
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (writer.tokens(context, middle) <= length ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace

std::vector<Token> tokens_of_prompt(const model::Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> tokens;
  if (tokenizer.ends().add_begin && tokenizer.ends().begin) tokens.push_back(*tokenizer.ends().begin);
  const auto rest = tokenizer.encode(text, SpecialText::as_text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

std::vector<Question> probe_questions(const model::Model& model, const Probe& probe, std::int64_t length,
                                      std::int64_t count, std::int64_t first_context) {
  std::optional<model::ChatTemplate> chat;
  if (probe.chat) chat = model::chat_template_of(model.file(), model.tokenizer());
  return probe_questions(model.tokenizer(), chat, probe, length, count, first_context);
}

std::vector<Question> probe_questions(const model::Tokenizer& tokenizer,
                                      const std::optional<model::ChatTemplate>& chat, const Probe& probe,
                                      std::int64_t length, std::int64_t count, std::int64_t first_context) {
  const Writer writer(tokenizer, chat, probe);
  std::vector<Question> questions;
  for (auto context = static_cast<std::uint64_t>(first_context);
       static_cast<std::int64_t>(questions.size()) < count; ++context) {
    const std::int64_t items = items_that_fit(writer, probe.kind, context, length);
    if (items < 1)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("a {} prompt of {} tokens was asked for; one of a single item has {}",
                              name_of(probe.kind), length, writer.tokens(context, 1)));
    for (const std::int64_t asked : writer.asked_of(context, items)) {
      if (static_cast<std::int64_t>(questions.size()) == count) break;
      questions.push_back(writer.write(context, items, asked));
    }
  }
  return questions;
}

namespace {

using model::Token;

// Tokens after the answer's own: white space before it, and the one that shows where it ends.
constexpr std::int64_t kMoreTokens = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }

std::int64_t most_tokens(const model::Tokenizer& tokenizer, std::string_view answer) {
  const auto tokens = tokenizer.encode(answer, model::SpecialText::as_text);
  return static_cast<std::int64_t>(tokens.size()) + kMoreTokens;
}

}  // namespace

Verdict judge(std::string_view given, std::string_view answer, bool ended) {
  given.remove_prefix(std::min(given.find_first_not_of(" \t\n\r"), given.size()));
  const auto open = ended ? Verdict::wrong : Verdict::open;
  if (given.size() < answer.size()) return answer.starts_with(given) ? open : Verdict::wrong;
  if (!given.starts_with(answer)) return Verdict::wrong;
  if (given.size() == answer.size()) return ended ? Verdict::right : Verdict::open;
  return is_word(answer.back()) && is_word(given[answer.size()]) ? Verdict::wrong : Verdict::right;
}

std::span<const float> Examiner::read(const Question& question) {
  const auto& prompt = question.prompt;
  auto same = static_cast<std::size_t>(
      std::mismatch(read_.begin(), read_.end(), prompt.begin(), prompt.end()).first - read_.begin());
  same = std::min(same, prompt.size() - 1);  // logits come of reading the last
  session_.rewind(static_cast<std::int64_t>(same));
  read_ = prompt;
  return session_.feed_for_last(std::span(prompt).subspan(same));
}

Answer Examiner::ask(const Question& question) {
  const model::Tokenizer& tokenizer = session_.model().tokenizer();
  const auto& stops = tokenizer.ends().stops;
  const auto known = static_cast<std::size_t>(tokenizer.size());
  std::span<const float> logits = read(question);
  Answer answer;
  const std::int64_t most = most_tokens(tokenizer, question.answer);
  for (std::int64_t i = 1;; ++i) {
    const Token token = model::likeliest(logits.first(std::min(known, logits.size())));
    const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
    if (!stopped) answer.given += tokenizer.bytes_of(token);
    const Verdict verdict = judge(answer.given, question.answer, stopped || i == most);
    if (verdict != Verdict::open) {
      answer.right = verdict == Verdict::right;
      session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
      return answer;
    }
    logits = session_.feed_for_last({&token, 1});
  }
}

std::int64_t Examiner::read_right_answer(const Question& question) {
  // As text goes on after a word: " 4821".
  auto tokens = session_.model().tokenizer().encode(" " + question.answer, model::SpecialText::as_text);
  session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
  if (!tokens.empty()) tokens.pop_back();
  session_.feed(tokens);
  session_.rewind(static_cast<std::int64_t>(question.prompt.size()));
  return static_cast<std::int64_t>(tokens.size());
}

std::int64_t room_for(const model::Tokenizer& tokenizer, std::span<const Question> questions) {
  std::int64_t room = 0;
  for (const Question& question : questions)
    room = std::max(room, static_cast<std::int64_t>(question.prompt.size()) +
                              most_tokens(tokenizer, " " + question.answer));
  return room;
}

}  // namespace sharpmax::audit
