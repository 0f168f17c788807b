# SHARPMAX_KERNELS: for which instruction sets the kernels are compiled.
#
#   ALL    every one that Highway knows but those of SHARPMAX_DISABLED_TARGETS: what is shipped
#   BEST   the best one of this machine and the portable one: what `make demo` and a sanitizer build need.
#          Two, so that tests of the choice at run time have a choice; the best, so that AVX-512 is tested
#          if there is AVX-512.
set(SHARPMAX_KERNELS ALL CACHE STRING
  "Instruction sets of the kernels: ALL, or BEST, this machine's best and the portable one")
set_property(CACHE SHARPMAX_KERNELS PROPERTY STRINGS ALL BEST)

# Highway itself says which is the best, as it will at run time.
if(SHARPMAX_KERNELS STREQUAL BEST AND NOT SHARPMAX_BEST_TARGET)
  file(WRITE ${PROJECT_BINARY_DIR}/best_target.cc
    "#include <hwy/highway.h>\n#include <hwy/targets.h>\n#include <cstdio>\n"
    "int main() { const auto all = static_cast<unsigned long long>(hwy::SupportedTargets() & HWY_TARGETS);\n"
    "  std::puts(hwy::TargetName(static_cast<decltype(HWY_AVX2)>(all & (~all + 1)))); }\n")
  try_run(best_target_status best_target_compiles ${PROJECT_BINARY_DIR}/best_target ${PROJECT_BINARY_DIR}/best_target.cc
    LINK_LIBRARIES hwy::hwy CXX_STANDARD 20 COMPILE_OUTPUT_VARIABLE said RUN_OUTPUT_VARIABLE best)
  if(NOT best_target_compiles OR NOT best_target_status EQUAL 0)
    message(FATAL_ERROR "SHARPMAX_KERNELS=BEST: Highway could not be asked for this machine's instruction sets:\n${said}")
  endif()
  string(STRIP "${best}" best)
  set(SHARPMAX_BEST_TARGET ${best} CACHE INTERNAL "The best instruction set of this machine, as Highway names it")
endif()
if(SHARPMAX_KERNELS STREQUAL BEST)
  set(others HWY_SSSE3 HWY_SSE4 HWY_AVX2 HWY_AVX3 HWY_AVX3_DL)
  list(REMOVE_ITEM others HWY_${SHARPMAX_BEST_TARGET})
  list(JOIN others "|" SHARPMAX_DISABLED_TARGETS)
  message(STATUS "Kernels are compiled for ${SHARPMAX_BEST_TARGET} and the portable target")
endif()

# sharpmax_kernels(SOURCE...): sources that include Highway's list of instruction sets. They alone are told which are
# chosen, so that only they are compiled again when the choice changes, and all of them are, so that they agree:
# scripts/check-includes finds a source that includes the list and is not told.
function(sharpmax_kernels)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=(${SHARPMAX_DISABLED_TARGETS})"
    ${SHARPMAX_HWY_DEFINES})
endfunction()
