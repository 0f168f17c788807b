// sharpmax._core: the library as Python sees it, without manners. The package around it adds them.
#include <nanobind/nanobind.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "attention.h"
#include "engine.h"
#include "request.h"
#include "sharpmax/job.h"

namespace sharpmax::python {
namespace {

// A sentence about a file ends with the words of the system.
PyObject* system_error_in(std::string_view sentence) {
  const std::pair<int, PyObject*> kinds[] = {
      {ENOENT, PyExc_FileNotFoundError}, {EACCES, PyExc_PermissionError}, {EISDIR, PyExc_IsADirectoryError}};
  for (const auto& [number, kind] : kinds)
    if (sentence.ends_with(std::strerror(number))) return kind;
  return PyExc_OSError;
}

PyObject* python_type_of(ErrorCode code, std::string_view sentence) {
  switch (code) {
    case ErrorCode::bad_argument:
    case ErrorCode::bad_file:
      return PyExc_ValueError;
    case ErrorCode::unsupported:
      return PyExc_NotImplementedError;
    case ErrorCode::io:
      return system_error_in(sentence);
    case ErrorCode::limit:
      return PyExc_ValueError;
    case ErrorCode::memory:
      return PyExc_MemoryError;
  }
  return PyExc_RuntimeError;
}

// The library's words for what has another name here: attend() is attention(), mask and bias are attn_mask.
std::string python_words(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"attend: mask ", "attention: attn_mask "},
      {"attend: bias ", "attention: attn_mask "},
      {"attend:", "attention:"},
      {"attend_backward:", "attention_backward:"}};
  for (const auto& [library, here] : words) {
    if (message.starts_with(library)) return message.replace(0, library.size(), here);
  }
  return message;
}

void translate(const std::exception_ptr& pending, void*) {
  try {
    std::rethrow_exception(pending);
  } catch (const RequestError& error) {
    const std::string sentence = error.spoken(Speech::python);
    PyErr_SetString(python_type_of(error.code(), sentence), sentence.c_str());
  } catch (const Error& error) {
    PyErr_SetString(python_type_of(error.code(), error.what()), python_words(error.what()).c_str());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  // A cached normalizer, or any global of a script, outlives the module: users need not know.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  bind_request(m);
  bind_attention(m);
  bind_normalizers(m);
  bind_machine(m);
  bind_engine(m);
  bind_jobs(m);
  bind_model(m);
}

}  // namespace sharpmax::python
