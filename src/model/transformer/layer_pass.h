// A LayerPass: all blocks of a text through one layer before the next.
//
// Only the keys and values of one layer are in memory, and the features of every token: for a long text much less than
// the keys and values of all layers. Blocks are cut as a Session cuts them, so every bit of logits and statistics is the
// same. After each layer its state may be saved; a pass that goes on from there ends in the same bits.
//
// Several processes may read a text together. Blocks are dealt out, and every rank keeps the features of its own. In each
// layer all ranks gather its keys and values; then each has whole rows, and computes them as one process would. Ranks
// make the same calls in the same order.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "model/transformer/session.h"
#include "sharpmax/cluster.h"
#include "storage/npy.h"

namespace sharpmax::model {

// Bytes of a pass over so many tokens; nothing if it is more than can be counted.
std::optional<std::uint64_t> layer_pass_bytes(const Configuration& configuration, std::int64_t tokens, CacheType type);

class LayerPass {
 public:
  // `group`: the ranks that read together, which must outlive it; null: this process alone.
  LayerPass(const Model& model, SessionSettings settings, Group* group = nullptr);

  const Model& model() const noexcept { return session_.model(); }
  std::int64_t block() const noexcept { return session_.block(); }
  void set_observer(AttentionObserver* observer) noexcept { session_.set_observer(observer); }

  // What the caller hears. Any may be empty; each may throw, and the pass then ends where it was.
  struct Listener {
    std::function<void(std::int64_t layer, std::int64_t tokens)> on_block;  // tokens of the layer that are through
    std::function<void(std::int64_t layers)> on_layer;                      // so many are done: time to save()
    Session::LogitsSink logits = {};                                        // after the last layer, of own tokens in order
  };

  // Reads the text from its beginning, or goes on from a state that load() took. Blocks end where those of the whole
  // text would, and at `ends`, ascending positions. Error{bad_argument} unless the tokens exist and fit.
  void run(std::span<const Token> tokens, std::span<const std::int64_t> ends, const Listener& listener);

  std::int64_t layers_done() const noexcept { return layers_done_; }
  // Of the text that was read last: the rank that has the features of a token.
  int owner_of(std::int64_t position) const;
  int rank() const noexcept { return group_ ? group_->rank() : 0; }
  int size() const noexcept { return group_ ? group_->size() : 1; }
  Group* group() const noexcept { return group_; }
  // What rank 0 says, on all ranks.
  bool agreed(bool mine) const;
  // One value per token from one per own token, by position, on all ranks.
  template <class T>
  std::vector<T> of_all_tokens(std::span<const T> own) const;

  // The state after the layers that are done, with arrays of the caller, in .npz. `fingerprint` says of what. Rank 0
  // writes the file; path and arrays of the others do not matter.
  void save(const std::filesystem::path& path, std::uint64_t fingerprint, std::vector<NamedNpyView> more) const;
  // Takes a saved state of as many tokens, which rank 0 reads, and returns its arrays but the features: those of the caller
  // among them. Nothing is taken, and no array returned, from a file that is missing or of another text or model.
  // Error{bad_file} for a damaged one.
  std::vector<NamedNpyArray> load(const std::filesystem::path& path, std::uint64_t fingerprint, std::int64_t tokens);

 private:
  struct Block {
    std::int64_t first = 0, tokens = 0;
    int owner = 0;
    std::int64_t place = 0;  // of its first token among those of its owner
  };
  std::vector<Block> cut(std::int64_t tokens, std::span<const std::int64_t> ends) const;
  void fetch(const Block& block);
  void put_back(const Block& block);
  template <class Visit>
  void for_own_blocks(const Visit& visit);
  void begin(std::span<const Token> tokens);
  void share_keys(std::int64_t layer);
  void deal_features();
  std::vector<float> features_of_all() const;

  Session session_;
  Group* group_;
  std::int64_t layers_done_ = 0;
  std::vector<Block> blocks_;
  std::vector<float> features_;  // [own token, width], after layers_done_ layers
  std::vector<float> loaded_;    // [token, width] on rank 0: to be dealt out
};

template <class T>
std::vector<T> LayerPass::of_all_tokens(std::span<const T> own) const {
  if (size() == 1) return {own.begin(), own.end()};
  const std::vector<Group::Bytes> parts = group_->gather(std::as_bytes(own));
  std::vector<T> all(static_cast<std::size_t>(blocks_.back().first + blocks_.back().tokens));
  for (const Block& block : blocks_)
    std::memcpy(all.data() + block.first, parts[static_cast<std::size_t>(block.owner)].data() + static_cast<std::size_t>(block.place) * sizeof(T),
                static_cast<std::size_t>(block.tokens) * sizeof(T));
  return all;
}

// As Watching, for a pass.
class WatchingPass {
 public:
  WatchingPass(LayerPass& pass, AttentionObserver& observer) : pass_(pass) { pass.set_observer(&observer); }
  ~WatchingPass() { pass_.set_observer(nullptr); }
  WatchingPass(const WatchingPass&) = delete;
  WatchingPass& operator=(const WatchingPass&) = delete;

 private:
  LayerPass& pass_;
};

}  // namespace sharpmax::model
