// Someone between the layers of a model.
#pragma once

#include "model/transformer/observer.h"
#include "statistics.h"
#include "turns.h"

namespace sharpmax::python {

// Fills statistics [layer, head, token, ...] where some are wanted, and lets an interrupt through.
class Onlooker : public model::AttentionObserver {
 public:
  explicit Onlooker(const RowStatistics* whole = nullptr) : whole_(whole) {}

  const RowStatistics* wanted(const model::AttentionBlock& block) override {
    if (!whole_) return nullptr;
    part_ = part_of(*whole_, {block.layer, block.first_head, block.heads, block.position, block.tokens});
    return &part_;
  }
  void seen(const model::AttentionBlock&) override { signals_.look(); }

 private:
  const RowStatistics* whole_;
  RowStatistics part_;
  SignalWatch signals_;
};

}  // namespace sharpmax::python
