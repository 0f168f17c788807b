#include "audit/probe/probe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/in_quotes.h"
#include "base/random.h"
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

}  // namespace sharpmax::audit
