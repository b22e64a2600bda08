# inferflux_precompile(TARGET HEADER)
#
# TARGET's sources get HEADER, a path below the source folder, in front of them, precompiled: what nearly each of them
# includes, and what costs each a second or more. Sources still include what they use. The first target that asks for a
# header compiles it and the later ones reuse that, so a later one has the first one's flags and definitions, or more
# definitions: as the floors have, from the ground up.
function(inferflux_precompile target header)
  get_property(owner GLOBAL PROPERTY "INFERFLUX_PRECOMPILED_${header}")
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/${header})
    set_property(GLOBAL PROPERTY "INFERFLUX_PRECOMPILED_${header}" ${target})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # without it ccache caches none of the target's files
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 finds faults in std::string that are not there, and tells where its header is precompiled.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()
