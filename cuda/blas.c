/* cuda/blas.c - see blas.h. */
#include "cuda/blas.h"

#include <dlfcn.h>
#include <string.h>

#define STRING_OF(x) #x
#define STRING(x)    STRING_OF(x)
#define LIBRARY      "libcublas.so." STRING(CUBLAS_VER_MAJOR)

/* Where the loader looks, then where the build found it. */
static const char *const places[] = {LIBRARY, GNN_CUDA_LIBRARY_DIR "/" LIBRARY};

/* dlsym gives an object pointer; POSIX says that it may be copied into a function pointer. */
static bool find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

int gnn_cuda_blas_load(struct gnn_cuda_blas *b)
{
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; i < GNN_COUNT_OF(places) && b->library == NULL; i++)
		b->library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
	if (b->library == NULL)
		return gnn_err(GNN_EUNAVAIL, "backend cuda: %s", dlerror());
	if (find(b->library, "cublasCreate_v2", &b->create) &&
		find(b->library, "cublasDestroy_v2", &b->destroy) &&
		find(b->library, "cublasSetStream_v2", &b->set_stream) &&
		find(b->library, "cublasSetWorkspace_v2", &b->set_workspace) &&
		find(b->library, "cublasSetMathMode", &b->set_math_mode) &&
		find(b->library, "cublasSgemm_v2", &b->sgemm) &&
		find(b->library, "cublasGetStatusString", &b->status_string))
		return GNN_OK;
	gnn_err(GNN_EUNAVAIL, "backend cuda: %s", dlerror());
	gnn_cuda_blas_unload(b);
	return GNN_EUNAVAIL;
}

void gnn_cuda_blas_unload(struct gnn_cuda_blas *b)
{
	if (b->library != NULL)
		dlclose(b->library);
	memset(b, 0, sizeof(*b));
}
