#include "cli/bench_case.h"

#include "base/random.h"

namespace sharpmax::cli {
namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<float> normal_array(std::int64_t count, std::uint64_t stream) {
  std::vector<float> out(static_cast<std::size_t>((count + 3) / 4 * 4));
  const CounterRandom random(kSeed, stream);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const auto four = random.normals(i / 4);
    std::copy(four.begin(), four.end(), out.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace

const char* name_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward:
      return "backward";
    case Direction::decode:
      break;
  }
  return "decode";
}

double BenchShape::pairs() const noexcept {
  const auto n = static_cast<double>(keys), q = static_cast<double>(queries());
  const double seen = causal && direction != Direction::decode ? q * (n + 1.0) / 2.0 : q * n;
  return seen * static_cast<double>(heads);
}

double BenchShape::operations() const noexcept {
  const double products = direction == Direction::backward ? 5.0 : 2.0;
  return products * 2.0 * static_cast<double>(features) * pairs();
}

double BenchShape::bytes() const noexcept {
  return 2.0 * sizeof(float) * static_cast<double>(kv_heads * keys * features);
}

BenchCase::BenchCase(const BenchShape& shape, const AnyNormalizer& normalizer)
    : shape_(shape), normalizer_(normalizer) {
  const std::int64_t rows = shape.heads * shape.queries();
  const std::int64_t d = shape.features;
  query_ = normal_array(rows * d, 0);
  key_ = normal_array(shape.kv_heads * shape.keys * d, 1);
  value_ = normal_array(shape.kv_heads * shape.keys * d, 2);
  out_.resize(static_cast<std::size_t>(rows * d));
  const Extents<4> many{1, shape.heads, shape.queries(), d}, few{1, shape.kv_heads, shape.keys, d};
  request_.query = TensorView<const float, 4>(query_.data(), many);
  request_.key = TensorView<const float, 4>(key_.data(), few);
  request_.value = TensorView<const float, 4>(value_.data(), few);
  request_.causal = shape.causal ? Causal::bottom_right : Causal::none;
  if (shape.direction == Direction::backward) {
    d_out_ = normal_array(rows * d, 3);
    d_query_.resize(query_.size());
    d_key_.resize(key_.size());
    d_value_.resize(value_.size());
  }
}

void BenchCase::run() {
  if (shape_.direction == Direction::backward) {
    run_backward(d_out_);
    return;
  }
  const Extents<4> many{1, shape_.heads, shape_.queries(), shape_.features};
  attend(request_, normalizer_, TensorView<float, 4>(out_.data(), many), nullptr,
         {.threads = shape_.threads});
}

void BenchCase::run_backward(const std::vector<float>& d_out) {
  AttentionGradients gradients;
  const auto view = [](std::vector<float>& into, const AnyTensor<4>& like) {
    return TensorView<float, 4>(into.data(), like.shape);
  };
  gradients.query = view(d_query_, request_.query);
  gradients.key = view(d_key_, request_.key);
  gradients.value = view(d_value_, request_.value);
  attend_backward(request_, normalizer_, TensorView<const float, 4>(d_out.data(), request_.query.shape),
                  gradients, {}, {.threads = shape_.threads});
}

}  // namespace sharpmax::cli
