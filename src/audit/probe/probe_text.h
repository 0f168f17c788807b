// Prompts whose right answer is known: the maximum of a sequence (paper A's figure 3, growing), and the value
// of one of many keys. Drawn by counter: a prompt is a function of seed, context and question.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::audit {

enum class ProbeKind { max, lookup };
std::string_view name_of(ProbeKind kind);
// "max" or "lookup"; Error{bad_argument} for another.
ProbeKind probe_kind_of(std::string_view name);

// A question as text. Questions of one context share their beginning, all of its items included.
struct ProbeText {
  std::string items;     // all of them, and for max what is asked
  std::string question;  // what else a message has to ask; plain text goes straight on to the opening
  std::string opening;   // how the answer begins; `answer` comes next
  std::string answer;
  std::size_t item_begin = 0, item_end = 0;  // bytes of the right item's value within `items`
};

// Keys of a look-up are single words up to 155 items, and pairs of words beyond: those share words with one
// another, which makes them harder to tell apart.
//
// At most so many items in a context: for look-up there are no more keys.
std::int64_t most_items(ProbeKind kind);

// The question about item `asked` of a context of `items` (for max there is one question: `asked` is unused).
// Error{bad_argument} where these are not there.
ProbeText probe_text(ProbeKind kind, std::uint64_t seed, std::uint64_t context, std::int64_t items,
                     std::int64_t asked);

// Which items of a context are asked about: `count` different ones, spread over the whole of it; fewer where
// there are fewer.
std::vector<std::int64_t> asked_items(std::uint64_t seed, std::uint64_t context, std::int64_t items,
                                      std::int64_t count);

}  // namespace sharpmax::audit
