// Products of learning/products.h against sums in double, in every instruction set: shapes that do not fill a tile, a panel or a
// block of the inner dimension, operands that lie in columns, and any cut of the rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "learning/products.h"
#include "support/attention_normalizers.h"

namespace sharpmax::test {
namespace {

using namespace learning;

struct Shape {
  std::size_t rows, inner, columns;
};

std::vector<float> random_floats(std::size_t count, std::mt19937& random) {
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-1.0f, 1.0f)(random);
  return values;
}

// rows x columns in memory that holds rows, or columns, with some floats between them.
Operand laid_out(const std::vector<float>& memory, std::size_t rows, std::size_t columns, bool transposed) {
  return transposed ? Operand{memory.data(), 1, rows + 3} : Operand{memory.data(), columns + 3, 1};
}
std::size_t memory_of(std::size_t rows, std::size_t columns) { return (rows + 3) * (columns + 3); }

float at(const Operand& m, std::size_t i, std::size_t j) { return m.data[i * m.row + j * m.column]; }

std::vector<float> product_of(const Operand& left, const Operand& right, const Shape& s, bool adds, const std::vector<float>& begin,
                              std::size_t cut) {
  std::vector<float> packed(packed_size(s.inner, s.columns)), c = begin;
  for (std::size_t panel = 0; panel < panels_of(s.columns); ++panel)
    pack_panels(right, s.inner, s.columns, panel, panel + 1, packed.data());
  for (std::size_t first = 0; first < s.rows; first += cut) {
    const std::size_t count = std::min(cut, s.rows - first);
    multiply_rows({{left.data + first * left.row, left.row, left.column}, count, s.inner, s.columns, packed.data(), adds,
                   c.data() + first * s.columns, s.columns});
  }
  return c;
}

TEST(TrainProducts, AreThoseOfSumsInDoubleAndDoNotDependOnTheCutOfTheRows) {
  const std::vector<Shape> shapes = {{1, 1, 1}, {6, 128, 64}, {7, 129, 65}, {5, 3, 17}, {23, 300, 66}, {64, 31, 2}, {13, 256, 130}, {4, 0, 5}};
  for_each_target([&](const std::string& target) {
    std::mt19937 random(7);
    for (const Shape& s : shapes)
      for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
        SCOPED_TRACE(target + " " + std::to_string(s.rows) + " " + std::to_string(s.inner) + " " + std::to_string(s.columns) + " form " +
                     std::to_string(form));
        const bool adds = (form & 4) != 0;
        const std::vector<float> a = random_floats(memory_of(s.rows, s.inner), random), b = random_floats(memory_of(s.inner, s.columns), random);
        const Operand left = laid_out(a, s.rows, s.inner, (form & 1) != 0), right = laid_out(b, s.inner, s.columns, (form & 2) != 0);
        // What c holds does not matter unless it is added to.
        const std::vector<float> begin = adds ? random_floats(s.rows * s.columns, random)
                                              : std::vector<float>(s.rows * s.columns, std::numeric_limits<float>::quiet_NaN());
        const std::vector<float> c = product_of(left, right, s, adds, begin, s.rows);
        for (std::size_t i = 0; i < s.rows; ++i)
          for (std::size_t j = 0; j < s.columns; ++j) {
            double sum = adds ? begin[i * s.columns + j] : 0.0, size = std::abs(sum);
            for (std::size_t k = 0; k < s.inner; ++k) {
              const double term = static_cast<double>(at(left, i, k)) * at(right, k, j);
              sum += term, size += std::abs(term);
            }
            const double allowed = static_cast<double>(s.inner + 1) * std::numeric_limits<float>::epsilon() * size;
            ASSERT_NEAR(c[i * s.columns + j], sum, allowed) << i << ", " << j;
          }
        EXPECT_EQ(product_of(left, right, s, adds, begin, 5), c);
      }
  });
}

}  // namespace
}  // namespace sharpmax::test
