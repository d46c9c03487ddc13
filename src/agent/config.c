/* agent/config.c - see config.h.  One table of flags and one of fields; a test holds
 * them against each other. */
#include "agent/config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/cgroup.h"
#include "base/fmt.h"
#include "base/mem.h"
#include "base/labels.h"
#include "net/log.h"
#include "wire/table.h"

#define FILE_MAX (256 * 1024)
#define HOOK_MAX_MS (24 * 60 * 60 * INT64_C(1000))

static const struct wire_field reserve_fields[] = {
    WIRE_F_I64(struct config_reserve, cpu_milli, "cpu_milli", .alias = "cpu", .flags = WIRE_CPU,
               .max = SLOT_MAX, .doc = "CPU kept for the machine itself"),
    WIRE_F_I64(struct config_reserve, mem_bytes, "mem_bytes", .alias = "mem", .flags = WIRE_BYTES,
               .min = CONFIG_NOT_GIVEN, .max = SLOT_MAX, .def = CONFIG_NOT_GIVEN,
               .doc = "memory kept for the machine itself"),
};
static const struct wire_table reserve_table =
    WIRE_TABLE("reserve", struct config_reserve, reserve_fields);

static const struct wire_field devices_fields[] = {
    WIRE_F_U32(struct config_devices, simulated, "simulated", .max = NODE_DEVICES_MAX,
               .doc = "GPUs to pretend, on a machine without any"),
    WIRE_F_TEXT(struct config_devices, model, "model", .def_text = "simulated",
                .doc = "the model that they pretend to be"),
    WIRE_F_TEXT(struct config_devices, links, "links",
                .doc = "how they pretend to reach each other: a letter for each pair"),
    WIRE_F_TEXT(struct config_devices, cdi_hooks, "cdi_hooks",
                .doc = "programs that CDI files may have run: /usr/bin/a:/usr/bin/b"),
    WIRE_F_U32(struct config_devices, expect, "expect", .max = NODE_DEVICES_MAX,
               .doc = "GPUs that the machine should have"),
    WIRE_F_TEXT(struct config_devices, nvml, "nvml", .doc = "NVIDIA's library for management"),
    WIRE_F_TEXT(struct config_devices, root_proc, "root_proc", .doc = "instead of /proc"),
    WIRE_F_TEXT(struct config_devices, root_sys, "root_sys", .doc = "instead of /sys"),
    WIRE_F_TEXT(struct config_devices, root_dev, "root_dev", .doc = "instead of /dev"),
};
static const struct wire_table devices_table =
    WIRE_TABLE("devices", struct config_devices, devices_fields);

static const struct wire_field health_fields[] = {
    WIRE_F_TEXT(struct config_health, command, "command",
                .doc = "program that fails while nothing new may be placed here"),
    WIRE_F_I64(struct config_health, every_ms, "every_ms", .alias = "every",
               .flags = WIRE_DURATION, .min = 1000, .max = HOOK_MAX_MS, .def = 60000,
               .doc = "pause between its runs"),
    WIRE_F_I64(struct config_health, timeout_ms, "timeout_ms", .alias = "timeout",
               .flags = WIRE_DURATION, .min = 100, .max = HOOK_MAX_MS, .def = 30000,
               .doc = "after which it has failed"),
};
static const struct wire_table health_table =
    WIRE_TABLE("health", struct config_health, health_fields);

static const struct wire_field config_fields[] = {
    WIRE_F_TEXT(struct agent_config, dir, "dir", .def_text = "/var/lib/rota/agent",
                .doc = "state directory"),
    WIRE_F_TEXT(struct agent_config, manager, "manager", .def_text = "https://127.0.0.1:7411",
                .doc = "address of the manager's listener for agents"),
    WIRE_F_TEXT(struct agent_config, join_token_file, "join_token_file",
                .doc = "file with a join token, needed once"),
    WIRE_F_TEXT(struct agent_config, name, "name", .flags = WIRE_NAME, .doc = "name of this node"),
    WIRE_F_TEXT(struct agent_config, group, "group", .flags = WIRE_NAME, .def_text = "default",
                .doc = "group that the node belongs to"),
    WIRE_F_TEXT(struct agent_config, labels, "labels",
                .doc = "what sessions may ask for: disk=ssd,zone=a"),
    WIRE_F_TEXT(struct agent_config, metrics_listen, "metrics_listen"),
    WIRE_F_TEXT(struct agent_config, data_listen, "data_listen", .def_text = "127.0.0.1:7413",
                .doc = "address of the data port"),
    WIRE_F_TEXT(struct agent_config, data_addr, "data_addr",
                .doc = "address at which proxies reach the data port"),
    WIRE_F_TEXT(struct agent_config, net_addr, "net_addr",
                .doc = "IPv4 address at which other nodes reach this one"),
    WIRE_F_TEXT(struct agent_config, driver, "driver", .def_text = "crun",
                .doc = "crun, docker or fake"),
    WIRE_F_TEXT(struct agent_config, docker_socket, "docker_socket",
                .def_text = "unix:///run/docker.sock",
                .doc = "where Docker or Podman listens, for the docker driver"),
    WIRE_F_TEXT(struct agent_config, shim, "shim", .def_text = "/usr/lib/rota/rota-shim",
                .doc = "path of rota-shim"),
    WIRE_F_TEXT(struct agent_config, cgroup_parent, "cgroup_parent",
                .doc = "control group of all containers"),
    WIRE_F_I64(struct agent_config, cpu_milli, "cpu_milli", .alias = "cpu", .flags = WIRE_CPU,
               .min = CONFIG_NOT_GIVEN, .max = SLOT_MAX, .def = CONFIG_NOT_GIVEN,
               .doc = "CPU offered to sessions"),
    WIRE_F_I64(struct agent_config, mem_bytes, "mem_bytes", .alias = "mem", .flags = WIRE_BYTES,
               .min = CONFIG_NOT_GIVEN, .max = SLOT_MAX, .def = CONFIG_NOT_GIVEN,
               .doc = "memory offered to sessions"),
    WIRE_F_OBJECT(struct agent_config, reserve, "reserve", &reserve_table,
                  .doc = "kept for the machine itself"),
    WIRE_F_OBJECT(struct agent_config, devices, "devices", &devices_table, .doc = "devices"),
    WIRE_F_I64(struct agent_config, log_keep_bytes, "log_keep_bytes", .alias = "log_keep",
               .flags = WIRE_BYTES, .max = SLOT_MAX, .def = FMT_GIB,
               .doc = "logs of ended sessions kept on this node"),
    WIRE_F_I64(struct agent_config, image_cache_bytes, "image_cache_bytes",
               .alias = "image_cache", .flags = WIRE_BYTES, .max = SLOT_MAX,
               .doc = "images kept on this node; 0: 50 GiB, or a quarter of the disk"),
    WIRE_F_I64(struct agent_config, disk_bytes, "disk_bytes", .alias = "disk",
               .flags = WIRE_BYTES, .max = SLOT_MAX,
               .doc = "most that a container writes to its root, unless it says so; 0: no limit"),
    WIRE_F_TEXT(struct agent_config, registry_auth, "registry_auth",
                .doc = "file with credentials of registries, root's alone"),
    WIRE_F_TEXT(struct agent_config, registries_insecure, "registries_insecure",
                .doc = "registries that are spoken to without TLS: host:port,host:port"),
    WIRE_F_TEXT(struct agent_config, prolog, "prolog",
                .doc = "program to run before each container"),
    WIRE_F_TEXT(struct agent_config, epilog, "epilog",
                .doc = "program to run after each container, before its devices are free"),
    WIRE_F_I64(struct agent_config, hook_timeout_ms, "hook_timeout_ms", .alias = "hook_timeout",
               .flags = WIRE_DURATION, .min = 100, .max = HOOK_MAX_MS, .def = 60000,
               .doc = "after which prolog or epilog have failed"),
    WIRE_F_OBJECT(struct agent_config, health, "health", &health_table,
                  .doc = "whether this node may take work"),
    WIRE_F_TEXT(struct agent_config, log_level, "log_level", .def_text = "info",
                .doc = "debug, info, warn or error"),
};
static const struct wire_table config_table =
    WIRE_TABLE("agent configuration", struct agent_config, config_fields);

/* ---- flags ---- */

enum flag_kind { FLAG_TEXT, FLAG_CPU, FLAG_BYTES, FLAG_COUNT, FLAG_DURATION };

struct flag {
    const char *name, *arg, *doc;
    enum flag_kind kind;
    size_t offset, size;
};
#define AT(m) offsetof(struct agent_config, m), sizeof(((struct agent_config *)0)->m)

static const struct flag flags[] = {
    {"dir", "DIR", "state directory (/var/lib/rota/agent)", FLAG_TEXT, AT(dir)},
    {"manager", "URL", "the manager's listener for agents (https://127.0.0.1:7411)", FLAG_TEXT,
     AT(manager)},
    {"join-token-file", "FILE", "join token, needed once", FLAG_TEXT, AT(join_token_file)},
    {"name", "NAME", "name of this node (the host's)", FLAG_TEXT, AT(name)},
    {"group", "NAME", "group that the node belongs to (default)", FLAG_TEXT, AT(group)},
    {"labels", "KEY=VALUE,...", "what sessions may ask for: disk=ssd,zone=a", FLAG_TEXT,
     AT(labels)},
    {"data-listen", "ADDR", "address of the data port (127.0.0.1:7413)", FLAG_TEXT,
     AT(data_listen)},
    {"metrics-listen", "ADDR", "figures for Prometheus, on loopback (none)", FLAG_TEXT,
     AT(metrics_listen)},
    {"data-addr", "ADDR", "address at which proxies reach it (as --data-listen)", FLAG_TEXT,
     AT(data_addr)},
    {"net-addr", "IP", "IPv4 address at which other nodes reach this one (of --data-addr)",
     FLAG_TEXT, AT(net_addr)},
    {"driver", "NAME", "crun, docker or fake (crun)", FLAG_TEXT, AT(driver)},
    {"docker-socket", "URL", "Docker or Podman (unix:///run/docker.sock)", FLAG_TEXT,
     AT(docker_socket)},
    {"shim", "PATH", "rota-shim (/usr/lib/rota/rota-shim)", FLAG_TEXT, AT(shim)},
    {"cgroup-parent", "PATH", "control group of all containers (/rota)", FLAG_TEXT,
     AT(cgroup_parent)},
    {"cpus", "N", "CPU offered to sessions (measured)", FLAG_CPU, AT(cpu_milli)},
    {"mem", "SIZE", "memory offered to sessions (measured)", FLAG_BYTES, AT(mem_bytes)},
    {"reserve-cpus", "N", "CPU kept for the machine (0)", FLAG_CPU, AT(reserve.cpu_milli)},
    {"reserve-mem", "SIZE", "memory kept for the machine (512M or 5 %, the larger)", FLAG_BYTES,
     AT(reserve.mem_bytes)},
    {"simulated-gpus", "N", "GPUs to pretend (0)", FLAG_COUNT, AT(devices.simulated)},
    {"simulated-model", "NAME", "the model that they pretend to be (simulated)", FLAG_TEXT,
     AT(devices.model)},
    {"simulated-links", "LETTERS", "how they reach each other: 0-4, a-r for each pair (unknown)",
     FLAG_TEXT, AT(devices.links)},
    {"cdi-hooks", "PATH:...", "programs that CDI files may have run (none)", FLAG_TEXT,
     AT(devices.cdi_hooks)},
    {"expect-gpus", "N", "GPUs that the machine should have (whatever there is)", FLAG_COUNT,
     AT(devices.expect)},
    {"nvml", "PATH", "NVIDIA's library for management (libnvidia-ml.so.1)", FLAG_TEXT,
     AT(devices.nvml)},
    {"log-keep", "SIZE", "logs of ended sessions kept here (1G)", FLAG_BYTES, AT(log_keep_bytes)},
    {"image-cache", "SIZE", "images kept here (50G or a quarter of the disk)", FLAG_BYTES,
     AT(image_cache_bytes)},
    {"disk", "SIZE", "most a container writes to its root, unless it says so (no limit)",
     FLAG_BYTES, AT(disk_bytes)},
    {"registry-auth", "FILE", "credentials of registries, a file of root's alone", FLAG_TEXT,
     AT(registry_auth)},
    {"registries-insecure", "HOST:PORT,...", "registries without TLS", FLAG_TEXT,
     AT(registries_insecure)},
    {"prolog", "PATH", "program to run before each container (none)", FLAG_TEXT, AT(prolog)},
    {"epilog", "PATH", "program to run after each container (none)", FLAG_TEXT, AT(epilog)},
    {"hook-timeout", "TIME", "after which they have failed (60s)", FLAG_DURATION,
     AT(hook_timeout_ms)},
    {"health", "PATH", "program that fails while nothing new may come (none)", FLAG_TEXT,
     AT(health.command)},
    {"health-every", "TIME", "pause between its runs (60s)", FLAG_DURATION, AT(health.every_ms)},
    {"health-timeout", "TIME", "after which it has failed (30s)", FLAG_DURATION,
     AT(health.timeout_ms)},
    {"log-level", "LEVEL", "debug, info, warn or error (info)", FLAG_TEXT, AT(log_level)},
};

static int flag_set(const struct flag *f, const char *value, struct agent_config *c,
                    struct err *err)
{
    void *dst = (char *)c + f->offset;
    uint64_t count;
    int64_t ms;
    bool ok = false;
    switch (f->kind) {
    case FLAG_TEXT: ok = text_set(dst, f->size, str_of(value)); break;
    case FLAG_CPU: ok = fmt_parse_cpu(str_of(value), dst); break;
    case FLAG_BYTES: ok = fmt_parse_bytes(str_of(value), dst); break;
    case FLAG_DURATION:
        ok = fmt_parse_duration(str_of(value), &ms) && ms >= 100 && ms <= HOOK_MAX_MS;
        if (ok) *(int64_t *)dst = ms;
        break;
    case FLAG_COUNT:
        ok = str_to_u64(str_of(value), &count) && count <= NODE_DEVICES_MAX;
        if (ok) *(uint32_t *)dst = (uint32_t)count;
        break;
    }
    if (ok) return 0;
    return err_set(err, ERR_INVALID, "--%s: %s, got \"%.60s\"", f->name,
                   f->kind == FLAG_TEXT    ? "too long"
                   : f->kind == FLAG_CPU   ? "expected CPUs such as 2 or 500m"
                   : f->kind == FLAG_BYTES ? "expected a size such as 8G"
                   : f->kind == FLAG_DURATION ? "expected a time such as 30s, up to 24h"
                                           : "expected 0 to 16",
                   value);
}

static void help(const char *program)
{
    printf("Usage: %s [FLAG...]\n\n"
           "Runs the containers that the manager wants on this machine.\n\n", program);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char left[40];
        text_fmt(left, sizeof(left), "--%s %s", flags[i].name, flags[i].arg);
        printf("  %-24s %s\n", left, flags[i].doc);
    }
    printf("  %-24s %s\n", "--config FILE", "YAML file with the same names; flags win over it");
    printf("  %-24s %s\n", "--help", "this text");
}

static const struct flag *flag_named(struct str name)
{
    for (size_t k = 0; k < ARRAY_LEN(flags); k++) {
        if (str_eq(name, str_of(flags[k].name))) return &flags[k];
    }
    return NULL;
}

/* One walk over argv: fn sees each flag with its value. */
static int each_flag(int argc, char **argv, bool config_only, struct agent_config *c,
                     const char **ret_file, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        struct str head, rest = str_of(argv[i]);
        if (!str_starts(rest, STR("--"))) {
            return err_set(err, ERR_INVALID, "\"%.60s\" is no flag; see --help", argv[i]);
        }
        bool joined = str_cut(&rest, '=', &head);
        head.p += 2;
        head.n -= 2;
        bool file = str_eq(head, STR("config"));
        const struct flag *f = flag_named(head);
        if (f == NULL && !file) {
            return err_set(err, ERR_INVALID, "--%.*s is unknown; see --help", (int)head.n, head.p);
        }
        const char *value = joined ? rest.p : i + 1 < argc ? argv[++i] : NULL;
        if (value == NULL) return err_set(err, ERR_INVALID, "%.60s needs a value", argv[i]);
        if (file) {
            *ret_file = value;
            continue;
        }
        int rc = config_only ? 0 : flag_set(f, value, c, err);
        if (rc != 0) return rc;
    }
    return 0;
}

static int file_read(const char *file, char **ret, struct err *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "%s", file);
    char *text = mem_alloc(FILE_MAX + 1);
    ssize_t n = read(fd, text, FILE_MAX + 1);
    int saved = errno;
    close(fd);
    if (n < 0 || n > FILE_MAX) {
        mem_free(text);
        if (n < 0) return err_sys(err, ERR_IO, saved, "%s", file);
        return err_set(err, ERR_LIMIT, "%s is larger than 256 KiB", file);
    }
    text[n] = '\0';
    *ret = text;
    return 0;
}

int agent_config_parse_yaml(struct str text, const char *file, struct agent_config *ret,
                            struct err *err)
{
    return wire_parse_yaml(&config_table, text, file, ret, err);
}

/* Programs are named by where they are: nothing is looked up, and no shell splits words. */
static int programs_check(const struct agent_config *c, struct err *err)
{
    const struct { const char *flag, *path; } programs[] = {
        {"prolog", c->prolog}, {"epilog", c->epilog}, {"health", c->health.command}};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (programs[i].path[0] == '\0' || programs[i].path[0] == '/') continue;
        return err_set(err, ERR_INVALID, "--%s: expected the absolute path of a program, got "
                       "\"%.80s\"", programs[i].flag, programs[i].path);
    }
    return 0;
}

static int config_check(struct agent_config *c, struct err *err)
{
    if (c->name[0] == '\0') {
        char host[NODE_NAME_MAX + 1] = "";
        if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
        for (char *p = host; *p != '\0'; p++) {
            if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
        }
        TEXT_CLIP(c->name, str_of(host));
    }
    if (!str_is_name(str_of(c->name), NODE_NAME_MAX)) {
        return err_set(err, ERR_INVALID, "--name: \"%s\" is no name (a-z, 0-9, dots, dashes)",
                       c->name);
    }
    if (!str_is_name(str_of(c->group), sizeof(c->group) - 1)) {
        return err_set(err, ERR_INVALID, "--group: \"%s\" is no name", c->group);
    }
    if (!labels_sort(c->labels)) {
        return err_set(err, ERR_INVALID, "--labels: expected key=value pairs separated by ',', "
                       "each key once, got \"%.80s\"", c->labels);
    }
    bool known = strcmp(c->driver, "crun") == 0 || strcmp(c->driver, "docker") == 0 ||
                 strcmp(c->driver, "fake") == 0;
    if (!known)
        return err_set(err, ERR_INVALID, "--driver: expected crun, docker or fake, got \"%s\"",
                       c->driver);
    if (!str_starts(str_of(c->docker_socket), STR("unix:///")))
        return err_set(err, ERR_INVALID, "--docker-socket: expected unix:///PATH, got \"%.80s\"",
                       c->docker_socket);
    if (c->cgroup_parent[0] != '\0' && !cgroup_parent_good(c->cgroup_parent)) {
        return err_set(err, ERR_INVALID, "--cgroup-parent: expected /NAME or /NAME/NAME, got "
                       "\"%.80s\"", c->cgroup_parent);
    }
    enum log_level level;
    if (!log_level_parse(str_of(c->log_level), &level)) {
        return err_set(err, ERR_INVALID, "--log-level: expected debug, info, warn or error");
    }
    if (c->dir[0] != '/') {
        return err_set(err, ERR_INVALID, "--dir: expected an absolute path, got \"%.80s\"", c->dir);
    }
    if (!linkmap_sane(c->devices.links, c->devices.simulated)) {
        return err_set(err, ERR_INVALID, "--simulated-links: expected a letter of 0-4, a-r for "
                       "each pair of devices, got \"%.80s\"", c->devices.links);
    }
    if (c->registry_auth[0] && c->registry_auth[0] != '/') {
        return err_set(err, ERR_INVALID, "--registry-auth: expected an absolute path, got "
                       "\"%.80s\"", c->registry_auth);
    }
    if (c->cpu_milli == 0 || c->mem_bytes == 0) {
        return err_set(err, ERR_INVALID, "a node must offer some CPU and memory");
    }
    return programs_check(c, err);
}

int agent_config_parse(int argc, char **argv, struct agent_config *ret, bool *ret_help,
                       struct err *err)
{
    struct agent_config c;
    const char *file = NULL;

    *ret_help = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            help(argv[0]);
            *ret_help = true;
            return 0;
        }
    }
    wire_init(&config_table, &c);
    int rc = each_flag(argc, argv, true, &c, &file, err);
    if (rc == 0 && file != NULL) {
        AUTO_FREE char *text = NULL;
        rc = file_read(file, &text, err);
        if (rc == 0) rc = agent_config_parse_yaml(str_of(text), file, &c, err);
    }
    if (rc == 0) rc = each_flag(argc, argv, false, &c, &file, err);
    if (rc == 0) rc = config_check(&c, err);
    if (rc == 0) *ret = c;
    return rc;
}
