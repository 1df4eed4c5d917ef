/* Stands in for the CUDA runtime under host code that the DSL compiles in a process, and hands each launch to Python.
 *
 * The DSL's execution engine looks names up in the libraries of CUTE_DSL_LIBS, in their order. With this one ahead of
 * the real runtime, what touches a device ends here, and everything else (printing, errors, TVM-FFI) is as ever. Types
 * follow the CUDA runtime's public headers. Every function returns a cudaError_t. */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
  int (*load)(void **library, const void *code);
  int (*kernel)(void **kernel, void *library, const char *name);
  int (*launch)(const void *config, void *kernel, void **arguments);
  int (*attribute)(int *value, int attribute);
  int (*allocate)(void **address, size_t bytes);
  int (*release)(void *address);
  int (*copy)(void *target, const void *source, size_t bytes);
  int (*set)(void *target, int value, size_t bytes);
  int (*missing)(const char *name);
} hooks_t;

EXPORT hooks_t check_hooks; /* all written before the first call */

EXPORT int _cudaLibraryLoadData(void **library, const void *code) { return check_hooks.load(library, code); }
EXPORT int _cuLibraryLoadData(void **library, const void *code) { return check_hooks.load(library, code); }
EXPORT int _cudaLibraryGetKernel(void **kernel, void *library, const char *name) { return check_hooks.kernel(kernel, library, name); }
EXPORT int _cuLibraryGetKernel(void **kernel, void *library, const char *name) { return check_hooks.kernel(kernel, library, name); }
EXPORT int _cudaLibraryUnload(void) { return 0; }
EXPORT int _cuLibraryUnload(void) { return 0; }

typedef struct { uint32_t grid[3], block[3]; uint64_t shared_bytes; void *stream; void *attributes; uint32_t count; } config_t;
typedef struct { uint32_t x, y, z; } dim_t;

EXPORT int _cudaLaunchKernelEx(const config_t *config, void *kernel, void **arguments) { return check_hooks.launch(config, kernel, arguments); }
EXPORT int _cudaLaunchKernel(void *kernel, dim_t grid, dim_t block, void **arguments, size_t shared_bytes, void *stream) {
  config_t config = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, stream, NULL, 0};
  return check_hooks.launch(&config, kernel, arguments);
}

EXPORT int _cuKernelGetAttribute(int *value) { *value = 0; return 0; }
EXPORT int _cudaFuncSetAttribute(void) { return 0; }
EXPORT int _cudaKernelSetAttributeForDevice(void) { return 0; }
EXPORT int _cudaDeviceGetAttribute(int *value, int attribute) { return check_hooks.attribute(value, attribute); }
EXPORT int _cudaGetDevice(int *device) { *device = 0; return 0; }
EXPORT int _cuDeviceGet(int *device) { *device = 0; return 0; }
EXPORT int _cudaGetDeviceCount(int *count) { *count = 1; return 0; }
EXPORT int _cudaSetDevice(void) { return 0; }
EXPORT int _cudaDeviceSynchronize(void) { return 0; }

EXPORT int _cudaMalloc(void **address, size_t bytes) { return check_hooks.allocate(address, bytes); }
EXPORT int _cudaMallocAsync(void **address, size_t bytes) { return check_hooks.allocate(address, bytes); }
EXPORT int _cudaFree(void *address) { return check_hooks.release(address); }
EXPORT int _cudaFreeAsync(void *address) { return check_hooks.release(address); }
EXPORT int _cudaMemcpy(void *target, const void *source, size_t bytes) { return check_hooks.copy(target, source, bytes); }
EXPORT int _cudaMemcpyAsync(void *target, const void *source, size_t bytes) { return check_hooks.copy(target, source, bytes); }
EXPORT int _cudaMemset(void *target, int value, size_t bytes) { return check_hooks.set(target, value, bytes); }
EXPORT int _cudaMemsetAsync(void *target, int value, size_t bytes) { return check_hooks.set(target, value, bytes); }

/* The real one asks the driver how many devices there are. A failure is told by the launch that follows: only there does
 * host code for TVM-FFI make an error of its own of it. */
EXPORT int cuda_dialect_init_library_once(void **slot, int (*init)(void **), int (*load)(void **, int)) {
  if (*slot) return 0;
  void *library = NULL;
  int status = init(&library);
  if (!status && load) status = load(&library, 0);
  if (!status) *slot = library;
  return 0;
}
EXPORT void cuda_dialect_unload_library_once(void) {}

/* Launches run when they are made, so streams and events have nothing to order. */
EXPORT int _cudaStreamCreate(void **stream) { *stream = NULL; return 0; }
EXPORT int _cudaStreamDestroy(void) { return 0; }
EXPORT int _cudaStreamSynchronize(void) { return 0; }
EXPORT int _cudaStreamWaitEvent(void) { return 0; }
EXPORT int _cudaEventCreate(void **event) { *event = NULL; return 0; }
EXPORT int _cudaEventDestroy(void) { return 0; }
EXPORT int _cudaEventRecord(void) { return 0; }

#define MISSING(name) EXPORT int name(void) { return check_hooks.missing(#name); }
MISSING(_cuTensorMapEncodeTiled)
MISSING(_cudaEventElapsedTime)
MISSING(_cudaGraphInstantiate)
MISSING(_cudaGraphLaunch)
MISSING(_cudaLibraryGetGlobal)
MISSING(_cudaLibraryGetManaged)
MISSING(_cuLibraryGetGlobal)
MISSING(_cudaOccupancyMaxActiveBlocksPerMultiprocessor)
MISSING(_cudaStreamAddCallback)
MISSING(_cudaStreamBeginCapture)
MISSING(_cudaStreamEndCapture)
