# What `cmake --install` puts in place for those who compile against the structures: headers, the
# library in both kinds, and how pkg-config and find_package(timerlab) find them. What has not been
# built is left out.
#
#     include/timerlab.h                 the contract: all that a plug-in needs
#     include/timerlab/{registry,plugin,front}.h  for programs that use the structures
include(CMakePackageConfigHelpers)

# Programs linked against the shared library stand and fall with the number of the contract; of
# plug-ins, older ones are taken.
file(STRINGS timerlab.h abi_line REGEX "^#define TL_ABI +[0-9]+u$")
string(REGEX REPLACE "^#define TL_ABI +([0-9]+)u$" "\\1" abi "${abi_line}")
if(NOT abi MATCHES "^[0-9]+$")
    message(FATAL_ERROR "algos/timerlab.h: no line '#define TL_ABI <number>u'")
endif()
set_target_properties(timerlab_shared PROPERTIES
    OUTPUT_NAME timerlab SOVERSION ${abi} VERSION ${abi}.${PROJECT_VERSION})

set(library_headers core/registry.h core/plugin.h fronts/front.h)
install(FILES timerlab.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT runtime)
install(FILES ${library_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/timerlab" COMPONENT devel)
install(TARGETS timerlab timerlab_shared OPTIONAL
    LIBRARY COMPONENT devel ARCHIVE COMPONENT devel)

# The same layout in the build folder, for a `timerlab` that is not installed.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include/timerlab")
file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/timerlab.h" "${CMAKE_BINARY_DIR}/include/timerlab.h"
     SYMBOLIC)
foreach(header IN LISTS library_headers)
    get_filename_component(name "${header}" NAME)
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${header}"
         "${CMAKE_BINARY_DIR}/include/timerlab/${name}" SYMBOLIC)
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/timerlab")
configure_package_config_file(timerlab-config.cmake.in
    "${CMAKE_CURRENT_BINARY_DIR}/timerlab-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/timerlab-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/timerlab-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/timerlab-config-version.cmake"
    DESTINATION "${package_dir}" COMPONENT devel)

# Paths relative to the file itself, so that an installation can be given another prefix at install
# time, or moved.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(timerlab.pc.in "${CMAKE_CURRENT_BINARY_DIR}/timerlab.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/timerlab.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT devel)
