#include "model.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "engine.h"
#include "model/generation/generate.h"
#include "model/job/model_request.h"
#include "model/chat/chat_template.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/error.h"

namespace sharpmax::python {
namespace {

ModelRequest options_of(const OpenWish& wish) {
  return {.model = wish.path,
          .context = wish.context,
          .rope_scaling = wish.rope_scaling,
          .rope_base = wish.rope_base};
}

ModelRequest opened(ModelRequest request) {
  request.opened = model::shared_model(request);
  return request;
}

// Fills statistics [layer, head, token, ...] while a model reads.
class Onlooker : public model::AttentionObserver {
 public:
  explicit Onlooker(const RowStatistics& whole) : whole_(whole) {}

  const RowStatistics* wanted(const model::AttentionBlock& block) override {
    part_ = part_of(whole_, {block.layer, block.first_head, block.heads, block.position, block.tokens});
    return &part_;
  }
  void seen(const model::AttentionBlock&) override {}

 private:
  const RowStatistics& whole_;
  RowStatistics part_;
};

std::optional<model::NormalizerTable> table_of(const SessionWish& wish, const model::Model& model) {
  const model::Configuration& c = model.configuration();
  if (!wish.normalizer.empty() && !wish.normalizers.empty())
    throw Error(ErrorCode::bad_argument, "normalizer and normalizers were both given; give one of them");
  if (!wish.normalizers.empty())
    return model::parse_normalizer_table(wish.normalizers, "normalizers", model.own_normalizers());
  if (wish.normalizer.empty()) return std::nullopt;
  return model::NormalizerTable(c.layers, c.heads, AnyNormalizer::parse(wish.normalizer));
}

}  // namespace

HeldModel::HeldModel(const OpenWish& wish)
    : request_(opened(options_of(wish))), context_(model::context_of(model(), request_)) {}

nb::dict HeldModel::describe() const {
  const model::Configuration& c = model().configuration();
  nb::dict all;
  all["name"] = model().name();
  all["architecture"] = c.architecture;
  all["layers"] = c.layers;
  all["heads"] = c.heads;
  all["kv_heads"] = c.kv_heads;
  all["head_width"] = c.head_width;
  all["width"] = c.width;
  all["hidden"] = c.hidden;
  all["vocabulary"] = c.vocabulary;
  all["context"] = context_;
  all["trained_context"] = c.context;
  all["positions"] = c.rope.features > 0 ? "rotary" : "learned";
  all["windows"] = nb::cast(c.windows);
  return all;
}

void HeldModel::check_out(const OutputArray& out, std::initializer_list<std::int64_t> shape) const {
  const bool same = out.ndim() >= shape.size() &&
                    std::equal(shape.begin(), shape.end(), out.shape_ptr(), [](auto wanted, auto found) {
                      return wanted == static_cast<std::int64_t>(found);
                    });
  if (!same) throw Error(ErrorCode::bad_argument, "the array to be filled has the wrong shape");
}

void HeldModel::check_length(std::int64_t tokens) const {
  if (tokens == 0) throw Error(ErrorCode::bad_argument, "there are no tokens; a model needs at least one");
  if (tokens > context_)
    throw Error(ErrorCode::bad_argument,
                fmt::format("there are {} tokens, and the context has room for {}; give fewer tokens, or a "
                            "larger context to load_model()",
                            tokens, context_));
}

std::unique_ptr<model::Session> HeldModel::open_session(const SessionWish& wish, std::int64_t tokens) const {
  if (wish.cache != "float32" && wish.cache != "float16")
    throw Error(ErrorCode::bad_argument,
                fmt::format("cache is '{}'; it must be float32 or float16", wish.cache));
  if (wish.products != "float" && wish.products != "int16")
    throw Error(ErrorCode::bad_argument, fmt::format("products is '{}'; it must be float or int16", wish.products));
  if (wish.block < 0 || wish.threads < 0)
    throw Error(ErrorCode::bad_argument, "block and threads must be positive, or 0 for the default");
  model::check_memory(model().configuration(), tokens, wish.cache);
  model::SessionSettings settings;
  settings.capacity = tokens;
  settings.cache = wish.cache == "float16" ? model::CacheType::float16 : model::CacheType::float32;
  settings.products = wish.products == "int16" ? model::Products::int16 : model::Products::float32;
  settings.threads = wish.threads;
  if (wish.block > 0) settings.block = wish.block;
  settings.normalizers = table_of(wish, model());
  settings.on_layer = [signals = SignalWatch()]() mutable { signals.look(); };
  return std::make_unique<model::Session>(model(), settings);
}

Tokens HeldModel::tokenize(const nb::bytes& text, bool special, bool ends) {
  const Turn turn(turns_);
  const std::string_view view(text.c_str(), text.size());
  const nb::gil_scoped_release without_interpreter;
  const auto how = special ? model::SpecialText::as_tokens : model::SpecialText::as_text;
  return ends ? model().tokenizer().encode_whole(view, how) : model().tokenizer().encode(view, how);
}

nb::bytes HeldModel::detokenize(const Tokens& tokens) {
  const Turn turn(turns_);
  const std::int64_t known = model().tokenizer().size();
  for (const model::Token token : tokens)
    if (token < 0 || token >= known)
      throw Error(ErrorCode::bad_argument,
                  fmt::format("there is no token {}; the tokenizer has {}", token, known));
  const std::string text = model().tokenizer().decode(tokens);
  return nb::bytes(text.data(), text.size());
}

Tokens HeldModel::prompt_tokens(const PromptWish& wish) {
  using model::SpecialText;
  const Turn turn(turns_);
  const nb::gil_scoped_release without_interpreter;
  const model::Tokenizer& tokenizer = model().tokenizer();
  if (wish.chat) {
    const std::optional<std::string_view> system =
        wish.system ? std::optional<std::string_view>(*wish.system) : std::nullopt;
    return tokenizer.encode(model::chat_template_of(model().file(), tokenizer).render(wish.text, system),
                            SpecialText::as_tokens);
  }
  if (wish.system) throw Error(ErrorCode::bad_argument, "system goes with chat=True");
  Tokens tokens;
  if (tokenizer.ends().add_begin && tokenizer.ends().begin) tokens.push_back(*tokenizer.ends().begin);
  const Tokens rest =
      tokenizer.encode(wish.text, wish.special ? SpecialText::as_tokens : SpecialText::as_text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

void HeldModel::logits(const Tokens& tokens, const SessionWish& wish, nb::handle out) {
  const OutputArray array = output_array(out, "out");
  const TensorView<float, 2> view = output_view<float, 2>(array, "out");
  const auto count = static_cast<std::int64_t>(tokens.size());
  check_out(array, {view.shape[0] == 1 ? 1 : count, model().configuration().vocabulary});
  const Turn turn(turns_);
  const nb::gil_scoped_release without_interpreter;
  check_length(count);
  const auto session = open_session(wish, count);
  const auto put = [&](std::int64_t row, std::span<const float> logits) {
    std::copy(logits.begin(), logits.end(), &view(row, 0));
  };
  if (view.shape[0] == 1)
    put(0, session->feed_for_last(tokens));
  else
    session->feed_for_all(tokens, put);
}

void HeldModel::losses(const Tokens& tokens, const SessionWish& wish, nb::handle out) {
  const OutputArray array = output_array(out, "out");
  const TensorView<float, 1> view = output_view<float, 1>(array, "out");
  const auto count = static_cast<std::int64_t>(tokens.size());
  check_out(array, {std::max<std::int64_t>(count - 1, 0)});
  const Turn turn(turns_);
  const nb::gil_scoped_release without_interpreter;
  check_length(count);
  const auto session = open_session(wish, count);
  const ChunkLosses found = model::chunk_losses(*session, tokens, 0);
  std::copy(found.losses.begin(), found.losses.end(), view.data);
}

void HeldModel::statistics(const Tokens& tokens, const SessionWish& wish, const nb::dict& wanted,
                           std::vector<double> gaps) {
  const HeldStatistics held(wanted, std::move(gaps));
  const auto count = static_cast<std::int64_t>(tokens.size());
  const model::Configuration& c = model().configuration();
  for (const OutputArray& array : held.arrays()) check_out(array, {c.layers, c.heads});
  for (const OutputArray& array : held.arrays_of_rows()) check_out(array, {c.layers, c.heads, count});
  const Turn turn(turns_);
  const nb::gil_scoped_release without_interpreter;
  check_length(count);
  SessionWish whole = wish;
  if (held.view() && (held.view()->column_mass.present() || held.view()->map.present()))
    whole.block = count;  // these sum over queries, so all must be in one call
  const auto session = open_session(whole, count);
  if (held.view()) {
    Onlooker onlooker(*held.view());
    const model::Watching watching(*session, onlooker);
    session->feed(tokens);
  }
}

namespace {

void bind_wishes(nb::module_& m) {
  nb::class_<OpenWish>(m, "OpenWish")
      .def(nb::init<>())
      .def_prop_rw(
          "path", [](const OpenWish& wish) { return nb::bytes(wish.path.data(), wish.path.size()); },
          [](OpenWish& wish, const nb::bytes& path) { wish.path.assign(path.c_str(), path.size()); })
      .def_rw("context", &OpenWish::context, nb::arg().none())
      .def_rw("rope_scaling", &OpenWish::rope_scaling)
      .def_rw("rope_base", &OpenWish::rope_base, nb::arg().none());
  nb::class_<SessionWish>(m, "SessionWish")
      .def(nb::init<>())
      .def_rw("normalizer", &SessionWish::normalizer)
      .def_rw("normalizers", &SessionWish::normalizers)
      .def_rw("cache", &SessionWish::cache)
      .def_rw("products", &SessionWish::products)
      .def_rw("block", &SessionWish::block)
      .def_rw("threads", &SessionWish::threads);
  nb::class_<PromptWish>(m, "PromptWish")
      .def(nb::init<>())
      .def_rw("text", &PromptWish::text)
      .def_rw("special", &PromptWish::special)
      .def_rw("chat", &PromptWish::chat)
      .def_rw("system", &PromptWish::system, nb::arg().none());
  nb::class_<model::Sampling>(m, "Sampling")
      .def(nb::init<>())
      .def_rw("temperature", &model::Sampling::temperature)
      .def_rw("top_k", &model::Sampling::top_k)
      .def_rw("top_p", &model::Sampling::top_p)
      .def_rw("seed", &model::Sampling::seed);
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_wishes(m);
  nb::class_<HeldModel>(m, "Model")
      .def(nb::init<const OpenWish&>(), nb::arg("wish"))
      .def("describe", &HeldModel::describe)
      .def("tokenize", &HeldModel::tokenize, nb::arg("text"), nb::arg("special"), nb::arg("ends"))
      .def("detokenize", &HeldModel::detokenize, nb::arg("tokens"))
      .def("prompt_tokens", &HeldModel::prompt_tokens, nb::arg("wish"))
      .def("logits", &HeldModel::logits, nb::arg("tokens"), nb::arg("wish"), nb::arg("out"))
      .def("losses", &HeldModel::losses, nb::arg("tokens"), nb::arg("wish"), nb::arg("out"))
      .def("statistics", &HeldModel::statistics, nb::arg("tokens"), nb::arg("wish"), nb::arg("wanted"),
           nb::arg("gaps"));
  nb::class_<Generation>(m, "Generation")
      .def(nb::init<HeldModel&, Tokens, const SessionWish&, const model::Sampling&, std::int64_t>(),
           nb::arg("model"), nb::arg("prompt"), nb::arg("wish"), nb::arg("sampling"), nb::arg("most"),
           nb::keep_alive<1, 2>())
      .def("next", &Generation::next)
      .def_prop_ro("tokens", &Generation::tokens)
      .def_prop_ro("ending", &Generation::ending);
}

}  // namespace sharpmax::python
