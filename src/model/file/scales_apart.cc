// Weights of safetensors folders whose scales are tensors of their own: MXFP4 (NAME_blocks, NAME_scales) and FP8
// (NAME, NAME_scale_inv or NAME_scale).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/in_quotes.h"
#include "model/file/model_file.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr std::int64_t kOfBlock = 32, kBytesOfBlock = 16;  // MXFP4
constexpr std::int64_t kUnit = 32;                         // weights that a product takes at a time share a scale

struct TensorPlace {
  const SafetensorsFile* shard = nullptr;
  const SafetensorEntry* entry = nullptr;
};

TensorPlace place_of(std::span<const SafetensorsFile> shards, const std::string& name) {
  for (const SafetensorsFile& shard : shards)
    if (const SafetensorEntry* entry = shard.find(name)) return {&shard, entry};
  return {};
}

[[noreturn]] void refuse_scales(const TensorPlace& place, std::string_view what, ErrorCode code = ErrorCode::bad_file) {
  throw Error(code, fmt::format("{}: at byte {}: tensor {} {}", place.shard->name(), place.entry->name_offset,
                                in_quotes(place.entry->name), what));
}

std::string shape_words(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string stem_of(const std::string& name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

bool holds_blocks(const SafetensorEntry& entry) {
  return entry.name.ends_with(kBlocks) && entry.type == SafetensorType::u8 && entry.shape.size() >= 3 &&
         entry.shape.back() == kBytesOfBlock && entry.elements > 0;
}

StoredTensor joined_blocks(const TensorPlace& blocks, std::span<const SafetensorsFile> shards) {
  const std::string name = stem_of(blocks.entry->name, kBlocks);
  const TensorPlace scales = place_of(shards, name + std::string(kScales));
  std::vector<std::int64_t> shape = blocks.entry->shape;
  shape.pop_back();
  if (!scales.entry)
    refuse_scales(blocks, fmt::format("holds blocks of MXFP4, and there is no {} beside it", in_quotes(name + std::string(kScales))));
  if (scales.entry->type != SafetensorType::u8 || scales.entry->shape != shape)
    refuse_scales(scales, fmt::format("is {} of {}; scales of these blocks are U8 of {}", name_of(scales.entry->type),
                                      shape_words(scales.entry->shape), shape_words(shape)));
  StoredScales apart{.data = scales.shard->bytes(*scales.entry).data(),
                     .type = StoredScales::Type::exponent,
                     .columns = kOfBlock,
                     .stride = shape.back()};
  shape.back() *= kOfBlock;  // cannot overflow: twice the bytes that are there
  return {name, TensorType::mxfp4_pairs, shape, blocks.shard->bytes(*blocks.entry), blocks.entry->begin, apart};
}

// Rows and columns of a matrix that share a scale, as config.json says.
std::pair<std::int64_t, std::int64_t> block_of(const nlohmann::json* configuration, const TensorPlace& scales) {
  constexpr std::int64_t kUsual = 128, kLargest = std::int64_t{1} << 31;
  if (!configuration || !configuration->contains("quantization_config")) return {kUsual, kUsual};
  const auto& how = (*configuration)["quantization_config"];
  if (!how.is_object() || !how.contains("weight_block_size") || how["weight_block_size"].is_null()) return {kUsual, kUsual};
  const auto& size = how["weight_block_size"];
  const auto good = [&](std::size_t i) {
    return size[i].is_number_integer() && size[i].get<std::int64_t>() >= 1 && size[i].get<std::int64_t>() <= kLargest;
  };
  if (!size.is_array() || size.size() != 2 || !good(0) || !good(1))
    refuse_scales(scales, "has blocks that weight_block_size of config.json does not describe by two positive numbers");
  return {size[0].get<std::int64_t>(), size[1].get<std::int64_t>()};
}

StoredScales scales_of(const TensorPlace& weights, const TensorPlace& scales, const nlohmann::json* configuration) {
  const auto& shape = weights.entry->shape;
  const auto& of_scales = scales.entry->shape;
  if (scales.entry->type != SafetensorType::f32 && scales.entry->type != SafetensorType::bf16)
    refuse_scales(scales, fmt::format("is of type {}; scales must be F32 or BF16", name_of(scales.entry->type)),
                  ErrorCode::unsupported);
  StoredScales found{.data = scales.shard->bytes(*scales.entry).data(),
                     .type = scales.entry->type == SafetensorType::f32 ? StoredScales::Type::f32 : StoredScales::Type::bf16,
                     .rows = shape[0],
                     .columns = shape[1],
                     .stride = 1};
  if (scales.entry->elements == 1) return found;
  if (of_scales == std::vector<std::int64_t>{shape[0], 1}) {
    found.rows = 1;
    return found;
  }
  const auto [rows, columns] = block_of(configuration, scales);
  const std::vector<std::int64_t> wanted = {(shape[0] + rows - 1) / rows, (shape[1] + columns - 1) / columns};
  if (of_scales != wanted)
    refuse_scales(scales, fmt::format("has shape {}; one scale for {} x {} weights of {} needs {}", shape_words(of_scales),
                                      rows, columns, shape_words(shape), shape_words(wanted)));
  if (columns % kUnit != 0)
    refuse_scales(scales, fmt::format("scales {} columns at a time; multiples of {} run here", columns, kUnit),
                  ErrorCode::unsupported);
  found.rows = rows;
  found.columns = columns;
  found.stride = wanted[1];
  return found;
}

StoredTensor with_scales(const TensorPlace& weights, std::span<const SafetensorsFile> shards, const nlohmann::json* configuration) {
  const SafetensorEntry& entry = *weights.entry;
  if (entry.shape.size() != 2)
    refuse_scales(weights, fmt::format("is F8_E4M3 of {}; only matrices run here", shape_words(entry.shape)),
                  ErrorCode::unsupported);
  StoredTensor tensor{entry.name, TensorType::f8_e4m3, entry.shape, weights.shard->bytes(entry), entry.begin};
  for (const char* ending : {"_scale_inv", "_scale"}) {
    const TensorPlace scales = place_of(shards, entry.name + ending);
    if (!scales.entry) continue;
    tensor.scales = scales_of(weights, scales, configuration);
    break;
  }
  return tensor;
}

}  // namespace

std::optional<StoredTensor> tensor_with_scales(const SafetensorsFile& shard, const SafetensorEntry& entry,
                                               std::span<const SafetensorsFile> shards,
                                               const nlohmann::json* configuration) {
  if (holds_blocks(entry)) return joined_blocks({&shard, &entry}, shards);
  if (entry.type == SafetensorType::f8_e4m3 && entry.elements > 0)
    return with_scales({&shard, &entry}, shards, configuration);
  return std::nullopt;
}

bool is_part_of_another(const SafetensorEntry& entry, std::span<const SafetensorsFile> shards) {
  if (!entry.name.ends_with(kScales) || entry.type != SafetensorType::u8) return false;
  const TensorPlace blocks = place_of(shards, stem_of(entry.name, kScales) + std::string(kBlocks));
  return blocks.entry && holds_blocks(*blocks.entry);
}

}  // namespace sharpmax::model
