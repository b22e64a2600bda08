# inferflux_boost_pch(TARGET)
#
# Precompiles Boost's headers for TARGET: they cost seconds in every file.
function(inferflux_boost_pch target)
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/net/precompiled.h)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # without it ccache caches none of the target's files
  endif()
endfunction()
