# Headers, the library and the package that find_package(sharpmax) reads.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sharpmax)

install(TARGETS sharpmax EXPORT sharpmaxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sharpmax DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT sharpmaxTargets NAMESPACE sharpmax:: DESTINATION ${package_dir})

# The component jobs: retrieve, audit, bound, fix and the others, with all that they are made of.
if(SHARPMAX_CLI)
  install(TARGETS sharpmax_jobs ${SHARPMAX_JOB_ROOMS} EXPORT sharpmaxJobs ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT sharpmaxJobs NAMESPACE sharpmax:: DESTINATION ${package_dir})
endif()

get_target_property(library_type sharpmax TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(SHARPMAX_IS_STATIC ON)
else()
  set(SHARPMAX_IS_STATIC OFF)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/sharpmaxConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/sharpmaxConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/sharpmaxConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sharpmaxConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/sharpmaxConfigVersion.cmake DESTINATION ${package_dir})

# For builds without CMake. Paths are relative to the file, so that an installed tree may be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH SHARPMAX_PC_TO_PREFIX /prefix/${pc_dir} /prefix)
string(REGEX REPLACE "/$" "" SHARPMAX_PC_TO_PREFIX "${SHARPMAX_PC_TO_PREFIX}")
if(SHARPMAX_IS_STATIC)
  set(SHARPMAX_PC_REQUIRES "Requires: libhwy fmt")
  set(SHARPMAX_PC_LIBS " ${OpenMP_CXX_FLAGS}")
else()
  set(SHARPMAX_PC_REQUIRES "Requires.private: libhwy fmt")
  set(SHARPMAX_PC_LIBS "")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/sharpmax.pc.in ${CMAKE_CURRENT_BINARY_DIR}/sharpmax.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sharpmax.pc DESTINATION ${pc_dir})
