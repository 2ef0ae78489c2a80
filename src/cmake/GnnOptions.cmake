# Build switches, and the flags that every own target gets.

option(GNN_BUILD_TESTS "Build the tests" ON)
option(GNN_WERROR "Warnings are errors" OFF)
option(GNN_ASAN "Address and undefined-behaviour sanitizers" OFF)
option(GNN_TSAN "Thread sanitizer" OFF)
set(GNN_WITH_CUDA AUTO CACHE STRING "The CUDA backend: AUTO (when nvcc is found), ON, OFF")
set(GNN_WITH_NCCL AUTO CACHE STRING "Ranks with GPUs by NCCL: AUTO (when it is found), ON, OFF")
set(GNN_CUDA_ARCH 90 CACHE STRING "CUDA architectures to compile for")
set_property(CACHE GNN_WITH_CUDA GNN_WITH_NCCL PROPERTY STRINGS AUTO ON OFF)

if(GNN_ASAN AND GNN_TSAN)
	message(FATAL_ERROR "GNN_ASAN and GNN_TSAN exclude each other")
endif()

add_library(gnn_flags INTERFACE)
target_include_directories(gnn_flags INTERFACE
	"${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_definitions(gnn_flags INTERFACE _GNU_SOURCE)
# Contraction stays off and no fast-math: equal bits are a promise (docs/architecture.md).
set(gnn_host_options
	-ffp-contract=off -fno-math-errno -fno-omit-frame-pointer -Wall -Wextra
	$<$<BOOL:${GNN_WERROR}>:-Werror>
	$<$<BOOL:${GNN_ASAN}>:-fsanitize=address,undefined -fno-sanitize-recover=undefined>
	$<$<BOOL:${GNN_TSAN}>:-fsanitize=thread>)
target_compile_options(gnn_flags INTERFACE
	"$<$<COMPILE_LANGUAGE:C,CXX>:${gnn_host_options}>"
	$<$<COMPILE_LANGUAGE:C>:-Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes>
	"$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-ffp-contract=off>")
target_link_options(gnn_flags INTERFACE
	$<$<BOOL:${GNN_ASAN}>:-fsanitize=address,undefined>
	$<$<BOOL:${GNN_TSAN}>:-fsanitize=thread>)

# gnn_library(name SOURCES a.c b.c LINKS other): one static library per box of docs/architecture.md.
function(gnn_library name)
	cmake_parse_arguments(L "" "" "SOURCES;LINKS" ${ARGN})
	add_library(${name} STATIC ${L_SOURCES})
	target_link_libraries(${name} PUBLIC gnn_flags ${L_LINKS})
endfunction()
