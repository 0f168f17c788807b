// The text of a training run: a verdict, accuracy by size for each arm, and why.
#pragma once

#include <string>

#include "sharpmax/train.h"

namespace sharpmax::cli {

std::string train_report(const TrainResult& result, bool colour);

}  // namespace sharpmax::cli
