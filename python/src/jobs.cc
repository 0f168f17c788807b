// The jobs as Python calls them: the fields of each, and a dict of values carried out.
#include <nanobind/stl/string.h>

#include <array>
#include <map>

#include "cli/verbs.h"
#include "engine.h"
#include "fields.h"
#include "job_thread.h"
#include "model.h"
#include "turns.h"

namespace sharpmax::python {
namespace {

using cli::Outcome;

// Any bytes: a narration may quote a file's.
nb::object decoded(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

struct Callbacks {
  nb::object text, narration, progress;  // called with a str; None: nobody listens

  void tell(const Saying& saying) const {
    const nb::object& who = saying.what == Said::text        ? text
                            : saying.what == Said::narration ? narration
                                                             : progress;
    if (!who.is_none()) who(decoded(saying.words));
  }
};

// To its end, whatever a callback or a signal raises: that is raised afterwards.
void listen_to(JobThread& job, const Callbacks& callbacks) {
  std::exception_ptr raised;
  while (!job.ended()) {
    std::vector<Saying> heard;
    {
      const nb::gil_scoped_release without_interpreter;
      heard = job.hear(kBetweenSignals);
    }
    if (raised) continue;
    try {
      for (const Saying& saying : heard) callbacks.tell(saying);
      raise_signals();
    } catch (...) {
      raised = std::current_exception();
      job.cancel();
    }
  }
  if (raised) std::rethrow_exception(raised);
}

// An opened model goes on as it is, unless the call asks for other positions: then its file is opened with them.
void take_model(const HeldModel& held, const nb::dict& values, ModelRequest& request) {
  const ModelRequest& own = held.request();
  request.model = own.model;
  if (!values.contains("context")) request.context = own.context;
  if (values.contains("rope_scaling") || values.contains("rope_base")) {
    if (!values.contains("rope_scaling")) request.rope_scaling = own.rope_scaling;
    if (!values.contains("rope_base")) request.rope_base = own.rope_base;
    return;
  }
  request.rope_scaling = own.rope_scaling;
  request.rope_base = own.rope_base;
  request.opened = own.opened;
}

template <class Verb>
void fill(Verb& verb, const nb::dict& values) {
  if constexpr (requires { verb.model(); })
    if (values.contains("model") && nb::isinstance<HeldModel>(values["model"]))
      take_model(nb::cast<const HeldModel&>(values["model"]), values, verb.model());
  Verb::each_field(verb, [&](const Field& field, auto& value) {
    const nb::str name(field.name.data(), field.name.size());
    if (!values.contains(name)) return;
    const nb::object given = nb::borrow(values[name]);
    if (field.name == "model" && nb::isinstance<HeldModel>(given)) return;
    take(field, given, value);
    check_field(field, value);
  });
}

template <class Verb>
cli::Given given_in(const Verb& verb) {
  cli::Given given;
  each_given(verb, [&](const Field& field, const auto&) { given.emplace(field.name); });
  return given;
}

// (no check failed, results as JSON, text) of a verb; values: by field, those that are given.
template <class Verb>
nb::tuple run(const nb::dict& values, const Callbacks& callbacks) {
  Verb verb;
  fill(verb, values);
  cli::Given given = given_in(verb);
  Outcome outcome;
  std::string text, results;
  const bool resuming = given.contains("resume");
  JobThread job(
      [&](Listener& listener) {
        verb.check(given);
        outcome = verb.run({.listener = listener, .given = given, .command = "", .reads_results = true});
        text = outcome.text(/*colour=*/false);
        if (!outcome.results.is_null()) results = outcome.results.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (outcome.interrupted) throw Interrupted{};
      },
      resuming);
  try {
    listen_to(job, callbacks);
  } catch (const nb::python_error& raised) {
    if (!raised.matches(PyExc_KeyboardInterrupt) || job.interruption().empty()) throw;
    PyErr_SetString(PyExc_KeyboardInterrupt, job.interruption().c_str());
    throw nb::python_error();
  }
  job.rethrow();
  return nb::make_tuple(outcome.ok, results.empty() ? nb::object(nb::none()) : decoded(results), decoded(text));
}

template <class Verb>
nb::list fields() {
  nb::list all;
  const Verb plain;
  Verb::each_field(plain, [&](const Field& field, const auto& value) { all.append(described(field, value)); });
  return all;
}

struct Job {
  nb::list (*fields)();
  nb::tuple (*run)(const nb::dict&, const Callbacks&);
};

const std::map<std::string, Job>& jobs() {
  static const std::map<std::string, Job> all = [] {
    std::map<std::string, Job> made;
    cli::each_verb([&]<class Verb>(const Verb&) { made[Verb::kName] = {fields<Verb>, run<Verb>}; });
    return made;
  }();
  return all;
}

const Job& job_named(const std::string& name) {
  const auto found = jobs().find(name);
  if (found == jobs().end()) throw nb::key_error(name.c_str());
  return found->second;
}

}  // namespace

void bind_jobs(nb::module_& m) {
  m.def("fields", [](const std::string& job) { return job_named(job).fields(); }, nb::arg("job"));
  m.def(
      "run",
      [](const std::string& job, const nb::dict& values, nb::object on_text, nb::object on_narration,
         nb::object on_progress) {
        return job_named(job).run(values, {std::move(on_text), std::move(on_narration), std::move(on_progress)});
      },
      nb::arg("job"), nb::arg("values"), nb::arg("on_text").none(), nb::arg("on_narration").none(),
      nb::arg("on_progress").none());
}

}  // namespace sharpmax::python
