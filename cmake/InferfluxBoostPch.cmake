# inferflux_boost_pch(TARGET)
#
# Precompiles Boost's headers for TARGET: they cost seconds in every file. ccache must be told that a precompiled header
# is as good as its sources, or it caches none of these files.
function(inferflux_boost_pch target)
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/net/precompiled.h)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  if(INFERFLUX_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${INFERFLUX_CCACHE}")
  endif()
endfunction()
