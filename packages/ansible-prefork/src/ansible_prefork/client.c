/* Copyright (c) 2026 The nimops.nim authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The compiled thin client. In the normal case it does the same as client.py in a tenth of the time, as it does not
 * start an interpreter. In all other cases, such as starting a parent, reporting a problem or running the stock
 * program, it executes the client in Python before it has sent anything. The constants are those of client.py, and both
 * clients have the same tests.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef DIGEST
#define DIGEST "unknown"
#endif
#define PROTOCOL 2
#define ANSWER_SECONDS 5
#define PARENT_WAIT_SECONDS 30
#define MAXIMUM_FILES 250
#define MAXIMUM_VARIABLES 4096
#define GRACE_SECONDS 5
#define STAT_MAX 2048
#define BASE_MAX (PATH_MAX * 2)
#define LOST 70
#define TIMED_OUT 124
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char NAME[] = "ansible-prefork-client";
/* PYTHON is the directory of the client in Python, beside this program. */
static const char PYTHON[] = ".python";
/* REASON is the variable that passes the client in Python the reason why the run must be stock. */
static const char REASON[] = "_PREFORK_REASON";
static const char ENDED[] = "the parent ended before the run began";
static const char SILENT[] = "the parent is silent: stopped, stuck or overloaded";
static const int FORWARDED[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
static const char *const KEY_PREFIXES[] = {"ANSIBLE_", "_ANSIBLE_", "PYTHON", "LC_"};
static const char *const PATH_SUFFIXES[] = {"PATH",     "PATHS",         "_PLUGINS",   "_FILE", "_DIR",      "_HOME",
                                            "_CONFIG",  "_LIBRARY",      "_MODULE_UTILS", "_INVENTORY", "_TEMP",
                                            "_SKELETON", "_KEYRING"};
static const char *const KEY_NAMES[] = {"HOME",   "LANG",  "LANGUAGE", "NO_COLOR",
                                        "PAGER",  "EDITOR", "AWX_LIB_DIRECTORY", "PREFORK_BEFORE_RUN",
                                        "PREFORK_PRELOAD"};
static const char *const PER_RUN_NAMES[] = {"ANSIBLE_CACHE_PLUGIN_CONNECTION", "ANSIBLE_ROLES_PATH"};

extern char **environ;
static char **arguments;
static const char *name;
static struct sigaction before[COUNT(FORWARDED)];
static int has_handler[COUNT(FORWARDED)];
static volatile pid_t run;
static volatile sig_atomic_t waiting[NSIG];

/* ---- Bytes ---- */

struct bytes {
    char *data;
    size_t size, capacity;
};

static void add(struct bytes *to, const void *data, size_t size) {
    if (to->size + size > to->capacity) {
        to->capacity = (to->size + size) * 2 + 4096;
        to->data = realloc(to->data, to->capacity);
        if (!to->data) abort();
    }
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

static void add_number(struct bytes *to, uint32_t number) {
    unsigned char little[4] = {number, number >> 8, number >> 16, number >> 24};
    add(to, little, sizeof little);
}

/* add_list, add_int and add_text write a list header, a number and bytes in the format of marshal. */
static void add_list(struct bytes *to, uint32_t items) {
    add(to, "[", 1);
    add_number(to, items);
}

static void add_int(struct bytes *to, uint32_t number) {
    add(to, "i", 1);
    add_number(to, number);
}

static void add_text(struct bytes *to, const char *text, size_t size) {
    add(to, "s", 1);
    add_number(to, size);
    add(to, text, size);
}

/* ---- Handing over ---- */

static void give_back_signals(void) {
    for (size_t i = 0; i < COUNT(FORWARDED); i++)
        if (has_handler[i]) {
            sigaction(FORWARDED[i], &before[i], NULL);
            has_handler[i] = 0;
        }
    for (int number = 1; number < NSIG; number++)
        if (waiting[number]) kill(getpid(), number);
}

/* hand_over executes the client in Python; nothing of the run has been sent yet. */
static void hand_over(void) {
    char own[PATH_MAX], path[PATH_MAX + 64];
    give_back_signals();
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    if (size > 0) {
        own[size] = 0;
        char *slash = strrchr(own, '/');
        *slash = 0;
        snprintf(path, sizeof path, "%s/%s/%s", own, PYTHON, name);
        execv(path, arguments);
    }
    dprintf(2, "prefork: the client in Python cannot be executed: run python -m ansible_prefork clients again\n");
    _exit(127);
}

static void hand_over_because(int connection, const char *reason) {
    close(connection);
    setenv(REASON, reason, 1);
    hand_over();
}

static void report(const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    signal(SIGPIPE, SIG_IGN);
    dprintf(2, "prefork: %s\n", text);
}

/* ---- The environment ---- */

static int is_off(void) {
    const char *value = getenv("PREFORK");
    static const char *const words[] = {"off", "0", "no", "false"};
    for (size_t i = 0; value && i < COUNT(words); i++)
        if (!strcasecmp(value, words[i])) return 1;
    return 0;
}

static const char *get_text(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* coerce_locale sets LC_CTYPE as an interpreter does that would have the locale C (PEP 538). Only the interpreter knows
 * whether another locale exists and is not C. */
static void coerce_locale(void) {
    if (get_text("LC_ALL")) return;
    const char *locale = get_text("LC_CTYPE");
    if (!locale) locale = get_text("LANG");
    if (!locale || !strcmp(locale, "C") || !strcmp(locale, "POSIX")) setenv("LC_CTYPE", "C.UTF-8", 1);
    else if (strcasecmp(locale, "C.UTF-8") && strcasecmp(locale, "C.utf8")) hand_over();
}

static long get_limit(const char *variable) {
    const char *value = getenv(variable);
    if (!value || !*value) return 0;
    if (strspn(value, "0123456789") != strlen(value) || strlen(value) > 9) hand_over();
    return atol(value);
}

static int starts_with(const char *text, size_t size, const char *prefix) {
    return size >= strlen(prefix) && !memcmp(text, prefix, strlen(prefix));
}

static int is_one_of(const char *text, size_t size, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == size && !memcmp(text, names[i], size)) return 1;
    return 0;
}

static int is_key(const char *text, size_t size) {
    if (is_one_of(text, size, PER_RUN_NAMES, COUNT(PER_RUN_NAMES))) return 0;
    for (size_t i = 0; i < COUNT(KEY_PREFIXES); i++)
        if (starts_with(text, size, KEY_PREFIXES[i])) return 1;
    return is_one_of(text, size, KEY_NAMES, COUNT(KEY_NAMES));
}

static int has_relative_path(const char *variable, size_t size, const char *value) {
    int is_path = 0;
    for (size_t i = 0; i < COUNT(PATH_SUFFIXES); i++) {
        size_t length = strlen(PATH_SUFFIXES[i]);
        is_path |= size >= length && !memcmp(variable + size - length, PATH_SUFFIXES[i], length);
    }
    if (!is_path || !*value) return 0;
    for (const char *item = value; item; item = strchr(item, ':')) {
        if (*item == ':' && item != value) item++;
        else if (*item == ':') return 1;
        if (!strchr("/~$", *item) || !*item) return 1;
    }
    return 0;
}

static int compare(const void *one, const void *other) {
    const struct bytes *a = one, *b = other;
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

#define ROTATE(x, b) ((uint64_t)((x) << (b)) | ((x) >> (64 - (b))))
#define ROUND                                                                                                          \
    do {                                                                                                               \
        v0 += v1, v1 = ROTATE(v1, 13) ^ v0, v0 = ROTATE(v0, 32);                                                       \
        v2 += v3, v3 = ROTATE(v3, 16) ^ v2;                                                                            \
        v0 += v3, v3 = ROTATE(v3, 21) ^ v0;                                                                            \
        v2 += v1, v1 = ROTATE(v1, 17) ^ v2, v2 = ROTATE(v2, 32);                                                       \
    } while (0)

/* hash computes SipHash-1-3, as _imp.source_hash does. */
static uint64_t hash(uint64_t k0, const unsigned char *data, size_t size) {
    uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = 0x646f72616e646f6d, v2 = k0 ^ 0x6c7967656e657261,
             v3 = 0x7465646279746573, word;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        word = 0;
        for (int i = 0; i < 8; i++) word |= (uint64_t)data[at + i] << 8 * i;
        v3 ^= word;
        ROUND;
        v0 ^= word;
    }
    word = (uint64_t)size << 56;
    for (int i = 0; at + i < size; i++) word |= (uint64_t)data[at + i] << 8 * i;
    v3 ^= word;
    ROUND;
    v0 ^= word;
    v2 ^= 0xff;
    ROUND;
    ROUND;
    ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

/* read_variables returns the variables without duplicates. */
static size_t read_variables(const char **found, size_t *sizes) {
    size_t count = 0;
    for (char **item = environ; *item; item++) {
        const char *equals = strchr(*item, '=');
        if (!equals) continue;
        size_t size = equals - *item, i;
        for (i = 0; i < count && !(sizes[i] == size && !memcmp(found[i], *item, size)); i++) continue;
        if (i < count) continue;
        if (count == MAXIMUM_VARIABLES) hand_over();
        found[count] = *item;
        sizes[count++] = size;
    }
    return count;
}

static uint64_t environment_key(const char **variables, const size_t *sizes, size_t count, const char *directory) {
    static struct bytes chosen[MAXIMUM_VARIABLES];
    size_t number = 0;
    int is_relative = 0;
    for (size_t i = 0; i < count; i++)
        if (is_key(variables[i], sizes[i])) {
            chosen[number].data = (char *)variables[i];
            chosen[number++].size = strlen(variables[i]);
            is_relative |= has_relative_path(variables[i], sizes[i], variables[i] + sizes[i] + 1);
        }
    qsort(chosen, number, sizeof *chosen, compare);
    struct bytes text = {0};
    for (size_t i = 0; i < number; i++) {
        if (i) add(&text, "", 1);
        add(&text, chosen[i].data, chosen[i].size);
    }
    if (is_relative) {
        add(&text, "\0@", number ? 2 : 1);
        add(&text, directory, strlen(directory));
    }
    if (!getenv("ANSIBLE_CONFIG")) {
        char config[PATH_MAX + 16];
        struct stat status;
        snprintf(config, sizeof config, "%s/ansible.cfg", directory);
        if (!stat(config, &status)) {
            add(&text, "\0@" + !text.size, 2 - !text.size);
            add(&text, config, strlen(config));
        }
    }
    return hash(PROTOCOL, (unsigned char *)text.data, text.size);
}

/* ---- Signals ---- */

static void forward(int number) {
    int error = errno;
    if (run) kill(run, number);
    else waiting[number] = 1;
    errno = error;
}

static int is_forwarded(int number) {
    return strcmp(name, "ansible-runner") || number == SIGINT || number == SIGTERM;
}

/* ---- The parent ---- */

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* receive reads size bytes. It returns 1, 0 at the end of the stream, or -1 if none arrive within seconds. */
static int receive(int connection, void *data, size_t size, double seconds) {
    double end = now(CLOCK_MONOTONIC) + seconds;
    size_t have = 0;
    while (have < size) {
        struct pollfd poll_for = {connection, POLLIN, 0};
        double left = (end - now(CLOCK_MONOTONIC)) * 1000;
        int ready = poll(&poll_for, 1, left > 1 ? (int)left : 1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            if (!have && now(CLOCK_MONOTONIC) >= end) return -1;
            continue;
        }
        ssize_t got = recv(connection, (char *)data + have, size - have, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        have += got;
    }
    return 1;
}

static int is_warming(const char *path) {
    struct stat status;
    if (stat(path, &status)) return 0;
    double age = now(CLOCK_REALTIME) - status.st_mtim.tv_sec;
    return age < PARENT_WAIT_SECONDS && age > -PARENT_WAIT_SECONDS;
}

/* read_stat reads /proc/PID/stat and returns the state, or 0 if the process does not exist. */
static char read_stat(pid_t pid, char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t size = read(file, text, STAT_MAX - 1);
    close(file);
    text[size > 0 ? size : 0] = 0;
    char *rest = strrchr(text, ')');
    return rest && rest[1] == ' ' ? rest[2] : 0;
}

/* is_busy reports whether the parent runs, or waits for a processor or a disk; a stuck one sleeps or is stopped. */
static int is_busy(int connection) {
    int credentials[3]; /* process, user, group */
    socklen_t size = sizeof credentials;
    char text[STAT_MAX];
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, credentials, &size)) return 0;
    char state = read_stat(credentials[0], text);
    return state == 'R' || state == 'D';
}

static void note_silence(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) dprintf(file, "%s", SILENT);
}

static int send_request(int connection, const struct bytes *body, const int *files, size_t count) {
    uint64_t size = body->size;
    unsigned char head[8];
    for (int i = 0; i < 8; i++) head[i] = size >> 8 * i;
    union {
        struct cmsghdr header;
        char capacity[CMSG_SPACE(MAXIMUM_FILES * sizeof(int))];
    } control;
    struct iovec part = {head, sizeof head};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        memset(&control, 0, sizeof control);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), files, count * sizeof(int));
    }
    ssize_t sent;
    while ((sent = sendmsg(connection, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
    if (sent != sizeof head) return 0;
    for (size_t at = 0; at < body->size;) {
        struct pollfd poll_for = {connection, POLLOUT, 0};
        int ready = poll(&poll_for, 1, ANSWER_SECONDS * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return 0;
        sent = send(connection, body->data + at, body->size - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent <= 0) return 0;
        at += sent;
    }
    return 1;
}

/* ---- The run ---- */

#define NONE (-1L)
#define OVERDUE (-2L)

/* ended_status returns the wait status of a run whose end a stopped or stuck parent has not noticed. */
static long ended_status(void) {
    char text[STAT_MAX];
    if (read_stat(run, text) != 'Z') return NONE;
    return atol(strrchr(text, ' ') + 1);
}

/* follow waits for the run and returns its wait status, NONE if it was lost, or OVERDUE after seconds. A parent that is
 * renewing itself reports the status later, and may have to end the run first. */
static long follow(int connection, const char *base, double seconds) {
    char path[BASE_MAX + 8];
    snprintf(path, sizeof path, "%s.warm", base);
    double end = seconds ? now(CLOCK_MONOTONIC) + seconds : 0;
    for (;;) {
        double left = end ? end - now(CLOCK_MONOTONIC) : ANSWER_SECONDS;
        unsigned char head[5];
        int got = receive(connection, head, sizeof head, left < ANSWER_SECONDS ? left : ANSWER_SECONDS);
        if (got == 0) return NONE;
        if (got < 0) {
            long status = is_warming(path) ? NONE : ended_status();
            if (status != NONE) return status;
            if (end && now(CLOCK_MONOTONIC) >= end) return OVERDUE;
        } else if (head[0] == 'X')
            return head[1] | head[2] << 8 | head[3] << 16 | (long)head[4] << 24;
    }
}

static void end_overdue(int connection, const char *base) {
    static const int numbers[] = {SIGTERM, SIGKILL};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        kill(-run, numbers[i]);
        kill(run, numbers[i]);
        if (follow(connection, base, GRACE_SECONDS) != OVERDUE) return;
    }
}

static void end_as(long status) {
    int number = status & 0x7f;
    if (!number) _exit(status >> 8 & 0xff);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    _exit(128 + number);
}

/* ---- The program ---- */

static size_t open_files(int *files) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) hand_over();
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int number = atoi(entry->d_name);
        if (*entry->d_name == '.' || number == dirfd(folder)) continue;
        if (count == MAXIMUM_FILES) hand_over();
        size_t at = count++;
        for (; at && files[at - 1] > number; at--) files[at] = files[at - 1];
        files[at] = number;
    }
    closedir(folder);
    return count;
}

static void find_directory(char *directory, size_t capacity) {
    const char *chosen = getenv("PREFORK_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (chosen && *chosen) snprintf(directory, capacity, "%s", chosen);
    else if (runtime && *runtime) snprintf(directory, capacity, "%s/ansible-prefork", runtime);
    else snprintf(directory, capacity, "/tmp/ansible-prefork-%u", getuid());
    struct stat status;
    if (lstat(directory, &status) || (status.st_mode & 0170077) != 0040000 || status.st_uid != getuid()) hand_over();
}

static int reach_parent(const char *base) {
    struct stat status;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[BASE_MAX + 8];
    snprintf(path, sizeof path, "%s.stock", base);
    if (!lstat(path, &status)) hand_over();
    if (snprintf(path, sizeof path, "%s.sock", base) >= (int)sizeof address.sun_path) hand_over();
    strcpy(address.sun_path, path);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int done;
    while ((done = connect(connection, (struct sockaddr *)&address, sizeof address)) && errno == EINTR) continue;
    if (done) hand_over();
    return connection;
}

static void write_request(struct bytes *body, int argc, const char *own, const char **variables, const size_t *sizes,
                          size_t count, const char *directory, const int *files, size_t file_count) {
    add_list(body, 7);
    add_int(body, PROTOCOL);
    add_list(body, argc);
    add_text(body, own, strlen(own));
    for (int i = 1; i < argc; i++) add_text(body, arguments[i], strlen(arguments[i]));
    add(body, "{", 1);
    for (size_t i = 0; i < count; i++) {
        const char *value = variables[i] + sizes[i] + 1;
        add_text(body, variables[i], sizes[i]);
        add_text(body, value, strlen(value));
    }
    add(body, "0", 1);
    add_text(body, directory, strlen(directory));
    add_list(body, file_count);
    for (size_t i = 0; i < file_count; i++) add_int(body, files[i]);
    mode_t mask = umask(077);
    umask(mask);
    add_int(body, mask);
    uint32_t ignored = 0;
    for (size_t i = 0; i < COUNT(FORWARDED); i++) ignored += before[i].sa_handler == SIG_IGN;
    add_list(body, ignored);
    for (size_t i = 0; i < COUNT(FORWARDED); i++)
        if (before[i].sa_handler == SIG_IGN) add_int(body, FORWARDED[i]);
}

static void install_handlers(void) {
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < COUNT(FORWARDED); i++) {
        sigaction(FORWARDED[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_IGN || !is_forwarded(FORWARDED[i])) continue;
        has_handler[i] = 1;
        sigaction(FORWARDED[i], &action, NULL);
    }
}

static void start_forwarding(pid_t pid) {
    sigset_t all, kept;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &kept);
    run = pid;
    for (int number = 1; number < NSIG; number++)
        if (waiting[number]) kill(pid, number), waiting[number] = 0;
    sigprocmask(SIG_SETMASK, &kept, NULL);
}

/* receive_answer reads the answer of a parent and returns the process id of the run. */
static pid_t receive_answer(int connection, const char *base) {
    char path[BASE_MAX + 8];
    unsigned char head[5];
    int got;
    snprintf(path, sizeof path, "%s.warm", base);
    double end = now(CLOCK_MONOTONIC) + PARENT_WAIT_SECONDS;
    while ((got = receive(connection, head, sizeof head, ANSWER_SECONDS)) < 0 &&
           (is_warming(path) || (now(CLOCK_MONOTONIC) < end && is_busy(connection))))
        continue;
    if (got < 0) {
        snprintf(path, sizeof path, "%s.stock", base);
        note_silence(path);
        hand_over_because(connection, SILENT);
    }
    uint32_t value = got ? head[1] | head[2] << 8 | head[3] << 16 | (uint32_t)head[4] << 24 : 0;
    if (got && head[0] == 'S') {
        char reason[1024] = "";
        receive(connection, reason, value < sizeof reason ? value : sizeof reason - 1, ANSWER_SECONDS);
        hand_over_because(connection, reason);
    }
    if (!got || head[0] != 'P') hand_over_because(connection, ENDED);
    return value;
}

int main(int argc, char **argv) {
    static const char *variables[MAXIMUM_VARIABLES];
    static size_t sizes[MAXIMUM_VARIABLES];
    int files[MAXIMUM_FILES];
    char directory[PATH_MAX], here[PATH_MAX], base[BASE_MAX];
    /* The path in the form in which an interpreter gets that of a script. */
    const char *own = (const char *)getauxval(AT_EXECFN);
    arguments = argv;
    name = strrchr(own, '/') ? strrchr(own, '/') + 1 : own;
    if (!strcmp(name, NAME)) {
        puts(DIGEST);
        return 0;
    }
    if (is_off()) hand_over();
    long seconds = get_limit("PREFORK_RUN_SECONDS");
    get_limit("PREFORK_RUN_MEMORY_MIB");
    coerce_locale();
    find_directory(directory, sizeof directory);
    if (!getcwd(here, sizeof here) || *here != '/') hand_over();
    size_t file_count = open_files(files);
    size_t count = read_variables(variables, sizes);
    uint64_t key = environment_key(variables, sizes, count, here);
    int length = snprintf(base, sizeof base, "%s/%s-", directory, name);
    for (int i = 0; i < 8; i++) length += sprintf(base + length, "%02x", (unsigned)(key >> 8 * i & 0xff));
    int connection = reach_parent(base);
    install_handlers();
    struct bytes body = {0};
    write_request(&body, argc, own, variables, sizes, count, here, files, file_count);
    pid_t pid = receive_answer(connection, base);
    if (!send_request(connection, &body, files, file_count)) hand_over_because(connection, ENDED);
    start_forwarding(pid);
    long status = follow(connection, base, seconds);
    if (status == OVERDUE) {
        report("the run took longer than PREFORK_RUN_SECONDS=%ld: ended it", seconds);
        end_overdue(connection, base);
        _exit(TIMED_OUT);
    }
    if (status != NONE) end_as(status);
    report("the parent of this run ended, and the run with it: changes so far remain, run it again");
    _exit(LOST);
}
