/* A stand-in for AMD's libamdhip64: device memory is a shared file, a launch is a message to the process that emulates it.
 *
 * Owns as much of the runtime's interface as the HIP backend calls. Every launch is answered before it returns; what the answer
 * says (done, memory fault, hang, time) is acted out here as the real library would. Set by the test:
 *   STANDIN_SOCKET  the emulating process listens there      STANDIN_MEMORY  the file that is the device memory
 *   STANDIN_ARCH, STANDIN_ARCH_OFFSET  the target's name and where the properties hold it
 *   STANDIN_BROKEN  the name of a call that fails
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_BINARY = 209, NOT_FOUND = 500 };
enum { DONE = 0, FAULT = 1, HANG = 2 };

#define MEMORY_BYTES (1ull << 28)
static char *memory;
static uint64_t used = 4096;
static int server = -1;
static double clock_ms;

typedef struct { char name[256]; uint64_t module; } Function;
typedef struct { double at_ms; } Event;

static int broken(const char *call) {
  const char *name = getenv("STANDIN_BROKEN");
  return name && !strcmp(name, call) ? INVALID : SUCCESS;
}

static void send_all(const void *data, size_t size) {
  for (const char *at = data; size;) {
    ssize_t n = write(server, at, size);
    if (n <= 0) { fprintf(stderr, "stand-in: the emulating process is gone\n"); _exit(3); }
    at += n, size -= (size_t)n;
  }
}

static void receive_all(void *data, size_t size) {
  for (char *at = data; size;) {
    ssize_t n = read(server, at, size);
    if (n <= 0) { fprintf(stderr, "stand-in: the emulating process is gone\n"); _exit(3); }
    at += n, size -= (size_t)n;
  }
}

int hipGetDeviceCount(int *count) {
  if (broken("hipGetDeviceCount")) return INVALID;
  *count = 1;
  return SUCCESS;
}

int hipSetDevice(int device) {
  if (device) return INVALID;
  int file = open(getenv("STANDIN_MEMORY"), O_RDWR);
  memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, getenv("STANDIN_SOCKET"), sizeof address.sun_path - 1);
  server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (memory == MAP_FAILED || connect(server, (struct sockaddr *)&address, sizeof address)) return INVALID;
  return SUCCESS;
}

int hipGetDevicePropertiesR0600(char *properties, int device) {
  if (device) return INVALID;
  strcpy(properties, "stand-in");
  strcpy(properties + atoi(getenv("STANDIN_ARCH_OFFSET")), getenv("STANDIN_ARCH"));
  return SUCCESS;
}

int hipRuntimeGetVersion(int *version) { *version = 1; return SUCCESS; }
int hipDriverGetVersion(int *version) { *version = 1; return SUCCESS; }
int hipDeviceSynchronize(void) { return broken("hipDeviceSynchronize"); }
const char *hipGetErrorString(int error) { (void)error; return "an error of the stand-in"; }

int hipMalloc(void **pointer, size_t size) {
  if (broken("hipMalloc")) return OUT_OF_MEMORY;
  if (used + size > MEMORY_BYTES) return OUT_OF_MEMORY;
  *pointer = memory + used;
  uint64_t message[3] = {1, used, size};
  send_all(message, sizeof message);
  used += (size + 8191) / 4096 * 4096;
  return SUCCESS;
}

int hipFree(void *pointer) {
  uint64_t message[3] = {2, (uint64_t)((char *)pointer - memory), 0};
  send_all(message, sizeof message);
  return SUCCESS;
}

int hipMemcpy(void *target, const void *source, size_t size, int kind) {
  (void)kind;
  memcpy(target, source, size);
  return SUCCESS;
}

int hipModuleLoadData(void **module, const char *image) {
  if (memcmp(image, "\177ELF", 4)) return NO_BINARY;
  /* The image has no size in this call: it ends with its section table, which an ELF header tells. */
  uint64_t table, size;
  uint16_t entry, count;
  memcpy(&table, image + 40, 8), memcpy(&entry, image + 58, 2), memcpy(&count, image + 60, 2);
  size = table + (uint64_t)entry * count;
  uint64_t message[3] = {3, size, 0}, number;
  send_all(message, sizeof message);
  send_all(image, size);
  receive_all(&number, sizeof number);
  *module = (void *)(number + 1);
  return SUCCESS;
}

int hipModuleUnload(void *module) { (void)module; return SUCCESS; }

int hipModuleGetFunction(void **function, void *module, const char *name) {
  if (broken("hipModuleGetFunction")) return NOT_FOUND;
  Function *made = calloc(1, sizeof *made);
  snprintf(made->name, sizeof made->name, "%s", name);
  made->module = (uint64_t)module - 1;
  *function = made;
  return SUCCESS;
}

int hipModuleLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned wx, unsigned wy, unsigned wz,
                          unsigned lds_bytes, void *stream, void **parameters, void **extra) {
  (void)stream;
  if (parameters || !extra || (uint64_t)extra[0] != 1 || (uint64_t)extra[2] != 2 || (uint64_t)extra[4] != 3) return INVALID;
  uint64_t size = *(size_t *)extra[3];
  uint64_t message[3] = {4, size, (uint64_t)memory};
  uint64_t geometry[8] = {gx, gy, gz, wx, wy, wz, lds_bytes, function->module};
  send_all(message, sizeof message);
  send_all(geometry, sizeof geometry);
  send_all(function->name, sizeof function->name);
  send_all(extra[1], size);
  uint64_t status;
  double milliseconds;
  receive_all(&status, sizeof status);
  receive_all(&milliseconds, sizeof milliseconds);
  clock_ms += milliseconds;
  if (status == FAULT) {
    fprintf(stderr, "Memory access fault by GPU node-1. Reason: Page not present or supervisor privilege.\n");
    abort();
  }
  if (status == HANG) pause();
  return SUCCESS;
}

int hipEventCreate(Event **event) { *event = calloc(1, sizeof **event); return SUCCESS; }
int hipEventDestroy(Event *event) { free(event); return SUCCESS; }
int hipEventRecord(Event *event, void *stream) { (void)stream; event->at_ms = clock_ms; return SUCCESS; }
int hipEventSynchronize(Event *event) { (void)event; return SUCCESS; }
int hipEventElapsedTime(float *milliseconds, Event *start, Event *stop) {
  *milliseconds = (float)(stop->at_ms - start->at_ms);
  return SUCCESS;
}
