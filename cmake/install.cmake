# What `cmake --install` puts where: programs, manual pages, completions, the schema of job.yaml.
# Pages and completions are printed by the programs themselves, from the tables that parse.
include(GNUInstallDirs)
set(dt_pages ${CMAKE_BINARY_DIR}/pages)
file(MAKE_DIRECTORY ${dt_pages})
set(dt_printed "")

# dt_print(TARGET FILE COMMAND-WORDS...): FILE is what the program prints.
function(dt_print target file)
    add_custom_command(OUTPUT ${dt_pages}/${file}
        COMMAND ${target} ${ARGN} > ${dt_pages}/${file}
        DEPENDS ${target} VERBATIM)
    set(dt_printed ${dt_printed} ${dt_pages}/${file} PARENT_SCOPE)
endfunction()

if(TARGET dtctl)
    dt_print(dtctl dtctl.1 --man)
    dt_print(dtctl job.yaml.5 explain --man)
    dt_print(dtctl job.v1.schema.json explain --schema)
    dt_print(dtctl dtctl.bash completion bash)
    dt_print(dtctl dtctl.zsh completion zsh)
    dt_print(dtctl dtctl.fish completion fish)
    install(TARGETS dtctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # client.c looks for it in ../lib/dt beside the program's directory.
    install(TARGETS dtctl-remote LIBRARY DESTINATION lib/dt)
    install(FILES ${dt_pages}/dtctl.bash RENAME dtctl
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${dt_pages}/dtctl.zsh RENAME _dtctl
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${dt_pages}/dtctl.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    install(FILES ${dt_pages}/job.v1.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/dt)
    install(FILES ${dt_pages}/dtctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${dt_pages}/job.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
endif()
foreach(program dtserver.8 dtagent.8 dttrain.1)
    string(REGEX REPLACE "\\.[0-9]$" "" name ${program})
    string(REGEX REPLACE "^.*\\." "" section ${program})
    if(TARGET ${name})
        dt_print(${name} ${program} --man)
        install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
        install(FILES ${dt_pages}/${program} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/include/dt/rank_env.h OPTIONAL
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dt)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
add_custom_target(dt_pages ALL DEPENDS ${dt_printed})
