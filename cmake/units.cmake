# Translation units. A source file here is short and spends most of its compile time on the headers of nlohmann-json,
# CLI11 and fmt, so the sources of one group are compiled as one unit. Sources that Highway includes once per
# instruction set stay alone, and so do members of a family, which share the names of their functions.
#
# sharpmax_compile_in_units(TARGET [PREFIXES NAME...]): a group is a folder; with PREFIXES it is the files whose names begin
# with that word, so that a command of the command line is one unit, and one group of all others.
function(sharpmax_compile_in_units target)
  cmake_parse_arguments(option "" "" PREFIXES ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(name ${path} NAME_WE)
    file(STRINGS ${path} per_instruction_set REGEX "foreach_target\\.h" LIMIT_COUNT 1)
    if(per_instruction_set OR folder MATCHES "/family$")
      continue()  # a source without a group is compiled alone
    endif()
    if(option_PREFIXES)
      string(REGEX REPLACE "_.*" "" group ${name})
      if(NOT group IN_LIST option_PREFIXES)
        set(group others)
      endif()
    else()
      file(RELATIVE_PATH group ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER ${group} group)
    endif()
    set_source_files_properties(${path} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
