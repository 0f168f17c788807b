// Trains one head on at most 16 items and tests it on more: retrieval DIRECTORY
#include <cstdio>

#include "sharpmax/retrieval.h"

using namespace sharpmax;

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: retrieval DIRECTORY\n"), 2;
  RetrievalRequest request;
  request.arms = {"sharp"};
  request.directory = argv[1];
  request.overwrite = true;
  request.training.steps = 2000;
  request.test.sizes = {16, 256, 4096};
  request.test.normalizers = {Softmax{}, EntropyTarget{.nats = 0.1}};
  request.test.sets_scale = 0.05;
  const RetrievalResult result = retrieve(request);

  for (const RetrievalSummary& row : result.summary)
    std::printf("%-24s n = %5d: %5.1f %% right\n", row.normalizer.c_str(), static_cast<int>(row.n), 100 * row.accuracy);
}
