# What a release is made of: `scripts/package` runs cpack, which makes timerlab_VERSION_ARCH.deb, the
# programs; timerlab-dev_VERSION_ARCH.deb, what is needed to compile against the structures;
# timerlab-mpi_VERSION_ARCH.deb, the program for MPI's ranks, where it is built; and
# timerlab-VERSION.tar.xz, the sources. The version is that of project() in CMakeLists.txt.
set(CPACK_PACKAGE_NAME timerlab)
set(CPACK_PACKAGE_VENDOR "The timerlab authors")
set(CPACK_PACKAGE_CONTACT "The timerlab authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime devel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME timerlab)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Pictures; jq and xz are asked for by name; what is wrapped, and what reads captures, is loaded if it is there.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "gnuplot-nox, jq, gawk | mawk, fonts-dejavu-core, libpcap0.8")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS
    "libev4, libuv1, libevent-core-2.1-7, libglib2.0-0, liblmdb0, libpq5, gcc, libc6-dev")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "redis-server, postgresql")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "Replays traces of timer operations through many timer structures, checks every firing,
measures and draws what each takes, and loads structures of one's own.")
set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME timerlab-dev)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "timerlab (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVEL_DESCRIPTION
    "Headers and libraries for programs that use timerlab's timer structures.")

if(TARGET timerlab-mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_NAME timerlab-mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "timerlab (= ${PROJECT_VERSION}), openmpi-bin")
    set(CPACK_COMPONENT_MPI_DESCRIPTION
        "Replays of timer operations that are divided among the ranks of an MPI job.")
endif()

set(CPACK_SOURCE_GENERATOR TXZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME "timerlab-${PROJECT_VERSION}")
set(CPACK_SOURCE_IGNORE_FILES
    "^${CMAKE_SOURCE_DIR}/\\\\.git(/|$)" "^${CMAKE_SOURCE_DIR}/build/" "^${CMAKE_SOURCE_DIR}/results/"
    "^${CMAKE_SOURCE_DIR}/docs/pictures/.*\\\\.png$" "/node_modules/")
include(CPack)
