# The MLX backend, through find_package(MLX). Tested with MLX 0.32.4, which scripts/install-mlx installs on Linux; one
# that was installed by other means is found through MLX_ROOT or CMAKE_PREFIX_PATH. Sets INFERFLUX_MLX.
set(ENABLE_MLX AUTO CACHE STRING "The MLX backend: AUTO (where MLX is found), ON or OFF")
set_property(CACHE ENABLE_MLX PROPERTY STRINGS AUTO ON OFF)

set(INFERFLUX_MLX OFF)
if(ENABLE_MLX STREQUAL "AUTO" AND INFERFLUX_SANITIZE)
  message(STATUS "MLX: off, since sanitizers do not see into a library that was built without them")
elseif(ENABLE_MLX)
  find_package(MLX 0.30 CONFIG QUIET)
  if(NOT MLX_FOUND)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/install-mlx --where
                    OUTPUT_VARIABLE where OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(where)
      list(APPEND CMAKE_PREFIX_PATH ${where})
      find_package(MLX 0.30 CONFIG QUIET)
    endif()
  endif()
  if(MLX_FOUND)
    set(INFERFLUX_MLX ON)
    message(STATUS "MLX: on, ${MLX_DIR}")
    # Both MLX and ggml define gguf_get_key, and the library that comes first in a program serves both. MLX needs its own only
    # for a file loader that nothing here calls, so ggml's comes first.
    if(INFERFLUX_LLAMA_CPP)
      target_link_options(mlx INTERFACE "LINKER:--push-state,--no-as-needed,$<TARGET_FILE:ggml::ggml-base>,--pop-state"
        "LINKER:-rpath,$<TARGET_FILE_DIR:ggml::ggml-base>")
    endif()
  elseif(ENABLE_MLX STREQUAL "AUTO")
    message(STATUS "MLX: off, there is no MLX here (scripts/install-mlx installs it)")
  else()
    message(WARNING "ENABLE_MLX is ON, but find_package(MLX) finds nothing: it stays off. Run scripts/install-mlx, or set "
                    "MLX_ROOT to where MLX is installed")
    set(ENABLE_MLX OFF CACHE STRING "The MLX backend: AUTO (where MLX is found), ON or OFF" FORCE)
  endif()
else()
  message(STATUS "MLX: off, as asked for (ENABLE_MLX)")
endif()
