/* Stands in for the CUDA and TVM-FFI runtimes under an exported host function and notes each launch that it makes.
 *
 * Linked with the object with -Bsymbolic, it makes the host code runnable where there is no GPU, no driver and no DSL:
 * it is how the grid, cluster, dynamic shared memory and parameter bytes become known, and how the host code's own
 * argument checks can be tried. Types follow the CUDA runtime's public headers (cudaLaunchConfig_t). */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { MAX_KERNELS = 16, MAX_LAUNCHES = 16, MAX_PARAMETERS = 64, PARAMETER_BYTES = 4352, ATTRIBUTE_CLUSTER = 4 };

typedef struct { uint32_t grid[3], block[3]; uint64_t shared_bytes; void *stream; void *attributes; uint32_t count; } config_t;
typedef struct { uint32_t id; char pad[4]; uint32_t value[16]; } attribute_t;
typedef struct { const char *name; int parameter_count, parameter_bytes[MAX_PARAMETERS]; } kernel_t;
typedef struct { const kernel_t *kernel; uint32_t grid[3], block[3], cluster[3]; uint64_t shared_bytes; unsigned char parameters[PARAMETER_BYTES]; void *stream; } launch_t;

EXPORT kernel_t capture_kernels[MAX_KERNELS]; /* written by the caller before the first launch, up to a name of NULL */
EXPORT launch_t capture_launches[MAX_LAUNCHES];
EXPORT int capture_count, capture_shared_limit;
EXPORT char capture_error[4096];

/* cudaErrorInvalidConfiguration, as of a device: the grid's extents are 1 to 2^31 - 1 and twice 1 to 65535. */
static int refused(const uint32_t *grid) {
  for (int axis = 0; axis < 3; ++axis)
    if (!grid[axis] || grid[axis] > (axis ? 65535u : 0x7fffffffu)) return 9;
  return 0;
}

EXPORT int _cudaLaunchKernelEx(const config_t *config, const kernel_t *kernel, void **arguments) {
  if (refused(config->grid)) return refused(config->grid);
  if (capture_count >= MAX_LAUNCHES) {
    snprintf(capture_error, sizeof capture_error, "more than %d launches", MAX_LAUNCHES);
    return 1;
  }
  launch_t *launch = &capture_launches[capture_count++];
  launch->kernel = kernel;
  memcpy(launch->grid, config->grid, sizeof launch->grid);
  memcpy(launch->block, config->block, sizeof launch->block);
  launch->cluster[0] = launch->cluster[1] = launch->cluster[2] = 1;
  launch->shared_bytes = config->shared_bytes;
  launch->stream = config->stream;
  const attribute_t *attributes = config->attributes;
  for (uint32_t i = 0; i < config->count; ++i)
    if (attributes[i].id == ATTRIBUTE_CLUSTER) memcpy(launch->cluster, attributes[i].value, sizeof launch->cluster);
  unsigned char *to = launch->parameters;
  for (int i = 0; i < kernel->parameter_count; ++i) {
    memcpy(to, arguments[i], (size_t)kernel->parameter_bytes[i]);
    to += kernel->parameter_bytes[i];
  }
  return 0;
}

EXPORT int _cudaLibraryLoadData(void **library) { *library = &capture_count; return 0; }
EXPORT int _cudaLibraryGetKernel(const kernel_t **kernel, void *library, const char *name) {
  (void)library;
  for (int i = 0; i < MAX_KERNELS && capture_kernels[i].name; ++i)
    if (!strcmp(capture_kernels[i].name, name)) {
      *kernel = &capture_kernels[i];
      return 0;
    }
  snprintf(capture_error, sizeof capture_error, "the PTX has no kernel %s", name);
  return 1;
}
EXPORT int _cuKernelGetAttribute(int *value) { *value = 0; return 0; }
EXPORT int _cudaDeviceGetAttribute(int *value) { *value = capture_shared_limit; return 0; }
EXPORT int _cudaFuncSetAttribute(void) { return 0; }
EXPORT int _cudaKernelSetAttributeForDevice(void) { return 0; }
EXPORT int _cudaGetDevice(int *device) { *device = 0; return 0; }
EXPORT int _cudaSetDevice(void) { return 0; }

EXPORT int cuda_dialect_init_library_once(void **slot, int (*init)(void **), int (*load)(void **, int)) {
  if (*slot) return 0;
  void *library = NULL;
  int status = init(&library);
  if (!status && load) status = load(&library, 0);
  *slot = library;
  return status;
}
EXPORT void cuda_dialect_unload_library_once(void) {}

/* Not NULL, so that a launch on the default stream is another one. */
EXPORT void *TVMFFIEnvGetStream(void) { return &capture_count; }

static void note(const char *kind, const char *const *parts, int count) {
  size_t used = (size_t)snprintf(capture_error, sizeof capture_error, "%s: ", kind ? kind : "error");
  for (int i = 0; i < count && used < sizeof capture_error; ++i)
    used += (size_t)snprintf(capture_error + used, sizeof capture_error - used, "%s", parts[i] ? parts[i] : "");
}
EXPORT void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) { note(kind, parts, count); }
EXPORT void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) { note(kind, &message, 1); }
EXPORT void CuteDSLRT_TVMFFISetRaisedCudaError(void *set_error, int32_t code) {
  (void)set_error;
  snprintf(capture_error, sizeof capture_error, "CUDA error %d", code);
}
