/* Makes calls that write or sync a record fail, from the n-th on: cc -shared -fPIC -o shim.so shim.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = 0;   /* calls until the first that fails; 0: none does */
static long lasting = 0; /* how many fail, from then on */
static int reason = EIO;
static long struck = 0;

void arm(long nth, long many, int error) { left = nth; lasting = many; reason = error; struck = 0; }
long strikes(void) { return struck; }

static int fails(int fd) {
    char link[64], name[4096];
    ssize_t length;
    if (left == 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, name, sizeof name - 1);
    if (length <= 0) return 0;
    name[length] = 0;
    if (!strstr(name, "study.db")) return 0;
    if (left > 1) { left--; return 0; }
    if (lasting-- <= 0) { left = 0; return 0; }
    struck++;
    errno = reason;
    return 1;
}

#define WRAP(type, name, parameters, arguments)                                        \
    type name parameters {                                                             \
        static type (*real) parameters;                                                \
        if (!real) real = (type (*) parameters) dlsym(RTLD_NEXT, #name);               \
        return fails(fd) ? -1 : real arguments;                                        \
    }
WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size))
