// The law of a plan: making it takes all the memory, running it takes none.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "attention/plan/plan.h"
#include "support/attention_cases.h"
#include "support/attention_normalizers.h"
#include "support/attention_plain.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHARPMAX_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHARPMAX_SANITIZED
#endif
#endif

namespace {

std::atomic<std::int64_t> allocations{0};

}  // namespace

// A sanitizer has operators of its own, which must not be mixed with ours.
#ifndef SHARPMAX_SANITIZED
namespace {

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(std::max<std::size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}

}  // namespace

// For this program. Aligned buffers have their own functions, which no kernel or plan calls but through
// allocate_floats and RowWorkspace.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace sharpmax::test {
namespace {

std::int64_t allocations_of(Plan& plan) {
  plan.run();  // threads are started once
  const std::int64_t before = allocations;
  plan.run();
  return allocations - before;
}

class PlanLaws : public testing::TestWithParam<std::string> {};

TEST_P(PlanLaws, RunningAPlanAllocatesNothing) {
#ifdef SHARPMAX_SANITIZED
  GTEST_SKIP() << "allocations are the sanitizer's";
#endif
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  for (const AttentionCase& c : attention_cases()) {
    if (normalizer.definition().needs_queries_and_keys && c.speaks_of_scores()) continue;
    SCOPED_TRACE(c.name);
    AttentionProblem problem(c);
    Buffer out = problem.make_out(c.out_type);
    AllStatistics* statistics = problem.make_statistics();
    GradientBuffers gradients(problem, normalizer, DType::float32);
    const AttentionGradients views = gradients.view();
    const Saved nothing;
    for (const int threads : {1, 2}) {
      const ForwardCall plain{problem.request, normalizer, problem.segments, out.output(), nullptr, threads};
      const ForwardCall watched{problem.request,    normalizer, problem.segments, out.output(),
                                &statistics->view, threads};
      const BackwardCall back{problem.request, normalizer, problem.segments, problem.d_out().input(), views,
                              nothing,         threads};
      EXPECT_EQ(allocations_of(*plan_forward(plain)), 0) << threads << " threads";
      EXPECT_EQ(allocations_of(*plan_forward(watched)), 0) << threads << " threads, with statistics";
      EXPECT_EQ(allocations_of(*plan_backward(back)), 0) << threads << " threads, backward";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryForm, PlanLaws,
                         testing::Values("softmax", "adaptive", "entropy_target", "entmax15", "linear"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
