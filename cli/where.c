/* Finding the cluster: flag, environment, contexts file, sockets of this user and of the system. */
#include "where.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dt/core/spec.h"
#include "dt/os/file.h"
#include "yaml_in.h"

#define SYSTEM_SOCKET "/run/dt/api.sock"
#define CONTEXTS_BYTES_MAX (64 * 1024)
#define NAME_BYTES_MAX 40

enum dt_code dt_where_check_name(const char *name, struct dt_err *err)
{
    size_t size = strlen(name);

    if (size >= 1 && size <= NAME_BYTES_MAX && name[0] != '-' && name[size - 1] != '-' &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size)
        return DT_OK;
    dt_fail(err, DT_USAGE, "\"%.64s\" is not a cluster's name", name);
    dt_hint(err, "lower-case letters, digits and inner dashes, at most %d", NAME_BYTES_MAX);
    return DT_USAGE;
}

enum dt_code dt_where_check_dir(const char *path, struct dt_err *err)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return dt_fail(err, errno == ENOENT || errno == ENOTDIR ? DT_NOT_FOUND : DT_DENIED,
                       "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return dt_fail(err, DT_DENIED, "%s is not a directory", path);
    if (info.st_uid != geteuid())
        return dt_fail(err, DT_DENIED, "%s belongs to uid %u, not to you", path,
                       (unsigned)info.st_uid);
    if (info.st_mode & 077) {
        dt_fail(err, DT_DENIED, "%s is open to others (mode %03o)", path,
                (unsigned)(info.st_mode & 0777));
        dt_hint(err, "look who wrote there, then: chmod 700 %s", path);
        return DT_DENIED;
    }
    return DT_OK;
}

enum dt_code dt_where_run_dir(char *text, size_t size, struct dt_err *err)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    int length;

    if (base && base[0] == '/')
        length = snprintf(text, size, "%s/dt", base);
    else
        length = snprintf(text, size, "/tmp/dt-%u", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= size)
        return dt_fail(err, DT_INVALID, "XDG_RUNTIME_DIR is too long");
    return DT_OK;
}

/* $variable/dt..., else $HOME/fallback/dt... */
static enum dt_code user_path(const char *variable, const char *fallback, const char *tail,
                              char text[DT_WHERE_PATH_BYTES_MAX], struct dt_err *err)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    int length;

    if (base && base[0] == '/')
        length = snprintf(text, DT_WHERE_PATH_BYTES_MAX, "%s/dt/%s", base, tail);
    else if (home && home[0] == '/')
        length = snprintf(text, DT_WHERE_PATH_BYTES_MAX, "%s/%s/dt/%s", home, fallback, tail);
    else
        return dt_fail(err, DT_NOT_FOUND, "neither %s nor HOME is set", variable);
    if (length < 0 || length >= DT_WHERE_PATH_BYTES_MAX)
        return dt_fail(err, DT_INVALID, "%s is too long", base ? variable : "HOME");
    return DT_OK;
}

enum dt_code dt_where_state_dir(const char *name, char *text, size_t size, struct dt_err *err)
{
    char path[DT_WHERE_PATH_BYTES_MAX];
    enum dt_code code = user_path("XDG_STATE_HOME", ".local/state", name, path, err);

    if (code)
        return code;
    snprintf(text, size, "%s", path);
    return DT_OK;
}

/* The contexts file as a tree; DT_NOT_FOUND when there is none. */
static enum dt_code contexts_read(struct dt_tree **tree, struct dt_err *err)
{
    char path[DT_WHERE_PATH_BYTES_MAX];
    struct dt_problems problems = {0};
    struct dt_buf text = {0};
    enum dt_code code;

    if ((code = user_path("XDG_CONFIG_HOME", ".config", "contexts.yaml", path, err)))
        return code;
    if (access(path, F_OK) != 0)
        return dt_fail(err, DT_NOT_FOUND, "no %s", path);
    if ((code = dt_file_read(path, CONTEXTS_BYTES_MAX, &text, err)))
        goto out;
    code = dt_yaml_parse(dt_buf_str(&text), text.size, tree, &problems);
    if (code)
        dt_fail(err, code, "%s:%d: %s", path, problems.count ? problems.item[0].at.line : 1,
                problems.count ? problems.item[0].text : "not YAML");
out:
    dt_buf_release(&text);
    dt_problems_release(&problems);
    return code;
}

static bool field_copy(const struct dt_tree *map, const char *key,
                       char text[DT_WHERE_PATH_BYTES_MAX])
{
    const char *value = dt_tree_str(map, key, "");
    size_t size = strlen(value);

    if (size >= DT_WHERE_PATH_BYTES_MAX)
        return false;
    memcpy(text, value, size + 1);
    return true;
}

/* server: "https://host:port" or "unix:/path". */
static enum dt_code context_fill(const struct dt_tree *map, const char *name,
                                 struct dt_where *where, struct dt_err *err)
{
    const char *server = dt_tree_str(map, "server", "");
    struct dt_where draft = {0};
    bool is_good = strlen(name) < sizeof(draft.name) &&
                   field_copy(map, "ca", draft.ca) &&
                   field_copy(map, "token_file", draft.token_file);

    if (strncmp(server, "unix:/", 6) == 0 && strlen(server) < sizeof(draft.socket))
        memcpy(draft.socket, server + 5, strlen(server) - 4);
    else if (strncmp(server, "https://", 8) == 0)
        is_good = is_good && field_copy(map, "server", draft.url);
    else
        is_good = false;
    if (!is_good) {
        dt_fail(err, DT_INVALID, "context %.64s has no usable server", name);
        dt_hint(err, "server: https://HOST:PORT (with ca: and token_file:) or unix:/PATH");
        return DT_INVALID;
    }
    if (draft.url[0] && draft.url[strlen(draft.url) - 1] == '/')
        draft.url[strlen(draft.url) - 1] = 0;
    snprintf(draft.name, sizeof(draft.name), "%s", name);
    *where = draft;
    return DT_OK;
}

/* The socket of this user's embedded cluster of that name, when it is there. */
static enum dt_code embedded_find(const char *name, struct dt_where *where, struct dt_err *err)
{
    struct dt_where draft = {0};
    char base[DT_WHERE_PATH_BYTES_MAX], dir[DT_WHERE_PATH_BYTES_MAX];
    enum dt_code code;

    if ((code = dt_where_check_name(name, err)) ||
        (code = dt_where_run_dir(base, sizeof(base), err)))
        return code;
    if (!dt_path_join(dir, sizeof(dir), base, name) ||
        !dt_path_join(draft.socket, sizeof(draft.socket), dir, "api.sock"))
        return dt_fail(err, DT_INVALID, "the run directory's path is too long");
    if ((code = dt_where_check_dir(base, err)) || (code = dt_where_check_dir(dir, err)))
        return code;
    if (access(draft.socket, F_OK) != 0)
        return dt_fail(err, DT_NOT_FOUND, "no cluster at %s", draft.socket);
    snprintf(draft.name, sizeof(draft.name), "%s", name);
    *where = draft;
    return DT_OK;
}

static enum dt_code by_name(const char *name, const struct dt_tree *contexts,
                            struct dt_where *where, struct dt_err *err)
{
    const struct dt_tree *map = dt_tree_get(dt_tree_get(contexts, "contexts"), name);
    enum dt_code code;

    if (map)
        return context_fill(map, name, where, err);
    code = embedded_find(name, where, err);
    if (code != DT_NOT_FOUND)
        return code;
    dt_fail(err, DT_UNREACHABLE, "no cluster \"%.64s\": neither in the contexts file nor running "
            "on this machine", name);
    dt_hint(err, "start one: dtctl up --name %.64s", name);
    return DT_UNREACHABLE;
}

struct names {
    struct dt_buf list; /* for people: "a, b" */
    char first[64];
    size_t count;
};

static void on_entry(void *owner, const char *name)
{
    struct names *names = owner;
    struct dt_where where;

    if (strlen(name) >= sizeof(names->first) || embedded_find(name, &where, NULL))
        return;
    if (!names->count)
        snprintf(names->first, sizeof(names->first), "%s", name);
    dt_buf_print(&names->list, "%s%s", names->count ? ", " : "", name);
    names->count++;
}

static enum dt_code any(struct dt_where *where, struct dt_err *err)
{
    struct names names = {0};
    char base[DT_WHERE_PATH_BYTES_MAX];
    enum dt_code code = dt_where_run_dir(base, sizeof(base), err);

    if (code)
        return code;
    code = dt_where_check_dir(base, err);
    if (!code)
        code = dt_dir_list(base, on_entry, &names, err);
    if (code && code != DT_NOT_FOUND)
        goto out;
    code = DT_OK;
    if (names.count == 1) {
        code = embedded_find(names.first, where, err);
    } else if (names.count > 1) {
        code = dt_fail(err, DT_USAGE, "several clusters are running: %s",
                       dt_buf_str(&names.list));
        dt_hint(err, "choose one: --context %s, or DT_CONTEXT=%s", names.first, names.first);
    } else if (access(SYSTEM_SOCKET, F_OK) == 0) {
        *where = (struct dt_where){.socket = SYSTEM_SOCKET};
    } else {
        code = dt_fail(err, DT_UNREACHABLE, "no cluster found: no DT_CONTEXT, no contexts file, "
                       "nothing running under %s, no %s", base, SYSTEM_SOCKET);
        dt_hint(err, "start one on this machine: dtctl up");
    }
out:
    dt_buf_release(&names.list);
    return code;
}

enum dt_code dt_where_find(const char *name, struct dt_where *where, struct dt_err *err)
{
    struct dt_tree *contexts = NULL;
    enum dt_code code;

    if (!name)
        name = getenv("DT_CONTEXT");
    code = contexts_read(&contexts, err);
    if (code && code != DT_NOT_FOUND)
        return code;
    if (!name || !*name)
        name = dt_tree_str(contexts, "current", NULL);
    code = name ? by_name(name, contexts, where, err) : any(where, err);
    dt_tree_free(contexts);
    return code;
}
