# Translation units. A source file here is short and spends most of its compile time on the headers of nlohmann-json,
# CLI11 and fmt and on what these make of templates, so the sources of one group are compiled as one unit. Kernels,
# which Highway includes once per instruction set, stay alone (kernel_targets.cmake), and so do members of a family,
# which share the names of their functions.
#
# sharpmax_compile_in_units(TARGET [PLAIN FOLDER...] [PREFIXES NAME...])
#
#   A group is a folder. A group of more than ten files is several units.
#   PLAIN      These folders together are one group. They read requests and files, call the code that computes and
#              write results, so they are compiled with -O1, which takes half the time of -O3. PLAIN ALL: all folders
#              are, each a group of its own.
#   PREFIXES   A group is the files whose names begin with one of these words, so that a command of the command line
#              is one unit, and one group of all others.
function(sharpmax_compile_in_units target)
  cmake_parse_arguments(option "" "" "PLAIN;PREFIXES" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  set(groups "")
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(folder_name ${folder} NAME)
    get_filename_component(name ${path} NAME_WE)
    file(STRINGS ${path} kernel REGEX "hwy/(foreach_target|highway|targets)\\.h" LIMIT_COUNT 1)
    if(kernel)
      sharpmax_kernels(${path})
      continue()
    elseif(folder_name STREQUAL family)
      continue()  # compiled alone
    endif()
    if(option_PREFIXES)
      string(REGEX REPLACE "_.*" "" group ${name})
      if(NOT group IN_LIST option_PREFIXES)
        set(group others)
      endif()
    elseif(folder_name IN_LIST option_PLAIN)
      set(group plain)
    else()
      file(RELATIVE_PATH group ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER "room/${group}" group)
    endif()
    list(APPEND groups ${group})
    list(APPEND of_${group} ${path})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    sharpmax_add_units(${target} ${group} 10 ${of_${group}})
    if(group STREQUAL plain OR option_PLAIN STREQUAL ALL)
      set_property(SOURCE ${units} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
    endif()
  endforeach()
endfunction()

# sharpmax_add_units(TARGET GROUP MOST SOURCE...): the sources become units of the target, evenly, at most MOST in one.
# The files of the units are `units` to the caller. Includes are relative, so that a cache of compilations knows a unit
# in another clone.
function(sharpmax_add_units target group most)
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)  # of the target still, for editors
  list(LENGTH ARGN count)
  math(EXPR parts "(${count} + ${most} - 1) / ${most}")
  set(place 0)
  set(files "")
  foreach(source ${ARGN})
    math(EXPR part "${place} * ${parts} / ${count}")
    math(EXPR place "${place} + 1")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${group}_${part}.cc)
    if(NOT file IN_LIST files)
      list(APPEND files ${file})
      set(text_${part} "// Made by CMake: sources that are compiled together.\n")
    endif()
    file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR}/units ${source})
    string(APPEND text_${part} "#include \"${path}\"\n")
  endforeach()
  set(part 0)
  foreach(file ${files})
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${part}}" @ONLY)  # written only if it changes
    math(EXPR part "${part} + 1")
  endforeach()
  target_sources(${target} PRIVATE ${files})
  set(units ${files} PARENT_SCOPE)
endfunction()

# sharpmax_compile_tests_in_units(TARGET): tests of one room of src/ are compiled together, at most five files in a
# unit, so that a changed test compiles its neighbors and no more. The room is the last in the order of includes that a
# file asks for.
function(sharpmax_compile_tests_in_units target)
  get_target_property(sources ${target} SOURCES)
  set(rooms report train retrieval audit model theory storage library)
  set(of_report "report/|playground/")
  set(of_train "train/|sharpmax/train\\.h")
  set(of_retrieval "retrieval/|sharpmax/(retrieval|fit)\\.h|support/retrieval_")
  set(of_audit "audit/|sharpmax/(audit|analysis|probe|bound|fix)\\.h|support/audit_")
  set(of_model "model/|sharpmax/(generate|inspect|perplexity|tokenize)\\.h|support/tiny_")
  set(of_theory "theory/|support/(attacks/|theory_)")
  set(of_storage "storage/")
  set(of_library "")
  foreach(source ${sources})
    foreach(room ${rooms})
      file(STRINGS ${source} found REGEX "^#include \"(${of_${room}})" LIMIT_COUNT 1)
      if(found OR room STREQUAL library)
        list(APPEND files_of_${room} ${source})
        break()
      endif()
    endforeach()
  endforeach()
  set(count 0)
  foreach(room ${rooms})
    if(files_of_${room})
      sharpmax_add_units(${target} ${room} 5 ${files_of_${room}})
      list(LENGTH units parts)
      math(EXPR count "${count} + ${parts}")
    endif()
  endforeach()
  set(units_of_${target} ${count} PARENT_SCOPE)
endfunction()
