# Foreign libraries. The required ones come as Debian packages (scripts/setup installs them); without an optional one the
# build is complete but for the kernels that would use it.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(NLOPT REQUIRED IMPORTED_TARGET nlopt)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)

# gopt-optional: defines GOPT_HAVE_<NAME> and makes its headers and library reachable for every optional library found.
add_library(gopt-optional INTERFACE)
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
pkg_check_modules(LIBXSMM IMPORTED_TARGET libxsmmnoblas)
foreach(name OPENBLAS LIBXSMM)
    if(TARGET PkgConfig::${name})
        target_link_libraries(gopt-optional INTERFACE PkgConfig::${name})
        target_compile_definitions(gopt-optional INTERFACE GOPT_HAVE_${name})
    endif()
endforeach()

find_path(DNNL_INCLUDE_DIR dnnl.h)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
    target_link_libraries(gopt-optional INTERFACE ${DNNL_LIBRARY})
    target_include_directories(gopt-optional SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
    target_compile_definitions(gopt-optional INTERFACE GOPT_HAVE_DNNL)
endif()

# Headers only: the driver and its libraries are opened at run time, so one binary runs with and without a GPU.
find_path(CUDA_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include)
if(CUDA_INCLUDE_DIR)
    target_include_directories(gopt-optional SYSTEM INTERFACE ${CUDA_INCLUDE_DIR})
    target_compile_definitions(gopt-optional INTERFACE GOPT_HAVE_CUDA_HEADERS)
endif()

# ONNX's own schema, read through protobuf-c.
find_program(PROTOC_C protoc-c REQUIRED)
find_file(ONNX_PROTO NAMES onnx/onnx-ml.proto onnx/onnx.proto REQUIRED)
set(proto_dir ${CMAKE_BINARY_DIR}/generated/onnx)
configure_file(${ONNX_PROTO} ${proto_dir}/onnx.proto COPYONLY)
add_custom_command(
    OUTPUT ${proto_dir}/onnx.pb-c.c ${proto_dir}/onnx.pb-c.h
    COMMAND ${PROTOC_C} --c_out=${proto_dir} --proto_path=${proto_dir} onnx.proto
    DEPENDS ${proto_dir}/onnx.proto
    COMMENT "protoc-c onnx.proto")
add_library(gopt-onnx-proto STATIC ${proto_dir}/onnx.pb-c.c)
target_compile_options(gopt-onnx-proto PRIVATE -w)
target_include_directories(gopt-onnx-proto SYSTEM PUBLIC ${proto_dir})
target_link_libraries(gopt-onnx-proto PUBLIC PkgConfig::PROTOBUF_C)
