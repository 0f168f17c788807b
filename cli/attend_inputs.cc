#include "cli/attend.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "storage/npy.h"

namespace sharpmax::cli {

Extents<4> four_dimensional(const std::vector<std::int64_t>& shape, const std::string& name) {
  if (shape.size() < 2 || shape.size() > 4) {
    throw Error(ErrorCode::bad_argument, fmt::format("{} has {} dimension{}; expected 2, 3 or 4", name,
                                                     shape.size(), shape.size() == 1 ? "" : "s"));
  }
  Extents<4> four{1, 1, 1, 1};
  std::copy(shape.begin(), shape.end(), four.end() - static_cast<std::ptrdiff_t>(shape.size()));
  return four;
}

AnyTensor<4> tensor_of(const NpyArray& array, const std::string& name, bool bf16) {
  const Extents<4> shape = four_dimensional(array.shape, name);
  const auto view = [&](DType type) { return AnyTensor<4>(array.bytes.data(), type, shape); };
  switch (array.type) {
    case NpyType::float32:
      return view(DType::float32);
    case NpyType::float64:
      return view(DType::float64);
    case NpyType::float16:
      return view(DType::float16);
    case NpyType::uint16:
      if (bf16) return view(DType::bfloat16);
      throw Error(ErrorCode::bad_argument, fmt::format("{} holds uint16; --bf16 reads it as bfloat16", name));
    case NpyType::boolean:
    case NpyType::int64:
      break;
  }
  throw Error(ErrorCode::bad_argument,
              fmt::format("{} holds '{}'; expected floating-point numbers", name, descr_of(array.type)));
}

NpyType npy_type_of(DType type) noexcept {
  switch (type) {
    case DType::float64:
      return NpyType::float64;
    case DType::float16:
      return NpyType::float16;
    case DType::bfloat16:
      return NpyType::uint16;
    case DType::float32:
      break;
  }
  return NpyType::float32;
}

AttendInputs::AttendInputs(const AttendOptions& options) {
  options.arrays.empty() ? load(options) : load_archive(options);
  request_.query = tensor_of(query_, "query", options.bf16);
  request_.key = tensor_of(key_, "key", options.bf16);
  request_.value = tensor_of(value_, "value", options.bf16);
  if (mask_) {
    if (mask_->type != NpyType::boolean) {
      throw Error(
          ErrorCode::bad_argument,
          fmt::format("mask holds '{}'; expected bool, true where a query may attend", descr_of(mask_->type)));
    }
    request_.mask = {reinterpret_cast<const bool*>(mask_->bytes.data()),
                     four_dimensional(mask_->shape, "mask")};
  }
  if (bias_) request_.bias = tensor_of(*bias_, "bias", options.bf16);

  const auto numbers = [](const std::string& text, const char* flag, std::vector<std::int64_t>& into) {
    if (!text.empty()) into = parse_integers(text, flag);
  };
  numbers(options.key_lengths, "--key-lengths", key_lengths_);
  numbers(options.query_lengths, "--query-lengths", query_lengths_);
  numbers(options.documents, "--documents", query_offsets_);
  numbers(options.key_documents, "--key-documents", key_offsets_);
  if (!key_offsets_.empty() && query_offsets_.empty()) {
    throw Error(ErrorCode::bad_argument, "--key-documents goes with --documents");
  }
  if (key_offsets_.empty()) key_offsets_ = query_offsets_;
  request_.key_lengths = key_lengths_;
  request_.query_lengths = query_lengths_;
  request_.query_offsets = query_offsets_;
  request_.key_offsets = key_offsets_;
  request_.causal = options.causal ? Causal::bottom_right : Causal::none;
  request_.scale = options.scale;
  request_.soft_cap = options.soft_cap;
  if (!options.window.empty()) {
    const auto sides = parse_integers(options.window, "--window");
    if (sides.size() != 2) {
      throw Error(ErrorCode::bad_argument,
                  fmt::format("--window: {} is not LEFT,RIGHT", in_quotes(options.window)));
    }
    request_.window = {.left = sides[0], .right = sides[1]};
  }
}

void AttendInputs::load(const AttendOptions& options) {
  const auto need = [](const std::string& path, const char* flag) {
    if (path.empty()) {
      throw Error(
          ErrorCode::bad_argument,
          fmt::format("{} is missing; give --query, --key and --value, or --arrays, --demo or --list", flag));
    }
    return read_npy(path);
  };
  query_ = need(options.query, "--query");
  key_ = need(options.key, "--key");
  value_ = need(options.value, "--value");
  if (!options.mask.empty()) mask_ = read_npy(options.mask);
  if (!options.bias.empty()) bias_ = read_npy(options.bias);
}

void AttendInputs::load_archive(const AttendOptions& options) {
  for (const std::string* path :
       {&options.query, &options.key, &options.value, &options.mask, &options.bias}) {
    if (!path->empty()) {
      throw Error(ErrorCode::bad_argument,
                  "--arrays holds every array; it does not go with --query, --key, "
                  "--value, --mask or --bias");
    }
  }
  bool found[3] = {};
  for (NamedNpyArray& named : read_npz(options.arrays)) {
    NpyArray* into = nullptr;
    if (named.name == "query") into = &query_, found[0] = true;
    if (named.name == "key") into = &key_, found[1] = true;
    if (named.name == "value") into = &value_, found[2] = true;
    if (named.name == "mask") into = &mask_.emplace();
    if (named.name == "bias") into = &bias_.emplace();
    if (!into) {
      throw Error(ErrorCode::bad_file,
                  fmt::format("{} has an array {}; expected query, key, value and perhaps mask and bias",
                              options.arrays, in_quotes(named.name)));
    }
    *into = std::move(named.array);
  }
  constexpr const char* kNames[] = {"query", "key", "value"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!found[i]) {
      throw Error(ErrorCode::bad_file, fmt::format("{} has no array named {}", options.arrays, kNames[i]));
    }
  }
}

std::vector<std::int64_t> AttendInputs::as_given(const std::vector<std::int64_t>& four) const {
  return {four.begin() + static_cast<std::ptrdiff_t>(4 - rank()), four.end()};
}

}  // namespace sharpmax::cli
