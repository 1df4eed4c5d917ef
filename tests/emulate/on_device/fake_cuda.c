/* A CUDA driver without a GPU, for the test of the launch path: memory is the CPU's, a module's "code" says what its
 * launches do (hang, crash, or nothing), and each launch is noted in the file that FAKE_CUDA_LOG names. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { int id; char pad[4]; unsigned dims[3]; char rest[52]; } attribute_t;
typedef struct { unsigned grid[3], block[3], shared; void *stream; attribute_t *attributes; unsigned count; } config_t;

static const char *code = "";
static int failed;

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = &failed; return 0; }
int cuCtxSetCurrent(void *context) { return context == &failed ? 0 : 201; }
int cuDeviceGetName(char *name, int size, int device) { (void)device; snprintf(name, (size_t)size, "no GPU"); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { (void)device; *value = attribute == 16 ? 8 : 0; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuMemAlloc_v2(uint64_t *address, size_t size) { *address = (uint64_t)(uintptr_t)aligned_alloc(256, (size + 255) / 256 * 256); return 0; }
int cuMemFree_v2(uint64_t address) { free((void *)(uintptr_t)address); return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) { memcpy((void *)(uintptr_t)to, from, size); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)(uintptr_t)from, size); return 0; }
int cuModuleLoadData(void **module, const char *image) { if (strncmp(image, ".version", 8)) code = strdup(image); *module = &code; return 0; }
int cuModuleUnload(void *module) { (void)module; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { (void)name; *function = module; return 0; }
int cuFuncSetAttribute(void *function, int attribute, int value) { (void)function; return attribute == 8 && value > 0 ? 0 : 1; }
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const config_t *config) { (void)function; (void)config; *clusters = 4; return 0; }

int cuLaunchKernelEx(const config_t *config, void *function, void **parameters, void **extra) {
  (void)function; (void)extra;
  FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
  const attribute_t *cluster = config->attributes;
  fprintf(log, "%u %u %u %u %u %u %u\n", config->grid[0], config->grid[1], config->block[0], cluster->id,
          cluster->dims[0], cluster->dims[1], config->shared);
  fclose(log);
  if (*(const volatile char *)parameters[0] && !strcmp(code, "hang")) sleep(600);
  failed = !strcmp(code, "crash");
  return 0;
}
int cuCtxSynchronize(void) { return failed ? 700 : 0; }
