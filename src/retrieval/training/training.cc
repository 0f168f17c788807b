#include "retrieval/training/training.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <variant>

#include "normalizer/definition.h"
#include "retrieval/training/head_kernels.h"
#include "sharpmax/job.h"

namespace sharpmax::retrieval {
namespace {

double learning_rate_at(const TrainingSettings& s, std::int64_t step) {
  const double done = static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(s.steps, 1));
  switch (s.schedule) {
    case Schedule::constant:
      return s.learning_rate;
    case Schedule::cosine:
      return s.learning_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(done, 1.0)));
    case Schedule::geometric:
      return s.learning_rate * std::pow(s.final_learning_rate / s.learning_rate, std::min(done, 1.0));
  }
  return s.learning_rate;
}

template <class Real>
std::vector<Real> narrowed(std::span<const double> values) {
  return {values.begin(), values.end()};
}

template <class Real>
std::vector<double> widened(std::span<const Real> values) {
  return {values.begin(), values.end()};
}

std::vector<double> first_values(const AnyNormalizer& normalizer) {
  const std::vector<bool> learned = learned_parameters(normalizer);
  std::vector<double> values(learned.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (learned[i]) values[i] = normalizer.parameters()[i].of_head(0);
  return values;
}

}  // namespace

// The parameters in the precision they are trained in, with Adam's moments of them.
template <class Real>
struct Trained {
  std::vector<Real> values, first, second, gradient;
  HeadGradient<Real> head;

  Trained(const TrainingSettings& settings, const TrainingState& state, std::size_t size)
      : values(narrowed<Real>(std::span(state.parameters).first(size))),
        first(narrowed<Real>(std::span(state.first_moment).first(size))),
        second(narrowed<Real>(std::span(state.second_moment).first(size))),
        gradient(size),
        head(settings) {}
};

struct Trainer::Implementation {
  TrainingSettings settings;
  std::uint64_t seed;
  std::int64_t done = 0;
  std::size_t size;  // of the head's parameters
  std::vector<bool> learned;
  std::vector<double> rule, rule_first, rule_second, d_rule;  // the normalizer's parameters
  Head current;  // for its normalizer() with learned values in place
  AnyNormalizer normalizer;
  Batch batch;
  std::variant<Trained<float>, Trained<double>> trained;

  Implementation(const TrainingSettings& s, std::uint64_t seed_, const TrainingState& state)
      : settings(s),
        seed(seed_),
        done(state.step),
        size(static_cast<std::size_t>(Layout(s.encoder, s.width, s.classes).size())),
        learned(learned_parameters(s.normalizer)),
        rule(state.normalizer_parameters),
        rule_first(state.first_moment.begin() + static_cast<std::ptrdiff_t>(size), state.first_moment.end()),
        rule_second(state.second_moment.begin() + static_cast<std::ptrdiff_t>(size),
                    state.second_moment.end()),
        d_rule(rule.size()),
        normalizer(s.normalizer),
        trained(s.precision == Precision::float32
                    ? std::variant<Trained<float>, Trained<double>>(std::in_place_index<0>, s, state, size)
                    : std::variant<Trained<float>, Trained<double>>(std::in_place_index<1>, s, state, size)) {
    current.training = settings;
    current.seed = seed;
    place_rule();
  }

  void place_rule() {
    current.normalizer_parameters = rule;
    normalizer = current.normalizer();
  }

  AdamStep adam_step(double gradient_norm) const {
    const double t = static_cast<double>(done + 1);
    return {.learning_rate = learning_rate_at(settings, done),
            .weight_decay = settings.weight_decay,
            .beta1 = settings.beta1,
            .beta2 = settings.beta2,
            .epsilon = settings.epsilon,
            .correction1 = 1.0 / (1.0 - std::pow(settings.beta1, t)),
            .correction2 = 1.0 / (1.0 - std::pow(settings.beta2, t)),
            .gradient_scale =
                settings.clip > 0.0 && gradient_norm > settings.clip ? settings.clip / gradient_norm : 1.0};
  }

  // A step that would leave a parameter's domain, or the part of it that has a gradient, is not taken.
  void step_rule(AdamStep step) {
    step.weight_decay = 0.0;
    bool moved = false;
    for (std::size_t i = 0; i < rule.size(); ++i) {
      if (!learned[i]) continue;
      const double before = rule[i];
      adam(step, &d_rule[i], 1, &rule[i], &rule_first[i], &rule_second[i]);
      if (!may_be(i, rule[i])) rule[i] = before;
      moved = moved || rule[i] != before;
    }
    if (moved) place_rule();
  }

  bool may_be(std::size_t i, double value) const {
    const Definition& definition = settings.normalizer.definition();
    if (!std::isfinite(value)) return false;
    if (definition.parameters[i].valid != nullptr && !definition.parameters[i].valid(value)) return false;
    if (definition.no_backward == nullptr) return true;
    Head candidate = current;
    candidate.normalizer_parameters = rule;
    const AnyNormalizer with = candidate.normalizer();
    return definition.no_backward(HeadParameters(with.parameters(), 0)).empty();
  }

  template <class Real>
  StepReport step(Trained<Real>& t) {
    draw_batch(settings, seed, done, batch);
    StepReport report = t.head.run(std::span<const Real>(t.values), normalizer, batch, t.gradient, d_rule);
    double squares = sum_of_squares(t.gradient.data(), size);
    for (std::size_t i = 0; i < rule.size(); ++i) squares += learned[i] ? d_rule[i] * d_rule[i] : 0.0;
    report.gradient_norm = std::sqrt(squares);
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm))
      throw RequestError(
          ErrorCode::unsupported,
          fmt::format("retrieve: at step {} of seed {} the loss is {} and the gradient's norm {}; training cannot "
                      "go on, try a smaller learning rate, {} or another training normalizer",
                      done, seed, report.loss, report.gradient_norm, named("clip", "1")));
    const AdamStep step = adam_step(report.gradient_norm);
    adam(step, t.gradient.data(), size, t.values.data(), t.first.data(), t.second.data());
    step_rule(step);
    ++done;
    return report;
  }
};

namespace {

TrainingState initial_state(const TrainingSettings& settings, std::uint64_t seed) {
  validate(settings);
  TrainingState state;
  state.parameters = initial_parameters(settings, seed);
  state.normalizer_parameters = first_values(settings.normalizer);
  const std::size_t moments = state.parameters.size() + state.normalizer_parameters.size();
  state.first_moment.assign(moments, 0.0);
  state.second_moment.assign(moments, 0.0);
  return state;
}

void check_state(const TrainingSettings& settings, const TrainingState& state) {
  validate(settings);
  const auto parameters =
      static_cast<std::size_t>(Layout(settings.encoder, settings.width, settings.classes).size());
  const std::size_t moments = parameters + settings.normalizer.parameters().size();
  if (state.parameters.size() != parameters || state.first_moment.size() != moments ||
      state.second_moment.size() != moments || state.normalizer_parameters.size() != moments - parameters)
    throw Error(
        ErrorCode::bad_argument,
        fmt::format(
            "retrieve: a state of {} parameters and {} moments was given to a head that has {} and {}",
            state.parameters.size(), state.first_moment.size(), parameters, moments));
}

}  // namespace

Trainer::Trainer(const TrainingSettings& settings, std::uint64_t seed)
    : Trainer(settings, seed, initial_state(settings, seed)) {}

Trainer::Trainer(const TrainingSettings& settings, std::uint64_t seed, const TrainingState& state) {
  check_state(settings, state);
  implementation_ = std::make_unique<Implementation>(settings, seed, state);
}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

std::int64_t Trainer::steps_done() const noexcept { return implementation_->done; }

StepReport Trainer::step() {
  return std::visit([this](auto& trained) { return implementation_->step(trained); },
                    implementation_->trained);
}

TrainingState Trainer::state() const {
  const Implementation& i = *implementation_;
  TrainingState state;
  state.step = i.done;
  std::visit(
      [&state]<class Real>(const Trained<Real>& trained) {
        state.parameters = widened<Real>(trained.values);
        state.first_moment = widened<Real>(trained.first);
        state.second_moment = widened<Real>(trained.second);
      },
      i.trained);
  state.normalizer_parameters = i.rule;
  state.first_moment.insert(state.first_moment.end(), i.rule_first.begin(), i.rule_first.end());
  state.second_moment.insert(state.second_moment.end(), i.rule_second.begin(), i.rule_second.end());
  return state;
}

Head Trainer::head() const {
  Head head = implementation_->current;
  head.parameters = state().parameters;
  return head;
}

}  // namespace sharpmax::retrieval
