# The universal fallback, through find_package(llama); nothing of it is vendored. Tested with the libllama of
# llama-cpp-python 0.3.36, and with that of 0.3.16 on Vulkan, which scripts/install-llama-cpp builds; one that was installed
# by other means is found through CMAKE_PREFIX_PATH. Sets INFERFLUX_LLAMA_CPP.
set(ENABLE_LLAMA_CPP AUTO CACHE STRING "The llama.cpp engine: AUTO (where libllama is found), ON or OFF")
set_property(CACHE ENABLE_LLAMA_CPP PROPERTY STRINGS AUTO ON OFF)

set(INFERFLUX_LLAMA_CPP OFF)
if(ENABLE_LLAMA_CPP STREQUAL "AUTO" AND INFERFLUX_SANITIZE MATCHES "thread")
  message(STATUS "llama.cpp: off, since ThreadSanitizer does not see into a library that was built without it")
elseif(ENABLE_LLAMA_CPP)
  find_package(llama CONFIG QUIET)
  if(NOT llama_FOUND)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/install-llama-cpp --where
                    OUTPUT_VARIABLE where OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(where)
      list(APPEND CMAKE_PREFIX_PATH ${where})
      find_package(llama CONFIG QUIET)
    endif()
  endif()
  if(llama_FOUND)
    set(INFERFLUX_LLAMA_CPP ON)
    message(STATUS "llama.cpp: on, ${llama_DIR}")
  elseif(ENABLE_LLAMA_CPP STREQUAL "AUTO")
    message(STATUS "llama.cpp: off, there is no libllama here (scripts/install-llama-cpp builds one)")
  else()
    message(FATAL_ERROR "ENABLE_LLAMA_CPP is ON, but find_package(llama) finds nothing: run scripts/install-llama-cpp, "
                        "or set CMAKE_PREFIX_PATH to where libllama is installed")
  endif()
else()
  message(STATUS "llama.cpp: off, as asked for (ENABLE_LLAMA_CPP)")
endif()
