# The programs, their manual pages, which are made of what they say of themselves, and the
# completion of command lines in bash.
set(commands timerlab_command)
set(man_arguments "-vtimerlab=$<TARGET_FILE:timerlab_command>")
if(TARGET timerlab-bench)
    list(APPEND commands timerlab-bench)
    list(APPEND man_arguments "-vbench=$<TARGET_FILE:timerlab-bench>")
endif()
install(TARGETS ${commands})

find_program(AWK NAMES mawk awk REQUIRED)
set(man_folder "${CMAKE_BINARY_DIR}/man")
set(man_script "${CMAKE_SOURCE_DIR}/sim/cli/man.awk")
add_custom_command(OUTPUT "${man_folder}/timerlab.1"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${man_folder}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${man_folder}"
    # glibc's argp leaks a byte where a command has no options of its own
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${AWK} ${man_arguments} "-vversion=${PROJECT_VERSION}" "-vfolder=${man_folder}"
        -f "${man_script}"
    DEPENDS ${commands} "${man_script}"
    COMMENT "Writing the manual pages"
    VERBATIM)
add_custom_target(man ALL DEPENDS "${man_folder}/timerlab.1")
install(DIRECTORY "${man_folder}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")

install(FILES "${CMAKE_SOURCE_DIR}/sim/cli/completion.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME timerlab)
