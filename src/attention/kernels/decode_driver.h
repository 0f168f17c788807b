// The driver of the decode plan: see decode.h for the passes.
#pragma once

#include <span>

#include "attention/kernels/items.h"
#include "attention/kernels/prefill.h"

namespace sharpmax {

void run_decode(const PrefillJob& job, std::span<const Item> items);

}  // namespace sharpmax
