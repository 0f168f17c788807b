// A LayerPass: all blocks of a text through one layer before the next.
//
// Only the keys and values of one layer are in memory, and the features of every token: for a long text much less than
// the keys and values of all layers. Blocks are cut as a Session cuts them, so every bit of logits and statistics is the
// same. After each layer its state may be saved; a pass that goes on from there ends in the same bits.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "model/transformer/session.h"
#include "storage/npy.h"

namespace sharpmax::model {

// Bytes of a pass over so many tokens; nothing if it is more than can be counted.
std::optional<std::uint64_t> layer_pass_bytes(const Configuration& configuration, std::int64_t tokens, CacheType type);

class LayerPass {
 public:
  LayerPass(const Model& model, SessionSettings settings);

  const Model& model() const noexcept { return session_.model(); }
  std::int64_t block() const noexcept { return session_.block(); }
  void set_observer(AttentionObserver* observer) noexcept { session_.set_observer(observer); }

  // What the caller hears. Any may be empty; each may throw, and the pass then ends where it was.
  struct Listener {
    std::function<void(std::int64_t layer, std::int64_t tokens)> on_block;  // tokens of the layer that are through
    std::function<void(std::int64_t layers)> on_layer;                      // so many are done: time to save()
    Session::LogitsSink logits = {};                                        // after the last layer, in order
  };

  // Reads the text from its beginning, or goes on from a state that load() took. Blocks end where those of the whole
  // text would, and at `ends`, ascending positions. Error{bad_argument} unless the tokens exist and fit.
  void run(std::span<const Token> tokens, std::span<const std::int64_t> ends, const Listener& listener);

  // The state after the layers that are done, with arrays of the caller, in .npz. `fingerprint` says of what.
  void save(const std::filesystem::path& path, std::uint64_t fingerprint, std::vector<NamedNpyView> more) const;
  // Takes a saved state of as many tokens, and returns its arrays, those of the caller among them. Nothing is taken, and
  // no array returned, from a file that is missing or of another text or model. Error{bad_file} for a damaged one.
  std::vector<NamedNpyArray> load(const std::filesystem::path& path, std::uint64_t fingerprint, std::int64_t tokens);

 private:
  struct Block {
    std::int64_t first = 0, tokens = 0;
  };
  std::vector<Block> cut(std::int64_t tokens, std::span<const std::int64_t> ends) const;
  void fetch(const Block& block);
  void put_back(const Block& block);

  Session session_;
  std::int64_t layers_done_ = 0;
  std::vector<float> features_;  // [token, width], after layers_done_ layers
};

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
