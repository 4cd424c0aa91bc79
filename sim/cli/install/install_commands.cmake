# The programs, their manual pages, which are made of what they say of themselves, and the
# completion of command lines in bash, zsh and fish. What has not been built is left out.
install(TARGETS timerlab_command OPTIONAL COMPONENT runtime)
install(FILES "${CMAKE_SOURCE_DIR}/sim/cli/install/completion.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME timerlab
    COMPONENT runtime)
# Debian's zsh does not look into /usr/share/zsh/site-functions.
set(zsh_functions site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
    set(zsh_functions vendor-completions)
endif()
install(FILES "${CMAKE_SOURCE_DIR}/sim/cli/install/completion.zsh"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${zsh_functions}" RENAME _timerlab COMPONENT runtime)
install(FILES "${CMAKE_SOURCE_DIR}/sim/cli/install/completion.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" RENAME timerlab.fish COMPONENT runtime)

install(FILES LICENSE CHANGELOG.md SECURITY.md docs/reference/third-party.md DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT runtime)

# tl_manual(PROGRAM VARIABLE COMPONENT): the pages of a program, which man.awk knows by that variable.
find_program(AWK NAMES mawk awk)
set(man_script "${CMAKE_SOURCE_DIR}/sim/cli/install/man.awk")
function(tl_manual program variable component)
    if(NOT AWK OR CMAKE_CROSSCOMPILING)
        return()
    endif()
    set(folder "${CMAKE_BINARY_DIR}/man/${variable}")
    add_custom_command(OUTPUT "${folder}/made"
        COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
        # glibc's argp leaks a byte where a command has no options of its own
        COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${AWK}
            "-v${variable}=$<TARGET_FILE:${program}>" "-vversion=${PROJECT_VERSION}"
            "-vfolder=${folder}" -f "${man_script}"
        COMMAND ${CMAKE_COMMAND} -E touch "${folder}/made"
        DEPENDS ${program} "${man_script}"
        COMMENT "Writing the manual pages of ${variable}"
        VERBATIM)
    add_custom_target(man_${variable} ALL DEPENDS "${folder}/made")
    install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
        COMPONENT ${component} OPTIONAL FILES_MATCHING PATTERN "*.1")
endfunction()
tl_manual(timerlab_command timerlab runtime)
if(TARGET timerlab-mpi)
    install(TARGETS timerlab-mpi OPTIONAL COMPONENT mpi)
    tl_manual(timerlab-mpi mpi mpi)
endif()
if(TARGET timerlab-bench)
    install(TARGETS timerlab-bench OPTIONAL COMPONENT runtime)
    tl_manual(timerlab-bench bench runtime)
endif()
