// A model reads excerpts of a text while an audit looks on; and what it kept, as a file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "audit/measure/excerpts.h"
#include "audit/measure/row_fields.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

// [excerpt][length]; nothing where it has not been read yet.
using Readings = std::vector<std::vector<std::optional<KeptRows>>>;
Readings no_readings(const ReadingPlan& plan);
// Lengths that every excerpt was read to.
std::vector<std::size_t> finished_lengths(const Readings& readings);

struct ReadingListener {
  std::function<void(std::int64_t tokens)> on_tokens;  // how many of this excerpt are through
  std::function<void(std::size_t length, KeptRows rows)> on_length;
};

// Reads one excerpt from an empty cache, to lengths.back() tokens.
void read_excerpt(model::Session& session, std::span<const model::Token> excerpt,
                  std::span<const std::int64_t> lengths, const ReadingListener& listener);

// NumPy's .npz: rows of excerpt e at length n in `excerptE_nN`, [layer, head, row, field], with the
// positions of the queries in `excerptE_nN_positions`; `fingerprint` says of what. Written atomically.
void write_readings(const std::filesystem::path& path, const Readings& readings, const ReadingPlan& plan,
                    const model::Configuration& configuration, std::uint64_t fingerprint);
// Error{bad_file} where the file is not of this plan, model and fingerprint.
Readings read_readings(const std::filesystem::path& path, const ReadingPlan& plan,
                       const model::Configuration& configuration, std::uint64_t fingerprint);

}  // namespace sharpmax::audit
