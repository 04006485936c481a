# gopt_version.h: the project's version and the commit it was built from, written anew only when one of them changes.

set(GOPT_COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
    execute_process(
        COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
        set(GOPT_COMMIT ${commit})
    endif()
endif()
# A development build keeps the commit of its last configuration: relinking everything at every commit would cost more.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND EXISTS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/gopt_version.h.in ${CMAKE_BINARY_DIR}/generated/version/gopt_version.h)
