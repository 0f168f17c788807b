# cmake -P: install sharpmax under `work`, then build and run the outside project against it. The form
# `as_built` installs the build that runs this test; `shared` first builds a shared library, of one
# instruction set and unoptimised to keep it quick.
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

if(form STREQUAL "shared")
  set(build ${work}/library)
  must(${CMAKE_COMMAND} -S ${source} -B ${build} ${common} -DBUILD_SHARED_LIBS=ON -DSHARPMAX_TESTS=OFF
    -DSHARPMAX_HWY_DEFINES=HWY_COMPILE_ONLY_STATIC)
  must(${CMAKE_COMMAND} --build ${build})
endif()
must(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})

# Copied out, so that nothing of the source tree can be found by a relative path.
file(COPY ${CMAKE_CURRENT_LIST_DIR}/project/ DESTINATION ${work}/outside/source)
must(${CMAKE_COMMAND} -S ${work}/outside/source -B ${work}/outside/build ${common}
  -DCMAKE_PREFIX_PATH=${prefix} -DWANTED_VERSION=${version})
must(${CMAKE_COMMAND} --build ${work}/outside/build)
must(${work}/outside/build/consumer ${version})
message(STATUS "${output}")

if(EXISTS ${source}/cli/CMakeLists.txt)
  must(${prefix}/bin/sharpmax --version)
  string(FIND "${output}" "${version}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the installed sharpmax --version does not say ${version}: ${output}")
  endif()
endif()
