#include "model/transformer/layer_pass.h"

#include <algorithm>
#include <cstring>

#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

SessionSettings of_one_layer(SessionSettings settings) {
  settings.one_layer = true;
  return settings;
}

const NpyArray* found_in(const std::vector<NamedNpyArray>& arrays, std::string_view name, NpyType type,
                         const std::vector<std::int64_t>& shape) {
  for (const NamedNpyArray& entry : arrays)
    if (entry.name == name && entry.array.type == type && entry.array.shape == shape) return &entry.array;
  return nullptr;
}

}  // namespace

std::optional<std::uint64_t> layer_pass_bytes(const Configuration& configuration, std::int64_t tokens, CacheType type) {
  Configuration one = configuration;
  one.layers = 1;
  const auto cache = cache_bytes(one, tokens, type);
  const auto features = static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(one.width) * sizeof(float);
  return cache ? std::optional(*cache + features) : std::nullopt;
}

LayerPass::LayerPass(const Model& model, SessionSettings settings) : session_(model, of_one_layer(std::move(settings))) {}

std::vector<LayerPass::Block> LayerPass::cut(std::int64_t tokens, std::span<const std::int64_t> ends) const {
  std::vector<Block> blocks;
  auto end = ends.begin();
  for (std::int64_t done = 0; done < tokens; done += blocks.back().tokens) {
    while (end != ends.end() && *end <= done) ++end;
    const std::int64_t next = end == ends.end() ? tokens : std::min(*end, tokens);
    blocks.push_back({done, std::min(next - done, block() - done % block())});
  }
  return blocks;
}

void LayerPass::fetch(const Block& block) {
  session_.turn_to(block.first, block.tokens);
  const std::int64_t width = session_.c_.width;
  std::copy_n(features_.data() + block.first * width, block.tokens * width, session_.features_.data());
}

void LayerPass::put_back(const Block& block) {
  const std::int64_t width = session_.c_.width;
  std::copy_n(session_.features_.data(), block.tokens * width, features_.data() + block.first * width);
}

void LayerPass::run(std::span<const Token> tokens, std::span<const std::int64_t> ends, const Listener& listener) {
  session_.position_ = 0;
  session_.check(tokens);
  const std::vector<Block> blocks = cut(static_cast<std::int64_t>(tokens.size()), ends);
  const Configuration& c = session_.c_;
  if (layers_done_ == 0) {
    features_.resize(tokens.size() * static_cast<std::size_t>(c.width));
    for (const Block& block : blocks) {
      session_.position_ = block.first;
      session_.embed(tokens.subspan(static_cast<std::size_t>(block.first), static_cast<std::size_t>(block.tokens)));
      put_back(block);
    }
  }
  for (std::int64_t layer = layers_done_; layer < c.layers; ++layer) {
    for (const Block& block : blocks) {
      fetch(block);
      session_.run_layer(layer, block.tokens);
      put_back(block);
      if (listener.on_block) listener.on_block(layer, block.first + block.tokens);
    }
    layers_done_ = layer + 1;
    if (listener.on_layer) listener.on_layer(layers_done_);
  }
  if (listener.logits)
    for (const Block& block : blocks) {
      fetch(block);
      session_.tell_logits(block.tokens, listener.logits);
    }
  layers_done_ = 0;  // the next text begins at its beginning
}

void LayerPass::save(const std::filesystem::path& path, std::uint64_t fingerprint, std::vector<NamedNpyView> more) const {
  const std::int64_t width = session_.c_.width, tokens = static_cast<std::int64_t>(features_.size()) / width;
  const std::int64_t state[2] = {static_cast<std::int64_t>(fingerprint), layers_done_};
  more.push_back({"state", {NpyType::int64, {2}, state}});
  more.push_back({"features", {NpyType::float32, {tokens, width}, features_.data()}});
  write_npz(path, more);
}

std::vector<NamedNpyArray> LayerPass::load(const std::filesystem::path& path, std::uint64_t fingerprint,
                                           std::int64_t tokens) {
  if (!std::filesystem::exists(path)) return {};
  std::vector<NamedNpyArray> arrays = read_npz(path);
  const Configuration& c = session_.c_;
  const NpyArray* const state = found_in(arrays, "state", NpyType::int64, {2});
  const NpyArray* const features = found_in(arrays, "features", NpyType::float32, {tokens, c.width});
  if (!state || !features) return {};
  std::int64_t numbers[2];
  std::memcpy(numbers, state->bytes.data(), sizeof numbers);
  if (static_cast<std::uint64_t>(numbers[0]) != fingerprint || numbers[1] < 1 || numbers[1] > c.layers) return {};
  layers_done_ = numbers[1];
  features_.resize(static_cast<std::size_t>(tokens * c.width));
  std::memcpy(features_.data(), features->bytes.data(), features->bytes.size());
  return arrays;
}

}  // namespace sharpmax::model
