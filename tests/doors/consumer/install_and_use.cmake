# cmake -P: install sharpmax under `work`, then build and run the outside project against it. The form
# `as_built` installs the build that runs this test; `shared` first builds a shared library, of one
# instruction set and unoptimised to keep it quick; `shared_with_command_line` the command line too.
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${prefix} ${work}/outside ${work}/examples)
set(common -G Ninja -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}
  -DCMAKE_BUILD_TYPE=Debug)

if(form MATCHES "^shared")
  set(build ${work}/library)
  must(${CMAKE_COMMAND} -S ${source} -B ${build} ${common} -DBUILD_SHARED_LIBS=ON -DSHARPMAX_TESTS=OFF
    -DSHARPMAX_CLI=${command_line} -DSHARPMAX_PLAYGROUND=OFF  # that module is the same in either form
    -DSHARPMAX_HWY_DEFINES=HWY_COMPILE_ONLY_STATIC)
  must(${CMAKE_COMMAND} --build ${build})
endif()
must(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

# text_block(NAME FILE OPENING): the text of FILE between its first line OPENING and the next ```.
function(text_block name file opening)
  file(READ ${source}/${file} text)
  string(FIND "${text}" "${opening}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${file} has no line ${opening}")
  endif()
  string(LENGTH "${opening}\n" skip)
  math(EXPR begin "${begin} + ${skip}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${name} "${text}" PARENT_SCOPE)
endfunction()

# prints_text_block(PROGRAM FILE OPENING): the program's output is what FILE shows.
function(prints_text_block program file opening)
  must(${program})
  text_block(promised ${file} "${opening}")
  if(NOT output STREQUAL promised)
    message(FATAL_ERROR "${program} prints\n${output}\nbut ${file} says\n${promised}")
  endif()
endfunction()

# use_package(FOLDER ARGUMENT...): configure and build the project in FOLDER/source, in FOLDER/build.
function(use_package folder)
  must(${CMAKE_COMMAND} -S ${folder}/source -B ${folder}/build ${common} -DCMAKE_PREFIX_PATH=${prefix} ${ARGN})
  must(${CMAKE_COMMAND} --build ${folder}/build)
endfunction()

# Copied out, so that nothing of the source tree can be found by a relative path.
file(COPY ${CMAKE_CURRENT_LIST_DIR}/project/ DESTINATION ${work}/outside/source)
foreach(page README docs/cpp)
  get_filename_component(name ${page} NAME)
  string(TOLOWER ${name} name)
  text_block(program ${page}.md "```cpp")
  file(WRITE ${work}/outside/source/${name}.cc "${program}")
endforeach()
use_package(${work}/outside -DWANTED_VERSION=${version})
must(${work}/outside/build/consumer ${version})
message(STATUS "${output}")
prints_text_block(${work}/outside/build/readme README.md "```text")
prints_text_block(${work}/outside/build/cpp docs/cpp.md "```text")

file(COPY ${source}/examples/cpp/ DESTINATION ${work}/examples/source)
use_package(${work}/examples)
prints_text_block(${work}/examples/build/attention docs/cpp.md "$ build-examples/attention")

if(command_line)
  must(${prefix}/bin/sharpmax --version)
  string(FIND "${output}" "${version}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the installed sharpmax --version does not say ${version}: ${output}")
  endif()
endif()
