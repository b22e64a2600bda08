# Completions and manual pages, which the programs print from their own tables of options: the target `documents`. A Debian
# package has compressed manual pages, and zsh's completions elsewhere.
include(GNUInstallDirs)

function(inferflux_documents)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(all)
  set(share ${CMAKE_BINARY_DIR}/share)
  set(zsh_folder ${share}/zsh/site-functions)
  set(compress)
  set(gz)
  if(INFERFLUX_PACKAGE)
    set(zsh_folder ${share}/zsh/vendor-completions)
    set(gz .gz)
  endif()
  foreach(program ${ARGN})
    set(bash ${share}/bash-completion/completions/${program})
    set(zsh ${zsh_folder}/_${program})
    set(fish ${share}/fish/vendor_completions.d/${program}.fish)
    set(page ${share}/man/man1/${program}.1)
    set(man ${page}${gz})
    if(gz)
      set(compress COMMAND gzip -9nf ${page})
    endif()
    add_custom_command(OUTPUT ${bash} ${zsh} ${fish} ${man}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/bash-completion/completions ${zsh_folder}
              ${share}/fish/vendor_completions.d ${share}/man/man1
      COMMAND sh -c "\"$1\" --print-completion bash >\"$2\"" sh $<TARGET_FILE:${program}> ${bash}
      COMMAND sh -c "\"$1\" --print-completion zsh >\"$2\"" sh $<TARGET_FILE:${program}> ${zsh}
      COMMAND sh -c "\"$1\" --print-completion fish >\"$2\"" sh $<TARGET_FILE:${program}> ${fish}
      COMMAND sh -c "\"$1\" --print-man >\"$2\"" sh $<TARGET_FILE:${program}> ${page}
      ${compress}
      DEPENDS ${program} COMMENT "Writing the completions and the manual page of ${program}" VERBATIM)
    list(APPEND all ${bash} ${zsh} ${fish} ${man})
  endforeach()
  add_custom_target(documents DEPENDS ${all})
  # Only where the target was built.
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT programs OPTIONAL
          FILES_MATCHING PATTERN "*inferflux*" PATTERN "*inferctl*")
endfunction()
