// Every mistake at the doors of attention is one clear sentence with the right code.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sharpmax/attention.h"
#include "sharpmax/error.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// A sound call of each door: 2 batch entries, 4 query heads on 2, 3 queries, 5 keys, 8 features, 6 of
// values. Tests spoil one thing.
struct Sound {
  std::vector<float> query = std::vector<float>(2 * 4 * 3 * 8, 0.1f), key = std::vector<float>(2 * 2 * 5 * 8, 0.1f),
                     value = std::vector<float>(2 * 2 * 5 * 6, 0.1f), bias_data = std::vector<float>(4 * 3 * 5),
                     out_data = std::vector<float>(2 * 4 * 3 * 6), d_query = query, d_key = key, d_value = value,
                     d_bias = bias_data;
  std::vector<char> mask_data = std::vector<char>(3 * 5, 1);
  std::vector<double> doubles = std::vector<double>(4096);
  std::vector<std::int64_t> integers = std::vector<std::int64_t>(4096), lengths, offsets, key_offsets;
  std::vector<double> gaps;

  AttentionRequest request;
  AnyNormalizer normalizer = Softmax{};
  AnyMutableTensor<4> out = view(out_data, {2, 4, 3, 6});
  RowStatistics statistics;
  AttentionGradients gradients;
  Saved saved;
  AnyTensor<4> d_out = TensorView<const float, 4>(out_data.data(), {2, 4, 3, 6});
  Execution execution;

  Sound() {
    request.query = TensorView<const float, 4>(query.data(), {2, 4, 3, 8});
    request.key = TensorView<const float, 4>(key.data(), {2, 2, 5, 8});
    request.value = TensorView<const float, 4>(value.data(), {2, 2, 5, 6});
  }
  static AnyMutableTensor<4> view(std::vector<float>& data, const Extents<4>& shape) {
    return TensorView<float, 4>(data.data(), shape);
  }
  void add_bias() { request.bias = TensorView<const float, 4>(bias_data.data(), {1, 4, 3, 5}); }
  void add_mask() { request.mask = {reinterpret_cast<const bool*>(mask_data.data()), {1, 1, 3, 5}}; }
  void attend() { sharpmax::attend(request, normalizer, out, &statistics, execution); }
  void attend_backward() { sharpmax::attend_backward(request, normalizer, d_out, gradients, saved, execution); }
};

void expect_error(const std::function<void()>& call, ErrorCode code, const std::string& piece) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says: " << piece;
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(piece), std::string::npos)
        << "found:  " << error.what() << "\nwanted: " << piece;
  }
}

struct Mistake {
  const char* name;
  std::function<void(Sound&)> make;
  const char* says;
  ErrorCode code = ErrorCode::bad_argument;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }
std::string name_of_mistake(const testing::TestParamInfo<Mistake>& test) { return test.param.name; }

const Mistake kRequestMistakes[] = {
    {"features_disagree", [](Sound& s) { s.request.key.shape[3] = 4; }, "attend: keys have 4 features, queries have 8; they must agree"},
    {"batches_disagree", [](Sound& s) { s.request.key.shape[0] = 1; }, "keys have 1 batch entries, queries have 2; they must agree"},
    {"value_batches_disagree", [](Sound& s) { s.request.value.shape[0] = 1; }, "values have 1 batch entries, keys have 2"},
    {"no_query_heads", [](Sound& s) { s.request.query.shape[1] = 0; }, "queries have 0 heads; expected at least 1"},
    {"no_key_heads", [](Sound& s) { s.request.key.shape[1] = 0; }, "keys have 0 heads; expected at least 1"},
    {"value_heads_disagree", [](Sound& s) { s.request.value.shape[1] = 1; }, "values have 1 heads, keys have 2"},
    {"heads_do_not_divide", [](Sound& s) { s.request.query.shape[1] = 3; }, "keys have 2 heads, queries have 3; the former must divide the latter"},
    {"fewer_values_than_keys", [](Sound& s) { s.request.value.shape[2] = 4; }, "there are 4 values for 5 keys; expected one each"},
    {"no_features", [](Sound& s) { s.request.query.shape[3] = s.request.key.shape[3] = 0; }, "queries have 0 features; expected 1 to 256"},
    {"no_value_features", [](Sound& s) { s.request.value.shape[3] = 0; }, "values have 0 features; expected 1 to 256"},
    {"mixed_types", [](Sound& s) { s.request.key.dtype = DType::bfloat16; }, "queries are float32, keys bfloat16 and values float32; they must agree, or the queries be float32 and the others of one 16-bit type"},
    {"null_query", [](Sound& s) { s.request.query.data = nullptr; }, "query has shape [2, 4, 3, 8] but no data; expected a pointer to 192 elements"},
    {"null_key", [](Sound& s) { s.request.key.data = nullptr; }, "key has shape [2, 2, 5, 8] but no data"},
    {"null_value", [](Sound& s) { s.request.value.data = nullptr; }, "value has shape [2, 2, 5, 6] but no data"},
    {"misaligned_query", [](Sound& s) { s.request.query.data = static_cast<const char*>(s.request.query.data) + 1; }, "query is not aligned; its address must be a multiple of 4 bytes"},
    {"negative_size", [](Sound& s) { s.request.query.shape[2] = -3; }, "query has shape [2, 4, -3, 8]; sizes cannot be negative"},
    {"product_of_sizes_overflows", [](Sound& s) { s.request.key.shape = {1 << 30, 1 << 30, 1 << 30, 8}; }, "that many elements cannot be addressed"},
    {"product_overflows_beside_an_empty_dimension", [](Sound& s) { s.request.key.shape = {0, kHuge, kHuge, 8}; }, "that many elements cannot be addressed"},
    {"strides_overflow", [](Sound& s) { s.request.key.strides[0] = kHuge / 2; }, "key has shape [2, 2, 5, 8] and strides"},
    {"negative_stride_overflows", [](Sound& s) { s.request.key.strides[0] = std::numeric_limits<std::int64_t>::min(); }, "they reach past what can be addressed"},
    {"features_not_contiguous", [](Sound& s) { s.request.key.strides[3] = 2; }, "key has stride 2 in its last dimension; it must be contiguous there (stride 1)"},
    {"values_not_contiguous", [](Sound& s) { s.request.value.strides[3] = 0; }, "value has stride 0 in its last dimension"},
    {"bias_of_another_type", [](Sound& s) { s.add_bias(); s.request.bias.dtype = DType::float64; }, "bias is float64; expected float32 or the inputs' float32"},
    {"bias_of_another_shape", [](Sound& s) { s.add_bias(); s.request.bias.shape[1] = 2; }, "bias has shape [1, 2, 3, 5]; expected [2, 4, 3, 5] or 1 in each place"},
    {"bias_not_contiguous", [](Sound& s) { s.add_bias(); s.request.bias.strides[3] = -1; }, "bias has stride -1 in its last dimension; it must be contiguous (1) or broadcast (0) there"},
    {"bias_without_data", [](Sound& s) { s.add_bias(); s.request.bias.data = nullptr; }, "bias has shape [1, 4, 3, 5] but no data"},
    {"mask_of_another_shape", [](Sound& s) { s.add_mask(); s.request.mask.shape[3] = 4; }, "mask has shape [1, 1, 3, 4]; expected [2, 4, 3, 5] or 1 in each place"},
    {"mask_without_data", [](Sound& s) { s.add_mask(); s.request.mask.data = nullptr; }, "mask has shape [1, 1, 3, 5] but no data"},
    {"too_few_key_lengths", [](Sound& s) { s.lengths = {5}; s.request.key_lengths = s.lengths; }, "key_lengths holds 1 lengths for 2 batch entries; expected one each"},
    {"key_length_too_long", [](Sound& s) { s.lengths = {5, 6}; s.request.key_lengths = s.lengths; }, "key_lengths[1] is 6; there are 5 keys"},
    {"query_length_negative", [](Sound& s) { s.lengths = {-1, 3}; s.request.query_lengths = s.lengths; }, "query_lengths[0] is -1; there are 3 queries"},
    {"query_offsets_alone", [](Sound& s) { s.offsets = {0, 3}; s.request.query_offsets = s.offsets; }, "query_offsets holds 2 offsets and key_offsets 0; documents need as many of each"},
    {"offsets_start_late", [](Sound& s) { s.offsets = {1, 3}; s.request.query_offsets = s.request.key_offsets = s.offsets; }, "query_offsets starts at 1; the first document starts at 0"},
    {"offsets_fall", [](Sound& s) { s.offsets = {0, 2, 1}; s.key_offsets = {0, 2, 5}; s.request.query_offsets = s.offsets; s.request.key_offsets = s.key_offsets; }, "query_offsets[2] is 1 after 2; offsets must ascend"},
    {"offsets_past_the_end", [](Sound& s) { s.offsets = {0, 3}; s.key_offsets = {0, 6}; s.request.query_offsets = s.offsets; s.request.key_offsets = s.key_offsets; }, "key_offsets ends at 6; there are 5 keys"},
    {"lengths_and_offsets", [](Sound& s) { s.offsets = {0, 3}; s.lengths = {3, 3}; s.request.query_offsets = s.request.key_offsets = s.offsets; s.request.key_lengths = s.lengths; }, "lengths and document offsets were both given; expected one or the other"},
    {"scale_nan", [](Sound& s) { s.request.scale = std::nan(""); }, "scale is nan; expected a finite number"},
    {"scale_infinite", [](Sound& s) { s.request.scale = INFINITY; }, "scale is inf; expected a finite number"},
    {"soft_cap_nan", [](Sound& s) { s.request.soft_cap = std::nan(""); }, "soft_cap is nan; expected a finite number from 0 on (0: none)"},
    {"soft_cap_infinite", [](Sound& s) { s.request.soft_cap = INFINITY; }, "soft_cap is inf; expected a finite number from 0 on"},
    {"soft_cap_negative", [](Sound& s) { s.request.soft_cap = -30.0; }, "soft_cap is -30; expected a finite number from 0 on"},
    {"negative_threads", [](Sound& s) { s.execution.threads = -1; }, "threads is -1; expected 0"},
    {"parameters_for_other_heads", [](Sound& s) { s.normalizer = Softmax{.beta = {1.0, 2.0, 3.0}}; }, "beta of softmax has 3 values for 4 heads"},
    {"linear_with_bias", [](Sound& s) { s.add_bias(); s.normalizer = Linear{}; }, "linear has no scores to add a bias to", ErrorCode::unsupported},
    {"linear_with_soft_cap", [](Sound& s) { s.request.soft_cap = 30.0; s.normalizer = Linear{}; }, "linear has no scores to cap", ErrorCode::unsupported},
    {"linear_with_scale", [](Sound& s) { s.request.scale = 0.5; s.normalizer = Linear{}; }, "linear has no scores to scale", ErrorCode::unsupported},
};

class BadRequest : public testing::TestWithParam<Mistake> {};
TEST_P(BadRequest, IsRefusedByAttendAndByItsBackward) {
  Sound sound;
  GetParam().make(sound);
  expect_error([&] { sound.attend(); }, GetParam().code, GetParam().says);
  std::string says = GetParam().says;
  if (says.starts_with("attend: ")) says = "attend_backward: " + says.substr(8);
  expect_error([&] { sound.attend_backward(); }, GetParam().code, says);
}
INSTANTIATE_TEST_SUITE_P(Attention, BadRequest, testing::ValuesIn(kRequestMistakes), name_of_mistake);

template <std::size_t Rank>
TensorView<double, Rank> doubles(Sound& s, const Extents<Rank>& shape) { return {s.doubles.data(), shape}; }
template <std::size_t Rank>
TensorView<std::int64_t, Rank> integers(Sound& s, const Extents<Rank>& shape) { return {s.integers.data(), shape}; }

const Mistake kForwardMistakes[] = {
    {"out_of_another_shape", [](Sound& s) { s.out.shape[3] = 8; }, "attend: out has shape [2, 4, 3, 8]; expected [2, 4, 3, 6] (batch, query head, query, value feature)"},
    {"out_of_another_type", [](Sound& s) { s.out.dtype = DType::float16; }, "out is float16; expected float32 or the inputs' float32"},
    {"null_out", [](Sound& s) { s.out.data = nullptr; }, "out has shape [2, 4, 3, 6] but no data"},
    {"out_broadcast", [](Sound& s) { s.out.strides[1] = 0; }, "an output's strides must be positive and lead to every element once"},
    {"out_backwards", [](Sound& s) { s.out.strides[0] = -72; }, "an output's strides must be positive"},
    {"out_rows_overlap", [](Sound& s) { s.out.strides[2] = 5; }, "lead to every element once"},
    {"out_is_the_query", [](Sound& s) { s.out = Sound::view(s.query, {2, 4, 3, 6}); }, "out shares memory with query; they must be apart"},
    {"out_is_the_value", [](Sound& s) { s.request.value = TensorView<const float, 4>(s.out_data.data() + 60, {2, 2, 5, 6}, {6, 6, 6, 1}); }, "out shares memory with value"},
    {"entropy_of_another_shape", [](Sound& s) { s.statistics.entropy = doubles<3>(s, {2, 4, 4}); }, "statistics.entropy has shape [2, 4, 4]; expected [2, 4, 3]"},
    {"peak_key_without_data", [](Sound& s) { s.statistics.peak_key.shape = {2, 4, 3}; }, "statistics.peak_key has shape [2, 4, 3] but no data"},
    {"statistics_share_memory", [](Sound& s) { s.statistics.entropy = s.statistics.mass = doubles<3>(s, {2, 4, 3}); }, "shares memory with statistics."},
    {"statistic_broadcast", [](Sound& s) { s.statistics.mass = {s.doubles.data(), {2, 4, 3}, {12, 0, 1}}; }, "statistics.mass has shape [2, 4, 3] and strides [12, 0, 1]"},
    {"top_keys_alone", [](Sound& s) { s.statistics.top_keys = integers<4>(s, {2, 4, 3, 2}); }, "statistics.top_keys is there without statistics.top_weights; both or neither"},
    {"top_weights_alone", [](Sound& s) { s.statistics.top_weights = doubles<4>(s, {2, 4, 3, 2}); }, "statistics.top_weights is there without statistics.top_keys"},
    {"top_of_different_k", [](Sound& s) { s.statistics.top_keys = integers<4>(s, {2, 4, 3, 2}); s.statistics.top_weights = doubles<4>(s, {2, 4, 3, 3}); }, "statistics.top_weights has shape [2, 4, 3, 3]; expected [2, 4, 3, 2]"},
    {"gap_counts_of_another_number", [](Sound& s) { s.statistics.gap_counts = integers<4>(s, {2, 4, 3, 7}); }, "statistics.gap_counts has shape [2, 4, 3, 7]; expected [2, 4, 3, 8]"},
    {"gaps_fall", [](Sound& s) { s.gaps = {1.0, 0.5}; s.statistics.gaps = s.gaps; s.statistics.gap_counts = integers<4>(s, {2, 4, 3, 2}); }, "statistics.gaps[1] is 0.5 after 1; gaps must be positive and ascending"},
    {"gap_not_positive", [](Sound& s) { s.gaps = {0.0}; s.statistics.gaps = s.gaps; s.statistics.gap_counts = integers<4>(s, {2, 4, 3, 1}); }, "statistics.gaps[0] is 0 after 0"},
    {"gap_nan", [](Sound& s) { s.gaps = {std::nan("")}; s.statistics.gaps = s.gaps; s.statistics.gap_counts = integers<4>(s, {2, 4, 3, 1}); }, "statistics.gaps[0] is nan"},
    {"column_mass_of_another_shape", [](Sound& s) { s.statistics.column_mass = doubles<3>(s, {2, 4, 3}); }, "statistics.column_mass has shape [2, 4, 3]; expected [2, 4, 5]"},
    {"map_of_other_heads", [](Sound& s) { s.statistics.map = doubles<4>(s, {2, 2, 2, 2}); }, "statistics.map has shape [2, 2, 2, 2]; expected [2, 4, 2, 2]"},
    {"map_without_rows", [](Sound& s) { s.statistics.map = doubles<4>(s, {2, 4, 0, 2}); }, "statistics.map has 0 x 2 blocks; expected 1 to"},
};

class BadForward : public testing::TestWithParam<Mistake> {};
TEST_P(BadForward, IsRefused) {
  Sound sound;
  GetParam().make(sound);
  expect_error([&] { sound.attend(); }, GetParam().code, GetParam().says);
}
INSTANTIATE_TEST_SUITE_P(Attention, BadForward, testing::ValuesIn(kForwardMistakes), name_of_mistake);

const Mistake kBackwardMistakes[] = {
    {"d_out_of_another_shape", [](Sound& s) { s.d_out.shape[2] = 2; }, "attend_backward: d_out has shape [2, 4, 2, 6]; expected [2, 4, 3, 6]"},
    {"d_out_of_another_type", [](Sound& s) { s.d_out.dtype = DType::float64; }, "d_out is float64; expected float32 or the inputs' float32"},
    {"null_d_out", [](Sound& s) { s.d_out.data = nullptr; }, "d_out has shape [2, 4, 3, 6] but no data"},
    {"d_out_not_contiguous", [](Sound& s) { s.d_out.strides[3] = 0; }, "d_out has stride 0 in its last dimension"},
    {"query_gradient_of_another_shape", [](Sound& s) { s.gradients.query = Sound::view(s.d_query, {2, 4, 3, 4}); }, "gradients.query has shape [2, 4, 3, 4]; expected [2, 4, 3, 8]"},
    {"key_gradient_of_half_precision", [](Sound& s) { s.gradients.key = Sound::view(s.d_key, {2, 2, 5, 8}); s.gradients.key.dtype = DType::bfloat16; }, "gradients.key is bfloat16; expected float32"},
    {"value_gradient_is_the_value", [](Sound& s) { s.gradients.value = Sound::view(s.value, {2, 2, 5, 6}); }, "gradients.value shares memory with value"},
    {"gradients_share_memory", [](Sound& s) { s.gradients.key = Sound::view(s.d_query, {2, 2, 5, 8}); s.gradients.query = Sound::view(s.d_query, {2, 4, 3, 8}); }, "gradients.key shares memory with gradients.query"},
    {"bias_gradient_without_bias", [](Sound& s) { s.gradients.bias = Sound::view(s.d_bias, {1, 4, 3, 5}); }, "gradients.bias is wanted but there is no bias"},
    {"bias_gradient_of_another_shape", [](Sound& s) { s.add_bias(); s.gradients.bias = Sound::view(s.d_bias, {1, 1, 3, 5}); }, "gradients.bias has shape [1, 1, 3, 5]; expected [1, 4, 3, 5]"},
    {"parameter_gradient_of_another_shape", [](Sound& s) { s.gradients.parameters = doubles<2>(s, {2, 4}); }, "gradients.parameters has shape [2, 4]; expected [1, 4] (parameter, query head)"},
    {"saved_out_alone", [](Sound& s) { s.saved.out = s.d_out; }, "saved.out is there without saved.log_partition; both or neither"},
    {"saved_log_partition_alone", [](Sound& s) { s.saved.log_partition = doubles<3>(s, {2, 4, 3}); }, "saved.log_partition is there without saved.out"},
    {"saved_out_of_another_shape", [](Sound& s) { s.saved.out = s.d_out; s.saved.out.shape[3] = 5; s.saved.log_partition = doubles<3>(s, {2, 4, 3}); }, "saved.out has shape [2, 4, 3, 5]; expected [2, 4, 3, 6]"},
    {"saved_temperature_of_another_shape", [](Sound& s) { s.saved.temperature = doubles<3>(s, {2, 4, 5}); }, "saved.temperature has shape [2, 4, 5]; expected [2, 4, 3]"},
    {"no_backward", [](Sound& s) { s.normalizer = Entmax{.alpha = 3.0}; }, "attend_backward: entmax:alpha=3 has no backward", ErrorCode::unsupported},
};

class BadBackward : public testing::TestWithParam<Mistake> {};
TEST_P(BadBackward, IsRefused) {
  Sound sound;
  GetParam().make(sound);
  expect_error([&] { sound.attend_backward(); }, GetParam().code, GetParam().says);
}
INSTANTIATE_TEST_SUITE_P(Attention, BadBackward, testing::ValuesIn(kBackwardMistakes), name_of_mistake);

TEST(AttentionArguments, HeadsWiderThan256AreUnsupportedByName) {
  Sound s;
  std::vector<float> wide(2 * 4 * 5 * 257);
  s.request.query = TensorView<const float, 4>(wide.data(), {2, 4, 3, 257});
  s.request.key = TensorView<const float, 4>(wide.data(), {2, 2, 5, 257});
  expect_error([&] { s.attend(); }, ErrorCode::unsupported, "queries have 257 features; heads of up to 256 are supported");
  Sound v;
  v.request.value = TensorView<const float, 4>(wide.data(), {2, 2, 5, 257});
  expect_error([&] { v.attend(); }, ErrorCode::unsupported, "values have 257 features; heads of up to 256 are supported");
}

TEST(AttentionArguments, TheSoundCallIsAccepted) {
  Sound s;
  s.add_bias();
  s.add_mask();
  s.statistics.entropy = doubles<3>(s, {2, 4, 3});
  s.gradients.query = Sound::view(s.d_query, {2, 4, 3, 8});
  s.gradients.bias = Sound::view(s.d_bias, {1, 4, 3, 5});
  EXPECT_NO_THROW(s.attend());
  EXPECT_NO_THROW(s.attend_backward());
  s.execution.threads = std::numeric_limits<int>::max();  // cut to what a machine can start
  EXPECT_NO_THROW(s.attend());
}

TEST(AttentionArguments, SlicesOfOnePackedArrayMayInterleave) {
  // Gradients of a packed projection: [batch, row, head of query, key or value, feature].
  Sound s;
  std::vector<float> packed(2 * 5 * (4 + 2 + 2) * 8);
  const Extents<4> strides = {5 * 8 * 8, 8, 8 * 8, 1};
  std::vector<float> value(2 * 2 * 5 * 8), out(2 * 4 * 5 * 8), query(2 * 4 * 5 * 8);
  s.request.query = TensorView<const float, 4>(query.data(), {2, 4, 5, 8});
  s.request.value = TensorView<const float, 4>(value.data(), {2, 2, 5, 8});
  s.d_out = TensorView<const float, 4>(out.data(), {2, 4, 5, 8});
  s.gradients.query = TensorView<float, 4>(packed.data(), {2, 4, 5, 8}, strides);
  s.gradients.key = TensorView<float, 4>(packed.data() + 4 * 8, {2, 2, 5, 8}, strides);
  s.gradients.value = TensorView<float, 4>(packed.data() + 6 * 8, {2, 2, 5, 8}, strides);
  EXPECT_NO_THROW(s.attend_backward());
  s.gradients.value = TensorView<float, 4>(packed.data() + 5 * 8, {2, 2, 5, 8}, strides);  // a head too early
  expect_error([&] { s.attend_backward(); }, ErrorCode::bad_argument, "gradients.value shares memory with gradients.key");
}

TEST(AttentionArguments, NoKeysNoQueriesAndNoBatchAreNotMistakes) {
  for (const Extents<3>& sizes : {Extents<3>{2, 3, 0}, Extents<3>{2, 0, 5}, Extents<3>{0, 3, 5}}) {
    const auto [batches, queries, keys] = sizes;
    std::vector<float> data(1000, 1.0f), out(1000, 7.0f);
    AttentionRequest request;
    request.query = TensorView<const float, 4>(data.data(), {batches, 4, queries, 8});
    request.key = AnyTensor<4>(keys == 0 ? nullptr : data.data(), DType::float32, {batches, 2, keys, 8});
    request.value = AnyTensor<4>(keys == 0 ? nullptr : data.data(), DType::float32, {batches, 2, keys, 8});
    attend(request, Softmax{}, TensorView<float, 4>(out.data(), {batches, 4, queries, 8}));
    for (std::int64_t i = 0; i < batches * 4 * queries * 8; ++i) {
      EXPECT_EQ(out[static_cast<std::size_t>(i)], keys == 0 ? 0.0f : 1.0f);
    }
  }
}

TEST(NormalizeArguments, EachMistakeHasItsSentence) {
  std::vector<float> scores(24), weights(24), d_scores(24);
  std::vector<double> exact(24);
  const auto view = [](std::vector<float>& v) { return TensorView<float, 4>(v.data(), {1, 2, 3, 4}); };
  const AnyTensor<4> sound = view(scores);
  const auto refuse = [&](const AnyTensor<4>& s, const AnyNormalizer& n, const AnyMutableTensor<4>& w, const char* says,
                          ErrorCode code = ErrorCode::bad_argument) {
    expect_error([&] { normalize(s, n, w); }, code, says);
  };
  refuse(sound, Linear{}, view(weights), "normalize: linear is not a function of scores; it works through attend only", ErrorCode::unsupported);
  AnyTensor<4> half = sound;
  half.dtype = DType::float16;
  refuse(half, Softmax{}, view(weights), "scores are float16; expected float32 or float64");
  refuse(sound, Softmax{}, TensorView<double, 4>(exact.data(), {1, 2, 3, 4}), "weights are float64, scores float32; they must agree");
  refuse(sound, Softmax{}, TensorView<float, 4>(weights.data(), {1, 2, 4, 3}), "weights has shape [1, 2, 4, 3]; expected [1, 2, 3, 4]");
  refuse(sound, Softmax{}, view(scores), "weights shares memory with scores");
  refuse(sound, Softmax{.beta = {1.0, 2.0, 3.0}}, view(weights), "normalize: beta of softmax has 3 values for 2 heads");
  AnyTensor<4> strided = sound;
  strided.strides[3] = 3;
  refuse(strided, Softmax{}, view(weights), "scores has stride 3 in its last dimension");
  AnyTensor<4> headless = sound;
  headless.shape[1] = 0;
  refuse(headless, Softmax{}, view(weights), "scores have 0 heads; expected at least 1");
  expect_error([&] { normalize(sound, Softmax{}, view(weights), nullptr, {.threads = -2}); }, ErrorCode::bad_argument,
               "normalize: threads is -2");
  RowStatistics statistics;
  statistics.entropy = {exact.data(), {1, 2, 4}};
  expect_error([&] { normalize(sound, Softmax{}, view(weights), &statistics); }, ErrorCode::bad_argument,
               "normalize: statistics.entropy has shape [1, 2, 4]; expected [1, 2, 3]");
  EXPECT_NO_THROW(normalize(sound, Softmax{}, view(weights)));

  const auto refuse_backward = [&](const AnyNormalizer& n, const AnyTensor<4>& d_weights, const AnyMutableTensor<4>& d,
                                   const TensorView<double, 2>& p, const char* says, ErrorCode code) {
    expect_error([&] { normalize_backward(sound, n, d_weights, d, p); }, code, says);
  };
  const auto bad = ErrorCode::bad_argument;
  refuse_backward(Linear{}, view(weights), view(d_scores), {}, "normalize_backward: linear is not a function of scores", ErrorCode::unsupported);
  refuse_backward(Entmax{.alpha = 4.0}, view(weights), view(d_scores), {}, "entmax:alpha=4 has no backward", ErrorCode::unsupported);
  refuse_backward(Softmax{}, TensorView<float, 4>(weights.data(), {1, 2, 2, 4}), view(d_scores), {}, "d_weights has shape [1, 2, 2, 4]; expected [1, 2, 3, 4]", bad);
  refuse_backward(Softmax{}, view(weights), TensorView<double, 4>(exact.data(), {1, 2, 3, 4}), {}, "d_scores are float64, scores float32", bad);
  refuse_backward(Softmax{}, view(weights), view(weights), {}, "d_scores shares memory with d_weights", bad);
  refuse_backward(Softmax{}, view(weights), view(d_scores), {exact.data(), {1, 3}}, "gradients.parameters has shape [1, 3]; expected [1, 2]", bad);
  EXPECT_NO_THROW(normalize_backward(sound, Softmax{}, view(weights), view(d_scores)));
}

}  // namespace
}  // namespace sharpmax::test
