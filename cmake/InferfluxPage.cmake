# The page at /: what it does not write itself comes from Debian's packages and is embedded at build time (src/server/page/).
# Sets INFERFLUX_PAGE: whether all of it is here.
find_package(Python3 COMPONENTS Interpreter)
set(INFERFLUX_PAGE_LIBRARIES)
set(missing)
foreach(library
    nodejs/dompurify/dist/purify.min.js:node-dompurify
    javascript/marked/marked.min.js:libjs-marked
    javascript/highlight.js/highlight.min.js:libjs-highlight.js
    javascript/chart.js/chart.min.js:libjs-chart.js)
  string(REPLACE ":" ";" parts ${library})
  list(GET parts 0 file)
  list(GET parts 1 package)
  if(EXISTS /usr/share/${file})
    list(APPEND INFERFLUX_PAGE_LIBRARIES /usr/share/${file}:/usr/share/doc/${package}/copyright)
  else()
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing OR NOT Python3_FOUND)
  set(INFERFLUX_PAGE OFF)
  message(STATUS "page: off, without ${missing}")
else()
  set(INFERFLUX_PAGE ON)
  message(STATUS "page: on")
endif()

# Bundles the page into FOLDER and has TARGET's page_endpoint.cpp embed it.
function(inferflux_bundle_page target folder)
  set(sources ${CMAKE_SOURCE_DIR}/src/server/page)
  file(GLOB_RECURSE parts CONFIGURE_DEPENDS ${sources}/*.js ${sources}/*.css ${sources}/*.html)
  set(libraries ${INFERFLUX_PAGE_LIBRARIES})
  list(TRANSFORM libraries REPLACE ":.*" "")
  add_custom_command(
    OUTPUT ${folder}/page.html ${folder}/page.html.gz ${folder}/page_policy.txt
    COMMAND Python3::Interpreter ${sources}/bundle.py ${folder} ${INFERFLUX_PAGE_LIBRARIES}
    DEPENDS ${parts} ${sources}/bundle.py ${libraries}
    COMMENT "Bundling the page"
    VERBATIM)
  set_source_files_properties(${sources}/page_endpoint.cpp PROPERTIES
    COMPILE_DEFINITIONS "INFERFLUX_PAGE_FOLDER=\"${folder}\""
    OBJECT_DEPENDS "${folder}/page.html;${folder}/page.html.gz;${folder}/page_policy.txt"
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
