// Two parallel loops over the same memory: with the barrier between them, and (race) without.
#include <cstdio>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  const bool race = argc == 2 && std::string_view(argv[1]) == "race";
  constexpr int kSize = 100000;
  std::vector<int> values(kSize, 1);
  int* const data = values.data();
  long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    if (race) {
#pragma omp for nowait
      for (int i = 0; i < kSize; ++i) data[i] += i;
    } else {
#pragma omp for
      for (int i = 0; i < kSize; ++i) data[i] += i;
    }
#pragma omp for
    for (int i = 0; i < kSize; ++i) sum += data[kSize - 1 - i];
  }
  std::printf("%ld\n", sum);
  return 0;
}
