#include "model/transformer/layer_pass.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

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

LayerPass::LayerPass(const Model& model, SessionSettings settings, Group* group)
    : session_(model, of_one_layer(std::move(settings))), group_(group) {}

// Later blocks have longer rows, so blocks go to ranks 0, 1, 2, 2, 1, 0, 0, ...
std::vector<LayerPass::Block> LayerPass::cut(std::int64_t tokens, std::span<const std::int64_t> ends) const {
  std::vector<Block> blocks;
  std::vector<std::int64_t> places(static_cast<std::size_t>(size()), 0);
  auto end = ends.begin();
  for (std::int64_t done = 0; done < tokens; done += blocks.back().tokens) {
    while (end != ends.end() && *end <= done) ++end;
    const std::int64_t next = end == ends.end() ? tokens : std::min(*end, tokens);
    const auto turn = static_cast<int>(blocks.size() % static_cast<std::size_t>(2 * size()));
    const int owner = turn < size() ? turn : 2 * size() - 1 - turn;
    std::int64_t& place = places[static_cast<std::size_t>(owner)];
    blocks.push_back({done, std::min(next - done, block() - done % block()), owner, place});
    place += blocks.back().tokens;
  }
  return blocks;
}

int LayerPass::owner_of(std::int64_t position) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), position,
                                      [](std::int64_t place, const Block& block) { return place < block.first; });
  return std::prev(after)->owner;
}

bool LayerPass::agreed(bool mine) const {
  if (size() == 1) return mine;
  const std::byte said{static_cast<unsigned char>(mine)};
  return group_->broadcast({&said, 1}, 0).at(0) != std::byte{0};
}

template <class Visit>
void LayerPass::for_own_blocks(const Visit& visit) {
  for (const Block& block : blocks_)
    if (block.owner == rank()) visit(block);
}

void LayerPass::fetch(const Block& block) {
  session_.turn_to(block.first, block.tokens);
  const std::int64_t width = session_.c_.width;
  std::copy_n(features_.data() + block.place * width, block.tokens * width, session_.features_.data());
}

void LayerPass::put_back(const Block& block) {
  const std::int64_t width = session_.c_.width;
  std::copy_n(session_.features_.data(), block.tokens * width, features_.data() + block.place * width);
}

// Features of the first layer, or of the layer that a saved state has.
void LayerPass::begin(std::span<const Token> tokens) {
  std::int64_t own = 0;
  for_own_blocks([&](const Block& block) { own += block.tokens; });
  features_.resize(static_cast<std::size_t>(own * session_.c_.width));
  if (layers_done_ > 0) return deal_features();
  for_own_blocks([&](const Block& block) {
    session_.position_ = block.first;
    session_.embed(tokens.subspan(static_cast<std::size_t>(block.first), static_cast<std::size_t>(block.tokens)));
    put_back(block);
  });
}

// What rank 0 has loaded goes to the owners, some blocks at a time.
void LayerPass::deal_features() {
  const auto width = static_cast<std::size_t>(session_.c_.width);
  const auto ranks = static_cast<std::size_t>(size());
  for (std::size_t first = 0; first < blocks_.size(); first += ranks) {
    const std::span<const Block> part = std::span<const Block>(blocks_).subspan(first, std::min(ranks, blocks_.size() - first));
    std::vector<Group::Bytes> to(ranks);
    for (const Block& block : part) {
      if (rank() != 0) break;
      const std::span<const float> features(loaded_.data() + static_cast<std::size_t>(block.first) * width,
                                            static_cast<std::size_t>(block.tokens) * width);
      if (block.owner == 0) std::copy(features.begin(), features.end(), features_.begin() + block.place * session_.c_.width);
      else to[static_cast<std::size_t>(block.owner)].assign(std::as_bytes(features).begin(), std::as_bytes(features).end());
    }
    if (ranks == 1) continue;
    const Group::Bytes mine = group_->exchange(to).at(0);
    for (const Block& block : part)
      if (block.owner == rank() && rank() != 0)
        std::memcpy(features_.data() + static_cast<std::size_t>(block.place) * width, mine.data(), mine.size());
  }
  loaded_ = {};
}

// Keys and values of a layer, from the ranks that have the blocks to all. A message stays far below what MPI can count.
void LayerPass::share_keys(std::int64_t layer) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 29;
  for_own_blocks([&](const Block& block) {
    fetch(block);
    session_.store_keys(layer, block.tokens);
  });
  const std::size_t at_a_time = std::max<std::size_t>(1, kMostBytes / std::max<std::size_t>(1, session_.cache_.bytes_of(block())));
  for (std::size_t first = 0; first < blocks_.size(); first += at_a_time) {
    const std::span<const Block> part =
        std::span<const Block>(blocks_).subspan(first, std::min(at_a_time, blocks_.size() - first));
    Group::Bytes mine;
    for (const Block& block : part)
      if (block.owner == rank()) session_.cache_.append_bytes(0, block.first, block.tokens, mine);
    const std::vector<Group::Bytes> all = group_->gather(mine);
    std::vector<std::size_t> taken(all.size(), 0);
    for (const Block& block : part) {
      const auto owner = static_cast<std::size_t>(block.owner);
      if (block.owner != rank()) session_.cache_.store_bytes(0, block.first, block.tokens, all[owner].data() + taken[owner]);
      taken[owner] += session_.cache_.bytes_of(block.tokens);
    }
  }
}

void LayerPass::run(std::span<const Token> tokens, std::span<const std::int64_t> ends, const Listener& listener) {
  session_.position_ = 0;
  session_.check(tokens);
  blocks_ = cut(static_cast<std::int64_t>(tokens.size()), ends);
  begin(tokens);
  for (std::int64_t layer = layers_done_; layer < session_.c_.layers; ++layer) {
    if (size() > 1) share_keys(layer);
    for_own_blocks([&](const Block& block) {
      fetch(block);
      session_.run_layer(layer, block.tokens);
      put_back(block);
      if (listener.on_block) listener.on_block(layer, block.first + block.tokens);
    });
    layers_done_ = layer + 1;
    if (listener.on_layer) listener.on_layer(layers_done_);
  }
  if (listener.logits)
    for_own_blocks([&](const Block& block) {
      fetch(block);
      session_.tell_logits(block.tokens, listener.logits);
    });
  layers_done_ = 0;  // the next text begins at its beginning
}

// On rank 0; the others send theirs, some blocks at a time.
std::vector<float> LayerPass::features_of_all() const {
  const auto width = static_cast<std::size_t>(session_.c_.width), ranks = static_cast<std::size_t>(size());
  if (ranks == 1) return features_;
  std::vector<float> all;
  if (rank() == 0) all.resize(static_cast<std::size_t>(blocks_.back().first + blocks_.back().tokens) * width);
  for (std::size_t first = 0; first < blocks_.size(); first += ranks) {
    const std::span<const Block> part = std::span<const Block>(blocks_).subspan(first, std::min(ranks, blocks_.size() - first));
    std::vector<Group::Bytes> to(ranks);
    for (const Block& block : part)
      if (block.owner == rank()) {
        const std::span<const float> own(features_.data() + static_cast<std::size_t>(block.place) * width,
                                         static_cast<std::size_t>(block.tokens) * width);
        to[0].assign(std::as_bytes(own).begin(), std::as_bytes(own).end());
      }
    const std::vector<Group::Bytes> parts = group_->exchange(to);
    for (const Block& block : part) {
      if (rank() != 0) break;
      const Group::Bytes& bytes = parts[static_cast<std::size_t>(block.owner)];
      std::memcpy(all.data() + static_cast<std::size_t>(block.first) * width, bytes.data(), bytes.size());
    }
  }
  return all;
}

void LayerPass::save(const std::filesystem::path& path, std::uint64_t fingerprint, std::vector<NamedNpyView> more) const {
  const std::vector<float> gathered = size() > 1 ? features_of_all() : std::vector<float>();
  if (rank() != 0) return;
  const std::vector<float>& features = size() > 1 ? gathered : features_;
  const std::int64_t width = session_.c_.width, tokens = static_cast<std::int64_t>(features.size()) / width;
  const std::int64_t state[2] = {static_cast<std::int64_t>(fingerprint), layers_done_};
  more.push_back({"state", {NpyType::int64, {2}, state}});
  more.push_back({"features", {NpyType::float32, {tokens, width}, features.data()}});
  write_npz(path, more);
}

namespace {

constexpr std::string_view kFeatures = "features";

template <class T>
void append(Group::Bytes& bytes, std::span<const T> values) {
  const std::uint64_t count = values.size();
  const auto put = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  put(std::as_bytes(std::span(&count, 1)));
  put(std::as_bytes(values));
}

template <class T>
T taken(const std::byte*& at) {
  std::uint64_t count = 0;
  std::memcpy(&count, at, sizeof count);
  T values(count, typename T::value_type{});
  if (count > 0) std::memcpy(values.data(), at + sizeof count, count * sizeof(typename T::value_type));
  at += sizeof count + count * sizeof(typename T::value_type);
  return values;
}

// Arrays of rank 0, on all ranks.
std::vector<NamedNpyArray> shared_arrays(Group& group, std::vector<NamedNpyArray> arrays) {
  Group::Bytes bytes;
  for (const auto& [name, array] : arrays) {
    const std::int64_t type = static_cast<std::int64_t>(array.type);
    append(bytes, std::span<const char>(name));
    append(bytes, std::span(&type, 1));
    append(bytes, std::span<const std::int64_t>(array.shape));
    append(bytes, std::span<const std::byte>(array.bytes.data(), array.bytes.size()));
  }
  const Group::Bytes all = group.broadcast(bytes, 0);
  if (group.rank() == 0) return arrays;
  std::vector<NamedNpyArray> shared;
  for (const std::byte* at = all.data(); at < all.data() + all.size();) {
    NamedNpyArray& entry = shared.emplace_back();
    entry.name = taken<std::string>(at);
    entry.array.type = static_cast<NpyType>(taken<std::vector<std::int64_t>>(at).at(0));
    entry.array.shape = taken<std::vector<std::int64_t>>(at);
    const Group::Bytes values = taken<Group::Bytes>(at);
    entry.array.bytes = ArrayBytes(values.size());
    std::copy(values.begin(), values.end(), entry.array.bytes.data());
  }
  return shared;
}

}  // namespace

std::vector<NamedNpyArray> LayerPass::load(const std::filesystem::path& path, std::uint64_t fingerprint,
                                           std::int64_t tokens) {
  std::vector<NamedNpyArray> arrays;
  std::int64_t layers = 0;
  if (rank() == 0 && std::filesystem::exists(path)) {
    arrays = read_npz(path);
    const Configuration& c = session_.c_;
    const NpyArray* const state = found_in(arrays, "state", NpyType::int64, {2});
    const NpyArray* const features = found_in(arrays, kFeatures, NpyType::float32, {tokens, c.width});
    std::int64_t numbers[2] = {0, 0};
    if (state && features) std::memcpy(numbers, state->bytes.data(), sizeof numbers);
    const bool fits = static_cast<std::uint64_t>(numbers[0]) == fingerprint && numbers[1] >= 1 && numbers[1] <= c.layers;
    if (fits) {
      layers = numbers[1];
      loaded_.resize(static_cast<std::size_t>(tokens * c.width));
      std::memcpy(loaded_.data(), features->bytes.data(), features->bytes.size());
      std::erase_if(arrays, [](const NamedNpyArray& entry) { return entry.name == kFeatures; });
    } else {
      arrays.clear();
    }
  }
  if (size() > 1) {
    arrays = shared_arrays(*group_, std::move(arrays));
    layers = group_->largest(layers);
  }
  if (layers > 0) layers_done_ = layers;
  return arrays;
}

}  // namespace sharpmax::model
