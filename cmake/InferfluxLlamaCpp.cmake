# The universal fallback, through find_package(llama); nothing of it is vendored. Tested with the libllama of
# llama-cpp-python 0.3.36, and with that of 0.3.16 on Vulkan, which scripts/install-llama-cpp builds; one that was installed
# by other means is found through CMAKE_PREFIX_PATH. ENABLE_VULKAN asks for a libllama with Vulkan devices. Sets
# INFERFLUX_LLAMA_CPP.
set(ENABLE_LLAMA_CPP AUTO CACHE STRING "The llama.cpp engine: AUTO (where libllama is found), ON or OFF")
set_property(CACHE ENABLE_LLAMA_CPP PROPERTY STRINGS AUTO ON OFF)

option(ENABLE_VULKAN "Vulkan devices, through llama.cpp: needs a libllama that was built with GGML_VULKAN" OFF)

# The folder in which scripts/install-llama-cpp has put a library; empty: it has not.
function(inferflux_installed_llama out)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/install-llama-cpp ${ARGN} --where
                  OUTPUT_VARIABLE where OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${out} "${where}" PARENT_SCOPE)
endfunction()

if(ENABLE_VULKAN)
  if(NOT ENABLE_LLAMA_CPP)
    message(FATAL_ERROR "ENABLE_VULKAN is ON, but ENABLE_LLAMA_CPP is OFF: llama.cpp is what computes on Vulkan")
  endif()
  # The library with Vulkan goes before the script's other one, which an earlier configuration may have found.
  inferflux_installed_llama(with_vulkan --vulkan)
  inferflux_installed_llama(without_vulkan)
  if(with_vulkan)
    foreach(found llama_DIR ggml_DIR)
      if(without_vulkan AND "${${found}}" MATCHES "^${without_vulkan}/")
        unset(${found} CACHE)
      endif()
    endforeach()
    list(APPEND CMAKE_PREFIX_PATH ${with_vulkan})
  endif()
endif()

set(INFERFLUX_LLAMA_CPP OFF)
if(ENABLE_LLAMA_CPP STREQUAL "AUTO" AND INFERFLUX_SANITIZE MATCHES "thread")
  message(STATUS "llama.cpp: off, since ThreadSanitizer does not see into a library that was built without it")
elseif(ENABLE_LLAMA_CPP)
  find_package(llama CONFIG QUIET)
  if(NOT llama_FOUND)
    inferflux_installed_llama(where)
    if(where)
      list(APPEND CMAKE_PREFIX_PATH ${where})
      find_package(llama CONFIG QUIET)
    endif()
  endif()
  if(llama_FOUND)
    if(ENABLE_VULKAN AND NOT TARGET ggml::ggml-vulkan AND NOT GGML_BACKEND_DL)  # plugins are found when a program runs
      message(FATAL_ERROR "ENABLE_VULKAN is ON, but the libllama in ${llama_DIR} has no Vulkan devices: run "
                          "scripts/install-llama-cpp --vulkan, or set CMAKE_PREFIX_PATH to one that has")
    endif()
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
