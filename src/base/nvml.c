/* base/nvml.c - see nvml.h. The few declarations needed of the library's documented interface. */
#include "base/nvml.h"

#include <dlfcn.h>
#include <math.h>

struct memory {
	unsigned long long total, free, used; /* bytes */
};

struct utilisation {
	unsigned int gpu, memory; /* percent of the last sample period */
};

static bool find(void *library, const char *name, void *to)
{
	void *symbol = dlsym(library, name);

	/* dlsym gives functions as objects, which ISO C does not convert: POSIX says, as here. */
	*(void **)to = symbol;
	return symbol != NULL;
}

int gnn_nvml_open(struct gnn_nvml *n, const char *bus_id)
{
	int (*init)(void), (*device_of)(const char *bus_id, void **device);

	*n = (struct gnn_nvml){0};
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (n->library == NULL)
		return GNN_SKIPPED;
	if (!find(n->library, "nvmlInit_v2", &init) || init() != 0)
		goto out;
	if (find(n->library, "nvmlShutdown", &n->shutdown) &&
		find(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &device_of) &&
		find(n->library, "nvmlDeviceGetMemoryInfo", &n->memory) &&
		find(n->library, "nvmlDeviceGetUtilizationRates", &n->utilisation) &&
		device_of(bus_id, &n->device) == 0)
		return GNN_OK;
out:
	gnn_nvml_close(n);
	return GNN_SKIPPED;
}

void gnn_nvml_close(struct gnn_nvml *n)
{
	if (n->shutdown != NULL)
		n->shutdown();
	if (n->library != NULL)
		dlclose(n->library);
	*n = (struct gnn_nvml){0};
}

void gnn_nvml_read(const struct gnn_nvml *n, double *used_bytes, double *busy)
{
	struct memory memory;
	struct utilisation utilisation;

	*used_bytes = *busy = NAN;
	if (n->library == NULL)
		return;
	if (n->memory(n->device, &memory) == 0)
		*used_bytes = (double)memory.used;
	if (n->utilisation(n->device, &utilisation) == 0)
		*busy = utilisation.gpu / 100.0;
}
