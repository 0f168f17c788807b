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
file(REMOVE_RECURSE ${prefix} ${work}/outside)
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

# readme_block(NAME OPENING): what stands in the README between the first line OPENING and the next ```.
function(readme_block name opening)
  file(READ ${source}/README.md text)
  string(FIND "${text}" "${opening}\n" begin)
  string(LENGTH "${opening}\n" skip)
  math(EXPR begin "${begin} + ${skip}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${name} "${text}" PARENT_SCOPE)
endfunction()

# Copied out, so that nothing of the source tree can be found by a relative path.
file(COPY ${CMAKE_CURRENT_LIST_DIR}/project/ DESTINATION ${work}/outside/source)
readme_block(program "```cpp")
file(WRITE ${work}/outside/source/readme.cc "${program}")
must(${CMAKE_COMMAND} -S ${work}/outside/source -B ${work}/outside/build ${common}
  -DCMAKE_PREFIX_PATH=${prefix} -DWANTED_VERSION=${version})
must(${CMAKE_COMMAND} --build ${work}/outside/build)
must(${work}/outside/build/consumer ${version})
message(STATUS "${output}")
must(${work}/outside/build/readme)
readme_block(promised "```text")
if(NOT output STREQUAL promised)
  message(FATAL_ERROR "the README's program prints\n${output}\nbut the README says\n${promised}")
endif()

if(command_line)
  must(${prefix}/bin/sharpmax --version)
  string(FIND "${output}" "${version}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the installed sharpmax --version does not say ${version}: ${output}")
  endif()
endif()
