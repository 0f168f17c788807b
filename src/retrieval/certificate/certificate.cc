// Branch and bound over the query, a grid over the priority, and what Taylor's theorem leaves between them.
//
// Scores of item (rho, c) under query y: f = sum_j t_j(y) g_j(rho, c), up to what all items share. In a cell
// |y - y0| <= r, |rho - rho0| <= s, with v = y - y0,
//   f(rho, c, y) = f0 + f_rho (rho - rho0) + f_y v + remainder,
//   |remainder| <= s^2/2 max |f_rho_rho| + s r max |f_rho_y| + r^2/2 max |f_yy|.
// So every f lies between two lines in v, and the largest upper line less the least lower line is convex in
// v: over the cell it is largest at one of the two ends. |f_rho_rho| <= sum_j |t_j| a_j^2 max |GELU''| and so
// on, with bounds of GELU's derivatives over all arguments.
#include "retrieval/certificate/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <queue>
#include <vector>

#include "base/numbers.h"
#include "machine/blas.h"
#include "retrieval/head/folded.h"
#include "retrieval/head/head.h"
#include "theory/dispersion.h"

namespace sharpmax::retrieval {

// How far a score computed in double, folded or not, may be from the head's own in exact arithmetic, for any
// item and query.
double rounding_of_scores(const Head& head) {
  // The same head with every weight made positive: its T bounds the sum of what is added up in any order of
  // the products, and |GELU(x)| <= |x| bounds the features.
  Head positive = head;
  for (double& value : positive.parameters) value = std::abs(value);
  const FoldedHead folded(positive);
  const auto largest_feature = [&](std::size_t j, const std::vector<double>& slope,
                                   const std::vector<double>& offset, std::size_t rows) {
    double largest = 0.0;
    for (std::size_t row = 0; row < rows; ++row)
      largest = std::max(largest, slope[j] + offset[row * slope.size() + j]);
    return largest;
  };
  const auto items = static_cast<std::size_t>(folded.item_features) + 1;
  const auto queries = static_cast<std::size_t>(folded.query_features) + 1;
  const bool mlp = folded.encoder == Encoder::mlp;
  double size = 0.0;
  for (std::size_t j = 0; j < items; ++j) {
    const bool feature = mlp && j + 1 < items;
    const double g = feature ? largest_feature(j, folded.item_slope, folded.item_offset,
                                               static_cast<std::size_t>(folded.classes))
                             : 1.0;
    for (std::size_t k = 0; k < queries; ++k) {
      const double h =
          mlp && k + 1 < queries ? largest_feature(k, folded.query_slope, folded.query_offset, 1) : 1.0;
      size += folded.score[j * queries + k] * g * h;
    }
  }
  // On the way to a score lie six products of matrices, each a sum of at most width + classes + 1 terms, and
  // two GELUs. Those err by a few units in the last place of the argument, which comes out multiplied by at
  // most 1 + |x| times 1.6: within 64 roundings for the arguments below 8 that are not yet saturated.
  const double roundings =
      6.0 * static_cast<double>(head.training.width + head.training.classes + 2) + 2.0 * 64.0;
  return roundings * std::numeric_limits<double>::epsilon() * size;
}

namespace {

constexpr double kTolerance = 1e-4;  // certified / attained - 1 at which the search ends
constexpr std::int64_t kLeastGrid = 64, kMostGrid = 2048;  // cells of the priority
constexpr double kWork = 3e9;  // multiplications after which the search ends with what it has

// Features and their slopes at the centres of the cells of a grid: [cell, class] x [width].
struct Grid {
  Grid(const FoldedHead& head, std::int64_t cells) : radius(0.5 / static_cast<double>(cells)) {
    for (std::int64_t cell = 0; cell < cells; ++cell)
      for (std::int64_t c = 0; c < head.classes; ++c)
        for (std::int64_t j = 0; j < head.width; ++j) {
          const double slope = head.item_slope[to_size(j)];
          const double x = slope * centre(cell) + head.item_offset[to_size(c * head.width + j)];
          features.push_back(gelu(x));
          slopes.push_back(slope * gelu_slope(x));
        }
  }
  double centre(std::int64_t cell) const { return static_cast<double>(2 * cell + 1) * radius; }

  double radius;
  std::vector<double> features, slopes;
};

struct QueryCell {
  double centre = 0.5, radius = 0.5;
  std::int64_t grid = kLeastGrid;
  double bound = 0.0;        // of the spread within
  bool split_query = false;  // rather than refine the grid
  bool operator<(const QueryCell& other) const { return bound < other.bound; }
};

class SpreadSearch {
 public:
  explicit SpreadSearch(const FoldedHead& head);
  SpreadCertificate run();

 private:
  std::vector<double> query_slope(double y) const;  // dt/dy
  void examine(QueryCell& cell);
  double score(const std::vector<double>& t, double rho, std::int64_t c) const;
  void try_near(const QueryCell& cell, const Grid& grid, std::size_t high, std::size_t low);
  const Grid& grid_of(std::int64_t cells);

  const FoldedHead& head_;
  std::vector<double> first_, second_;  // of t: bounds of |t'|, |t''| over all y
  std::vector<double> range_;           // of g: a bound of max - min over rho and c
  std::map<std::int64_t, Grid> grids_;
  double attained_ = 0.0;
  double work_ = 0.0;
};

SpreadSearch::SpreadSearch(const FoldedHead& head) : head_(head) {
  const std::int64_t columns = head.query_features + 1;
  for (std::int64_t j = 0; j < head.width; ++j) {
    double first = 0.0, second = 0.0, low = 0.0, high = 0.0;
    for (std::int64_t k = 0; k < head.width; ++k) {
      const double t = std::abs(head.score[to_size(j * columns + k)]);
      const double slope = std::abs(head.query_slope[to_size(k)]);
      first += t * slope * kLargestGeluSlope;
      second += t * slope * slope * kLargestGeluCurvature;
    }
    for (std::int64_t c = 0; c < head.classes; ++c) {
      const double x = head.item_offset[to_size(c * head.width + j)], slope = head.item_slope[to_size(j)];
      low = c == 0 ? std::min(x, x + slope) : std::min({low, x, x + slope});
      high = c == 0 ? std::max(x, x + slope) : std::max({high, x, x + slope});
    }
    first_.push_back(first);
    second_.push_back(second);
    range_.push_back(
        std::min((high - low) * kLargestGeluSlope, 2.0 * std::max(std::abs(low), std::abs(high))));
  }
}

std::vector<double> SpreadSearch::query_slope(double y) const {
  std::vector<double> slopes(to_size(head_.width), 0.0);
  const std::int64_t columns = head_.query_features + 1;
  for (std::int64_t k = 0; k < head_.width; ++k) {
    const double a = head_.query_slope[to_size(k)];
    const double h = a * gelu_slope(a * y + head_.query_offset[to_size(k)]);
    for (std::int64_t j = 0; j < head_.width; ++j)
      slopes[to_size(j)] += head_.score[to_size(j * columns + k)] * h;
  }
  return slopes;
}

const Grid& SpreadSearch::grid_of(std::int64_t cells) {
  const auto found = grids_.find(cells);
  return found != grids_.end() ? found->second : grids_.emplace(cells, Grid(head_, cells)).first->second;
}

double SpreadSearch::score(const std::vector<double>& t, double rho, std::int64_t c) const {
  double sum = 0.0;
  for (std::int64_t j = 0; j < head_.width; ++j)
    sum += t[to_size(j)] *
           gelu(head_.item_slope[to_size(j)] * rho + head_.item_offset[to_size(c * head_.width + j)]);
  return sum;
}

// The ends and the middle of a cell of the query against those of two cells of the grid.
void SpreadSearch::try_near(const QueryCell& cell, const Grid& grid, std::size_t high, std::size_t low) {
  const auto classes = to_size(head_.classes);
  for (const double end : {-1.0, 0.0, 1.0}) {
    const auto t = head_.query_vector(cell.centre + end * cell.radius);
    const auto at = [&](std::size_t item, double side) {
      return score(t, grid.centre(static_cast<std::int64_t>(item / classes)) + side * grid.radius,
                   static_cast<std::int64_t>(item % classes));
    };
    const double most = std::max({at(high, -1.0), at(high, 0.0), at(high, 1.0)});
    const double least = std::min({at(low, -1.0), at(low, 0.0), at(low, 1.0)});
    attained_ = std::max(attained_, most - least);
  }
}

void SpreadSearch::examine(QueryCell& cell) {
  const Grid& grid = grid_of(cell.grid);
  const std::int64_t items = cell.grid * head_.classes, width = head_.width;
  const auto t = head_.query_vector(cell.centre);
  const auto slope = query_slope(cell.centre);
  std::vector<double> values(to_size(items)), by_query(to_size(items)), by_priority(to_size(items));
  const auto multiply = [&](const std::vector<double>& rows, const std::vector<double>& x,
                            std::vector<double>& y) {
    gemm(1.0, Matrix<const double>(rows.data(), items, width), Matrix<const double>(x.data(), width, 1), 0.0,
         Matrix<double>(y.data(), items, 1));
  };
  multiply(grid.features, t, values);
  multiply(grid.features, slope, by_query);
  multiply(grid.slopes, t, by_priority);
  work_ += 3.0 * static_cast<double>(items * width);

  const double s = grid.radius, r = cell.radius;
  double from_priority = 0.0, from_query = 0.0;  // remainders of two items together
  for (std::size_t j = 0; j < to_size(width); ++j) {
    const double a = std::abs(head_.item_slope[j]);
    from_priority += s * s * (std::abs(t[j]) + r * first_[j]) * a * a * kLargestGeluCurvature;
    from_query += 2.0 * s * r * first_[j] * a * kLargestGeluSlope + 0.5 * r * r * second_[j] * range_[j];
  }
  cell.split_query = cell.grid >= kMostGrid || from_query > from_priority;
  cell.bound = 0.0;
  for (const double end : {-r, r}) {
    std::size_t high = 0, low = 0;
    double most = -std::numeric_limits<double>::infinity(), least = -most;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double middle = values[i] + end * by_query[i], reach = s * std::abs(by_priority[i]);
      if (middle + reach > most) most = middle + reach, high = i;
      if (middle - reach < least) least = middle - reach, low = i;
    }
    cell.bound = std::max(cell.bound, most - least + from_priority + from_query);
    try_near(cell, grid, high, low);
  }
}

SpreadCertificate SpreadSearch::run() {
  std::priority_queue<QueryCell> cells;
  QueryCell whole;
  examine(whole);
  cells.push(whole);
  while (cells.top().bound > attained_ * (1.0 + kTolerance) && work_ < kWork) {
    const QueryCell worst = cells.top();
    cells.pop();
    std::vector<QueryCell> parts(1, worst);
    if (worst.split_query) {
      parts.assign(2, worst);
      for (QueryCell& part : parts) part.radius = 0.5 * worst.radius;
      parts[0].centre -= 0.5 * worst.radius;
      parts[1].centre += 0.5 * worst.radius;
    } else {
      parts[0].grid *= 2;
    }
    for (QueryCell& part : parts) {
      examine(part);
      part.bound = std::min(part.bound, worst.bound);
      cells.push(part);
    }
  }
  return {.certified = cells.top().bound, .attained = attained_};
}

// Affine in the priority of either item and in the query, one at a time: largest in a corner.
SpreadCertificate corners(const FoldedHead& head) {
  double largest = 0.0;
  for (const double y : {0.0, 1.0}) {
    const auto t = head.query_vector(y);
    const auto [least, most] = std::minmax_element(t.begin() + 1, t.end() - 1);
    largest = std::max(largest, *most - *least + std::abs(t[0]));
  }
  return {.certified = largest, .attained = largest};
}

}  // namespace

SpreadCertificate certify_spread(const Head& head) {
  const SerialBlas serial;
  const FoldedHead folded(head);
  SpreadCertificate found = folded.encoder == Encoder::linear ? corners(folded) : SpreadSearch(folded).run();
  const double slack = 2.0 * rounding_of_scores(head);        // two scores make a spread
  found.certified = found.certified * (1.0 + 1e-12) + slack;  // the remainders' own sums round, too
  found.attained = std::max(found.attained - slack, 0.0);
  return found;
}

// beta * delta is all that matters. theory's functions take finite numbers only; a diverged head has others.
double largest_possible_weight(double n, double delta, double beta) {
  const double width = beta * delta;
  if (!std::isfinite(width)) return std::isnan(width) ? width : 1.0;
  return theory::dispersion_range(width, n).high;
}

double log10_half_lost_from(double delta, double beta) {
  const double width = beta * delta;
  if (!std::isfinite(width)) return width;
  return theory::log_sharp_length(width, 0.5) / std::numbers::ln10;
}

}  // namespace sharpmax::retrieval
