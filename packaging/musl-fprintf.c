/* `fprintf` as code that was hardened for glibc calls it; musl has no function of that name. */
#include <stdarg.h>
#include <stdio.h>

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    (void)flag;
    va_list values;
    va_start(values, format);
    int written = vfprintf(file, format, values);
    va_end(values);
    return written;
}
