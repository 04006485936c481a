#include "support/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* State and parent of a process; false when there is none. */
static bool look(pid_t pid, char *state, pid_t *parent)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    bool read = f && fgets(line, sizeof line, f);
    if (f)
        fclose(f);
    const char *after = read ? strrchr(line, ')') : NULL; /* the name before may hold anything */
    int number = 0;
    if (!after || sscanf(after + 1, " %c %d", state, &number) != 2)
        return false;
    *parent = number;
    return true;
}

bool test_is_running(pid_t pid)
{
    char state;
    pid_t parent;
    return look(pid, &state, &parent) && state != 'Z' && state != 'X';
}

int test_children(pid_t parent, pid_t *child, int max)
{
    int n = 0;
    DIR *d = opendir("/proc");
    for (const struct dirent *one; d && n < max && (one = readdir(d));) {
        pid_t pid = isdigit((unsigned char)one->d_name[0]) ? atoi(one->d_name) : 0, of = 0;
        char state;
        if (pid > 0 && look(pid, &state, &of) && of == parent && state != 'Z')
            child[n++] = pid;
    }
    if (d)
        closedir(d);
    return n;
}

bool test_ends_within(pid_t pid, double seconds)
{
    enum { TICK_US = 10000 };
    for (double waited = 0; test_is_running(pid); waited += TICK_US / 1e6) {
        if (waited > seconds)
            return false;
        usleep(TICK_US);
    }
    return true;
}
